/* hf_encoder.c - from text to ids: added tokens, words, cache. */
#include "base/utf8.h"
#include "tokenizer/hf_tokenizer.h"
#include "tokenizer/word_cache.h"

typedef struct HfEncoder {
    Encoder base;
    Arena *arena;
    const HfTokenizer *tokenizer;
    WordCache *cache;
    Buffer text;              /* one piece, with slack around it */
    Buffer pieces, subpieces; /* of both searches for added tokens */
    uint32_t *end;            /* SPLIT_ROOM ends of words */
} HfEncoder;

Encoder *hf_encoder_new(const Tokenizer *self)
{
    Arena *a = arena_new();
    HfEncoder *e = NEW(a, HfEncoder);
    const HfTokenizer *t = (const HfTokenizer *)self;
    *e = (HfEncoder){ .base.tokenizer = self, .arena = a, .tokenizer = t };
    e->cache = word_cache_new(a, t->model, !t->without_cache);
    e->end = NEW_N(a, uint32_t, SPLIT_ROOM);
    return &e->base;
}

void hf_encoder_free(Encoder *encoder)
{
    HfEncoder *e = (HfEncoder *)encoder;
    buffer_free(&e->text);
    buffer_free(&e->pieces);
    buffer_free(&e->subpieces);
    arena_free(e->arena);
}

static void encode_piece(HfEncoder *e, Str piece, Ids *out)
{
    Str s = pretokenizer_place(&e->tokenizer->pretokenizer, piece, &e->text);
    uint32_t len = (uint32_t)s.len;
    WordSplitter *split = e->tokenizer->pretokenizer.split;
    const Model *model = e->tokenizer->model;
    if (!split && !model->cut) {
        word_cache_encode(e->cache, s.ptr, 0, &len, 1, out);
        return;
    }
    for (uint32_t from = 0; from < len; from = e->end[0]) {
        uint32_t until = len - from < SPLIT_BYTES ? len : from + SPLIT_BYTES;
        int64_t n = split ? split(s.ptr, len, from, until, e->end)
                          : model->cut(model, s.ptr, len, from, until, e->end);
        word_cache_encode(e->cache, s.ptr, from, e->end, n, out);
        e->end[0] = e->end[n - 1];
    }
}

static Error *encode_failed(const HfEncoder *e, const Ids *out, int64_t before)
{
    const char *cannot = e->tokenizer->model->cannot;
    for (int64_t i = before; cannot && i < out->n; i++) {
        if (out->id[i] == NO_TOKEN) return error_new("%s", cannot);
    }
    return NULL;
}

/* Tokens that are sought in the normalized text are found after the others are cut out. */
static void encode_pieces(HfEncoder *e, Str text, Ids *out)
{
    Piece *piece, *sub;
    int64_t n = added_tokens_split(e->tokenizer->added, false, text, &e->pieces, &piece);
    for (int64_t i = 0; i < n; i++) {
        if (piece[i].id != NO_TOKEN) {
            ids_add(out, piece[i].id);
            continue;
        }
        int64_t n_sub =
            added_tokens_split(e->tokenizer->added, true, piece[i].text, &e->subpieces, &sub);
        for (int64_t j = 0; j < n_sub; j++) {
            if (sub[j].id != NO_TOKEN)
                ids_add(out, sub[j].id);
            else
                encode_piece(e, sub[j].text, out);
        }
    }
}

/* No post-processor that is accepted adds special tokens. */
Error *hf_encoder_encode(Encoder *encoder, Str text, bool add_special_tokens, Ids *out)
{
    (void)add_special_tokens;
    HfEncoder *e = (HfEncoder *)encoder;
    if (text.len >= UINT32_MAX) {
        return error_new("a text of %zu bytes is too long (at most %u)", text.len, UINT32_MAX - 1);
    }
    size_t valid = utf8_valid_length(text);
    if (valid < text.len) {
        return error_new("byte %zu (0x%02X) of the text is no UTF-8", valid,
                         (unsigned char)text.ptr[valid]);
    }
    int64_t before = out->n;
    encode_pieces(e, text, out);
    Error *failed = encode_failed(e, out, before);
    if (failed) {
        out->n = before;
        return failed;
    }
    length_rule_apply(&e->tokenizer->length, before, out);
    return NULL;
}
