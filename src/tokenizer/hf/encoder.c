/* encoder.c - from text to ids: added tokens, words, cache. */
#include "base/utf8.h"
#include "tokenizer/bpe/joins.h"
#include "tokenizer/cache/word_cache.h"
#include "tokenizer/hf/hf_tokenizer.h"
#include <string.h>

typedef struct HfEncoder {
    Encoder base;
    Arena *arena;
    const HfTokenizer *tokenizer;
    WordCache *cache;
    Buffer text;              /* one piece, with slack around it */
    Text blanks;              /* another one, of the short cut */
    Buffer pieces, subpieces; /* of both searches for added tokens */
    uint32_t *end;            /* SPLIT_ROOM ends of words */
    NormalizerRoom normalizing;
    PreTokenizerRoom cutting;
    Ids ids[2];       /* of the texts, before they are cut */
    Chunks chunks[2]; /* of these */
} HfEncoder;

Encoder *hf_encoder_new(const Tokenizer *self)
{
    Arena *a = arena_new();
    HfEncoder *e = NEW(a, HfEncoder);
    const HfTokenizer *t = (const HfTokenizer *)self;
    *e = (HfEncoder){ .base.tokenizer = self, .arena = a, .tokenizer = t };
    const WordModel *model = t->blank_model ? t->blank_model : t->model;
    e->cache = word_cache_new(a, model, model->vocab->n_ids, !t->without_cache);
    e->end = NEW_N(a, uint32_t, SPLIT_ROOM);
    return &e->base;
}

void hf_encoder_free(Encoder *encoder)
{
    HfEncoder *e = (HfEncoder *)encoder;
    buffer_free(&e->text);
    text_free(&e->blanks);
    buffer_free(&e->pieces);
    buffer_free(&e->subpieces);
    normalizer_room_free(&e->normalizing);
    pretokenizer_room_free(&e->cutting);
    for (int i = 0; i < 2; i++) {
        ids_free(&e->ids[i]);
        buffer_free(&e->chunks[i].room);
    }
    arena_free(e->arena);
}

/* Words that a splitter finds in place: a few thousand at a time go from text to ids. */
static void encode_in_place(HfEncoder *e, Str piece, Ids *out)
{
    Str s = pretokenizer_place(&e->tokenizer->pretokenizer, piece, &e->text);
    uint32_t len = (uint32_t)s.len;
    WordSplitter *split = e->tokenizer->pretokenizer.split;
    const WordModel *model = e->tokenizer->model;
    if (!split && !model->cut) {
        word_cache_encode(e->cache, s.ptr, 0, &len, 1, out);
        return;
    }
    for (uint32_t from = 0; from < len; from = e->end[0]) {
        uint32_t until = len - from < SPLIT_BYTES ? len : from + SPLIT_BYTES;
        int64_t n = split ? split(s.ptr, len, from, until, e->end)
                          : model->cut(model, s.ptr, len, from, until, e->end);
        Str first = { s.ptr + from, e->end[0] - from };
        if (n > 1 || !word_cache_encode_long(e->cache, first, out))
            word_cache_encode(e->cache, s.ptr, from, e->end, n, out);
        e->end[0] = e->end[n - 1];
    }
}

static Error *encode_piece(HfEncoder *e, Str piece, bool at_start, Ids *out)
{
    const PreTokenizer *p = &e->tokenizer->pretokenizer;
    if (!p->n_steps && !p->is_spelled) {
        encode_in_place(e, piece, out);
        return NULL;
    }
    const Words *words;
    TRY(pretokenizer_run(p, piece, at_start, &e->cutting, &words));
    const uint32_t *end = words_ends(words);
    for (int64_t i = 0; i < words->n; i += SPLIT_ROOM) {
        int64_t n = words->n - i < SPLIT_ROOM ? words->n - i : SPLIT_ROOM;
        word_cache_encode(e->cache, words->text.ptr, i ? end[i - 1] : 0, end + i, n, out);
    }
    return NULL;
}

static Error *encode_failed(const HfEncoder *e, const Ids *out, int64_t before)
{
    const char *cannot = e->tokenizer->model->cannot;
    for (int64_t i = before; cannot && i < out->n; i++) {
        if (out->id[i] == NO_TOKEN) return error_new("%s", cannot);
    }
    return NULL;
}

/* The short cut for text in which only blanks are rewritten. */
static Error *encode_blanks(HfEncoder *e, Str text, bool at_start, Ids *out)
{
    static const char slack[JOINS_SLACK] = { 0 };
    const WordModel *model = e->tokenizer->blank_model;
    text_clear(&e->blanks);
    blanks_write(&e->tokenizer->blanks, text, at_start, &e->blanks);
    text_add(&e->blanks, slack, sizeof slack);
    if (e->blanks.len - sizeof slack >= UINT32_MAX)
        return error_new("a normalized text of %zu bytes is too long", e->blanks.len);
    const char *s = e->blanks.ptr;
    uint32_t len = (uint32_t)(e->blanks.len - sizeof slack);
    for (uint32_t from = 0; from < len; from = e->end[0]) {
        uint32_t until = len - from < SPLIT_BYTES ? len : from + SPLIT_BYTES;
        int64_t n = model->cut(model, s, len, from, until, e->end);
        word_cache_encode(e->cache, s, from, e->end, n, out);
        e->end[0] = e->end[n - 1];
    }
    return NULL;
}

/* A stretch without tokens of the first search: tokens that are sought in the normalized text are
 * found after the others are cut out. */
static Error *encode_stretch(HfEncoder *e, Str text, bool at_start, Ids *out)
{
    if (e->tokenizer->blank_model) return encode_blanks(e, text, at_start, out);
    Str normal;
    Piece *piece;
    TRY(normalizer_run(&e->tokenizer->normalizer, text, &e->normalizing, &normal));
    at_start &= !e->normalizing.skipped;
    int64_t n = added_tokens_split(e->tokenizer->added, true, normal, &e->subpieces, &piece);
    for (int64_t i = 0; i < n; i++) {
        if (piece[i].id != NO_TOKEN)
            ids_add(out, piece[i].id);
        else
            TRY(encode_piece(e, piece[i].text, at_start && i == 0, out));
    }
    return NULL;
}

/* Appends the ids of a text, without special tokens around it. */
static Error *encode_text(HfEncoder *e, Str text, Ids *out)
{
    TRY(tokenizer_check_text(text));
    int64_t before = out->n;
    Piece *piece;
    int64_t n = added_tokens_split(e->tokenizer->added, false, text, &e->pieces, &piece);
    for (int64_t i = 0; i < n; i++) {
        if (piece[i].id != NO_TOKEN)
            ids_add(out, piece[i].id);
        else
            TRY(encode_stretch(e, piece[i].text, i == 0, out));
    }
    return encode_failed(e, out, before);
}

void hf_encoding_free(HfEncoding *e)
{
    Ids *list[] = { &e->ids,       &e->type_ids, &e->special,
                    &e->attention, &e->overflow, &e->overflow_ends };
    for (int i = 0; i < 6; i++) ids_free(list[i]);
}

static void ids_fill(Ids *ids, uint32_t value, int64_t n)
{
    uint32_t *to = ids_reserve(ids, n);
    for (int64_t i = 0; i < n; i++) to[i] = value;
    ids->n += n;
}

static void ids_append(Ids *ids, const uint32_t *id, int64_t n)
{
    if (!n) return;
    memcpy(ids_reserve(ids, n), id, (size_t)n * sizeof *id);
    ids->n += n;
}

/* Appends the ids of a layout, with the chunk of each of its texts that `choice` names; choice
 * NULL: the first chunk of each. */
static void lay_out(const HfEncoder *e, const TokenLayout *l, const int64_t *choice, Ids *out)
{
    int64_t k = 0; /* among the parts that are texts */
    for (int64_t i = 0; i < l->n; i++) {
        const LayoutPart *p = &l->part[i];
        if (p->sequence < 0) {
            ids_add(out, p->token);
            continue;
        }
        TokenChunk c = chunk_at(&e->chunks[p->sequence], choice ? choice[k++] : 0);
        ids_append(out, e->ids[p->sequence].id + c.from, c.to - c.from);
    }
}

/* Puts n copies before what was appended since `from`, or after it. */
static void pad(Ids *ids, int64_t from, bool left, uint32_t value, int64_t n)
{
    int64_t len = ids->n - from;
    ids_fill(ids, value, n);
    if (!left || !n) return;
    memmove(ids->id + from + n, ids->id + from, (size_t)len * sizeof *ids->id);
    for (int64_t i = 0; i < n; i++) ids->id[from + i] = value;
}

/* The further encodings, in the library's order: parts are joined from left to right, and each
 * further one of what is joined so far goes with all of the next part, before the first of what is
 * joined goes with the further ones of the next part. */
static void add_overflow(HfEncoder *e, const TokenLayout *l, int64_t target, HfEncoding *out)
{
    int64_t n_texts = 0, n = 0;
    for (int64_t i = 0; i < l->n; i++) n_texts += l->part[i].sequence >= 0;
    Buffer rooms[2] = { { 0 } };
    for (int64_t i = 0, k = 0; i < l->n; i++) {
        if (l->part[i].sequence < 0) continue;
        int64_t n_chunks = e->chunks[l->part[i].sequence].n, n_next = n * n_chunks + n_chunks - 1;
        size_t row = (size_t)n_texts * sizeof(int64_t);
        int64_t *to = buffer_grow(&rooms[1], (size_t)(n_next + 1) * row);
        const int64_t *from = rooms[0].ptr;
        for (int64_t v = 0; v < n * n_chunks; v++, to += n_texts) {
            memcpy(to, from + v / n_chunks * n_texts, row);
            to[k] = v % n_chunks;
        }
        for (int64_t c = 1; c < n_chunks; c++, to += n_texts) {
            memset(to, 0, row);
            to[k] = c;
        }
        Buffer swapped = rooms[0];
        rooms[0] = rooms[1];
        rooms[1] = swapped;
        n = n_next;
        k++;
    }
    const LengthRule *rule = &e->tokenizer->length;
    for (int64_t v = 0; v < n; v++) {
        int64_t before = out->overflow.n;
        lay_out(e, l, (const int64_t *)rooms[0].ptr + v * n_texts, &out->overflow);
        int64_t more = target - (out->overflow.n - before);
        if (rule->pads && more > 0)
            pad(&out->overflow, before, rule->pads_left, rule->pad_id, more);
        ids_add(&out->overflow_ends, (uint32_t)out->overflow.n);
    }
    buffer_free(&rooms[0]);
    buffer_free(&rooms[1]);
}

/* Type ids and masks of the first encoding. */
static void mark(const HfEncoder *e, const TokenLayout *l, HfEncoding *out)
{
    for (int64_t i = 0; i < l->n; i++) {
        const LayoutPart *p = &l->part[i];
        int64_t n = 1;
        if (p->sequence >= 0) {
            TokenChunk c = chunk_at(&e->chunks[p->sequence], 0);
            n = c.to - c.from;
        }
        ids_fill(&out->type_ids, p->type_id, n);
        ids_fill(&out->special, p->special, n);
    }
    ids_fill(&out->attention, 1, out->ids.n);
}

static Error *encode_and_cut(HfEncoder *e, const Str *text, int n_texts, const TokenLayout *l)
{
    int64_t length[2] = { 0 };
    for (int i = 0; i < n_texts; i++) {
        e->ids[i].n = 0;
        TRY(encode_text(e, text[i], &e->ids[i]));
        length[i] = e->ids[i].n;
    }
    return length_rule_cut(&e->tokenizer->length, l->n_added, length, n_texts, e->chunks);
}

Error *hf_encoder_encode_pair(Encoder *encoder, Str first, const Str *second,
                              bool add_special_tokens, HfEncoding *out)
{
    HfEncoder *e = (HfEncoder *)encoder;
    const LengthRule *rule = &e->tokenizer->length;
    const TokenLayout *l = &e->tokenizer->post_processor.layout[second != NULL][add_special_tokens];
    Ids *list[] = { &out->ids,       &out->type_ids, &out->special,
                    &out->attention, &out->overflow, &out->overflow_ends };
    for (int i = 0; i < 6; i++) list[i]->n = 0;
    Str text[2] = { first };
    if (second) text[1] = *second;
    TRY(encode_and_cut(e, text, second ? 2 : 1, l));
    lay_out(e, l, NULL, &out->ids);
    mark(e, l, out);
    int64_t more = length_rule_padding(rule, out->ids.n);
    uint32_t padding[] = { rule->pad_id, rule->pad_type_id, 1, 0 };
    for (int i = 0; i < 4; i++) pad(list[i], 0, rule->pads_left, padding[i], more);
    add_overflow(e, l, out->ids.n, out);
    return NULL;
}

/* A text that stays as it is goes straight to `out`. */
Error *hf_encoder_encode(Encoder *encoder, Str text, bool add_special_tokens, Ids *out)
{
    HfEncoder *e = (HfEncoder *)encoder;
    const LengthRule *rule = &e->tokenizer->length;
    const TokenLayout *l = &e->tokenizer->post_processor.layout[0][add_special_tokens];
    int64_t before = out->n;
    if (l->n == 1 && l->part[0].sequence == 0 && !rule->truncates) {
        Error *failed = encode_text(e, text, out);
        if (failed) {
            out->n = before;
            return failed;
        }
    } else {
        TRY(encode_and_cut(e, &text, 1, l));
        lay_out(e, l, NULL, out);
    }
    pad(out, before, rule->pads_left, rule->pad_id, length_rule_padding(rule, out->n - before));
    return NULL;
}
