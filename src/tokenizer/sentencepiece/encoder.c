/* encoder.c - normalizes a text, cuts it where no piece joins the sides, and looks
 * the parts up: BPE gives a part the same ids wherever it stands; for Unigram see certain_parts.h.
 */
#include "tokenizer/sentencepiece/encoder.h"
#include "tokenizer/cache/word_cache.h"
#include "tokenizer/pretokenize/pretokenize.h"
#include "tokenizer/sentencepiece/certain_parts.h"
#include <string.h>

typedef struct SpEncoder {
    Encoder base;
    Arena *arena;
    const SentencePiece *tokenizer;
    WordCache *cache;    /* of BPE */
    CertainParts *parts; /* of Unigram */
    Text text;           /* normalized, with slack after it */
    Buffer work, symbols;
    uint32_t *end;
} SpEncoder;

Encoder *sp_encoder_new(const Tokenizer *self)
{
    Arena *a = arena_new();
    SpEncoder *e = NEW(a, SpEncoder);
    *e = (SpEncoder){ .base.tokenizer = self,
                      .arena = a,
                      .tokenizer = (const SentencePiece *)self,
                      .end = NEW_N(a, uint32_t, SPLIT_ROOM) };
    const SpModel *m = e->tokenizer->model;
    if (m->file->kind == SP_BPE) e->cache = word_cache_new(a, &m->base, m->file->n, true);
    if (m->file->kind == SP_UNIGRAM) e->parts = certain_parts_new(a, m);
    return &e->base;
}

void sp_encoder_free(Encoder *encoder)
{
    SpEncoder *e = (SpEncoder *)encoder;
    text_free(&e->text);
    buffer_free(&e->work);
    buffer_free(&e->symbols);
    arena_free(e->arena);
}

/* The whole text as one word. */
static void encode_whole(SpEncoder *e, Str text, Ids *out)
{
    const SpModel *m = e->tokenizer->model;
    uint32_t *symbol = buffer_grow(&e->symbols, text.len * sizeof *symbol);
    int64_t n = m->symbolize(m, &e->work, text, symbol);
    uint32_t *to = ids_reserve(out, (int64_t)text.len * m->base.ids_per_byte);
    out->n += sp_model_ids(m, text, symbol, n, to);
}

static void encode_bpe(SpEncoder *e, Str text, Ids *out)
{
    const WordModel *model = &e->tokenizer->model->base;
    uint32_t len = (uint32_t)text.len;
    for (uint32_t from = 0; from < len; from = e->end[0]) {
        uint32_t until = len - from < SPLIT_BYTES ? len : from + SPLIT_BYTES;
        int64_t n = model->cut(model, text.ptr, len, from, until, e->end);
        word_cache_encode(e->cache, text.ptr, from, e->end, n, out);
        e->end[0] = e->end[n - 1];
    }
}

static Error *encode_text(SpEncoder *e, Str text, Ids *out)
{
    const SentencePiece *t = e->tokenizer;
    text_clear(&e->text);
    sp_normalize(&t->normalizer, text, &e->text);
    static const char slack[JOINS_SLACK] = { 0 };
    text_add(&e->text, slack, sizeof slack);
    Str s = { e->text.ptr, e->text.len - sizeof slack };
    if (s.len >= UINT32_MAX) return error_new("a normalized text of %zu bytes is too long", s.len);
    if (!s.len) return NULL;
    if (t->options.plain || !t->model->joins || t->file.n >> WIDE_IDS)
        encode_whole(e, s, out);
    else if (t->file.kind == SP_BPE)
        encode_bpe(e, s, out);
    else
        certain_parts_encode(e->parts, s, out);
    return NULL;
}

static void add_options(const SentencePiece *t, int64_t before, Ids *out)
{
    if (t->options.reverse) {
        for (int64_t i = before, k = out->n - 1; i < k; i++, k--) {
            uint32_t id = out->id[i];
            out->id[i] = out->id[k];
            out->id[k] = id;
        }
    }
    if (t->options.add_bos) {
        ids_add(out, 0);
        memmove(out->id + before + 1, out->id + before,
                (size_t)(out->n - before - 1) * sizeof *out->id);
        out->id[before] = (uint32_t)t->special.bos;
    }
    if (t->options.add_eos) ids_add(out, (uint32_t)t->special.eos);
}

Error *sp_encoder_encode(Encoder *encoder, Str text, bool add_special_tokens, Ids *out)
{
    SpEncoder *e = (SpEncoder *)encoder;
    TRY(tokenizer_check_text(text));
    int64_t before = out->n;
    TRY(encode_text(e, text, out));
    if (add_special_tokens) add_options(e->tokenizer, before, out);
    return NULL;
}
