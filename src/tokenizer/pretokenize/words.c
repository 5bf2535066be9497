/* words.c - a growing list of words. */
#include "tokenizer/pretokenize/words.h"

void words_clear(Words *w)
{
    text_clear(&w->text);
    w->n = 0;
    w->skipped = false;
}

void words_free(Words *w)
{
    text_free(&w->text);
    buffer_free(&w->ends);
}

const uint32_t *words_ends(const Words *w)
{
    return w->ends.ptr;
}

void words_close(Words *w)
{
    uint32_t len = (uint32_t)w->text.len;
    if (len == (w->n ? words_ends(w)[w->n - 1] : 0)) return;
    uint32_t *end = buffer_grow(&w->ends, (size_t)(w->n + 1) * sizeof *end);
    end[w->n++] = len;
}

void words_add(Words *w, Str word)
{
    text_add(&w->text, word.ptr, word.len);
    if (w->sources) sources_copy(w->sources, word.ptr - w->base, word.len);
    words_close(w);
}

void words_skip(Words *w, Str text)
{
    w->skipped |= text.len && !w->n;
}

Str words_at(const Words *w, int64_t i)
{
    uint32_t from = i ? words_ends(w)[i - 1] : 0;
    return (Str){ w->text.ptr + from, words_ends(w)[i] - from };
}
