/* sources.c - where the bytes of a rewritten text come from. */
#include "tokenizer/text/sources.h"
#include "base/utf8.h"

static uint32_t *more(Sources *s, size_t n)
{
    uint32_t *index = buffer_grow(&s->index, ((size_t)s->n + n) * sizeof *index);
    s->n += (int64_t)n;
    return index + s->n - n;
}

void sources_copy(Sources *s, int64_t from, size_t n)
{
    if (!s) return;
    uint32_t *to = more(s, n);
    for (size_t i = 0; i < n; i++, from++) to[i] = from < 0 ? 0 : (uint32_t)from;
}

void sources_repeat(Sources *s, uint32_t from, size_t n)
{
    if (!s) return;
    uint32_t *to = more(s, n);
    for (size_t i = 0; i < n; i++) to[i] = from;
}

static size_t skip_character(Str text, size_t at)
{
    return at < text.len ? at + utf8_char_bytes((uint8_t)text.ptr[at]) : at;
}

void sources_change(Sources *s, Str text, size_t from, const SourceChange *change, int64_t n)
{
    size_t at = from;
    for (int64_t i = 0; s && i < n; i++) {
        int32_t c = change[i].change;
        size_t source = c <= 0 && at < text.len ? at : at - 1; /* an added one: what is before */
        sources_repeat(s, at ? (uint32_t)source : c <= 0 ? 0 : NO_SOURCE, (size_t)change[i].bytes);
        for (; c <= 0; c++) at = skip_character(text, at);
    }
}
