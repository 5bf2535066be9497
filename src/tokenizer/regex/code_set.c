/* code_set.c - sets of code points as sorted ranges. */
#include "tokenizer/regex/code_set.h"
#include <stdlib.h>

enum { LAST_CODE = 0x10FFFF, FIRST_SURROGATE = 0xD800, LAST_SURROGATE = 0xDFFF };

static void append(CodeSet *s, Arena *a, uint32_t first, uint32_t last)
{
    if (first > last) return;
    s->range = arena_grow(a, s->range, s->n, &s->cap, sizeof *s->range);
    s->range[s->n++] = (CodeRange){ first, last };
}

void code_set_add(CodeSet *s, Arena *a, uint32_t first, uint32_t last)
{
    if (first <= LAST_SURROGATE && last >= FIRST_SURROGATE) {
        if (first < FIRST_SURROGATE) append(s, a, first, FIRST_SURROGATE - 1);
        if (last > LAST_SURROGATE) append(s, a, LAST_SURROGATE + 1, last);
    } else {
        append(s, a, first, last);
    }
}

void code_set_add_all(CodeSet *s, Arena *a, const CodeRange *range, int64_t n)
{
    for (int64_t i = 0; i < n; i++) code_set_add(s, a, range[i].first, range[i].last);
}

static int by_first(const void *x, const void *y)
{
    const CodeRange *a = x, *b = y;
    return (a->first > b->first) - (a->first < b->first);
}

void code_set_sort(CodeSet *s)
{
    if (!s->n) return;
    qsort(s->range, (size_t)s->n, sizeof *s->range, by_first);
    int64_t n = 1;
    for (int64_t i = 1; i < s->n; i++) {
        CodeRange *last = &s->range[n - 1];
        if (s->range[i].first > last->last + 1)
            s->range[n++] = s->range[i];
        else if (s->range[i].last > last->last)
            last->last = s->range[i].last;
    }
    s->n = n;
}

CodeSet code_set_complement(CodeSet *s, Arena *a)
{
    code_set_sort(s);
    CodeSet out = { 0 };
    uint32_t next = 0;
    for (int64_t i = 0; i < s->n; i++) {
        if (s->range[i].first > next) code_set_add(&out, a, next, s->range[i].first - 1);
        next = s->range[i].last + 1;
    }
    if (next <= LAST_CODE) code_set_add(&out, a, next, LAST_CODE);
    code_set_sort(&out);
    return out;
}

CodeSet code_set_common(CodeSet *x, CodeSet *y, Arena *a)
{
    CodeSet out = { 0 }, not_x = code_set_complement(x, a), not_y = code_set_complement(y, a);
    code_set_add_all(&out, a, not_x.range, not_x.n);
    code_set_add_all(&out, a, not_y.range, not_y.n);
    return code_set_complement(&out, a);
}
