/* model.c - a model whose vocabulary spells bytes, for words that come as plain bytes. */
#include "tokenizer/model/model.h"
#include "tokenizer/text/byte_alphabet.h"

typedef struct Spelled {
    WordModel base;
    const WordModel *inner;
} Spelled;

static int64_t spelled_ids(const WordModel *self, Buffer *scratch, Str word, uint32_t *out)
{
    const WordModel *inner = ((const Spelled *)self)->inner;
    Text name = { 0 };
    bytes_to_name(word, &name);
    int64_t n = inner->word_ids(inner, scratch, (Str){ name.ptr, name.len }, out);
    text_free(&name);
    return n;
}

static void spelled_spans(const WordModel *self, Buffer *scratch, Str word, const uint32_t *id,
                          int64_t n, Span *out)
{
    const WordModel *inner = ((const Spelled *)self)->inner;
    inner->spans(inner, scratch, word, id, n, out);
}

WordModel *model_spelled(Arena *a, const WordModel *inner)
{
    Spelled *s = NEW(a, Spelled);
    s->base = *inner;
    s->inner = inner;
    s->base.ids_per_byte *= 2; /* a byte is at most two bytes of name */
    s->base.word_ids = spelled_ids;
    s->base.spans = spelled_spans;
    s->base.cut = NULL;
    return &s->base;
}
