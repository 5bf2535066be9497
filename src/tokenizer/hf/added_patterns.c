/* added_patterns.c - sorted texts, narrowed byte by byte where a text starts that may be one of
 * them. */
#include "tokenizer/hf/added_patterns.h"
#include <stdlib.h>
#include <string.h>

enum { MAX_FIRST = 8, BLOCK = 16 };
typedef unsigned char Bytes __attribute__((vector_size(BLOCK)));

struct Patterns {
    Str *text; /* sorted by bytes */
    int64_t n;
    bool is_first[256];
    int n_first;            /* different first bytes; the first MAX_FIRST of them: */
    Bytes first[MAX_FIRST]; /* each in all places */
};

static int compare(const void *x, const void *y)
{
    const Str *a = x, *b = y;
    size_t n = a->len < b->len ? a->len : b->len;
    int order = memcmp(a->ptr, b->ptr, n);
    return order ? order : (a->len > b->len) - (a->len < b->len);
}

const Patterns *patterns_new(Arena *a, const Str *text, int64_t n)
{
    Patterns *p = NEW(a, Patterns);
    *p = (Patterns){ .text = arena_copy(a, text, (size_t)n * sizeof *text), .n = n };
    qsort(p->text, (size_t)n, sizeof *p->text, compare);
    for (int64_t i = 0; i < n; i++) {
        unsigned char first = (unsigned char)p->text[i].ptr[0];
        if (p->is_first[first]) continue;
        p->is_first[first] = true;
        if (p->n_first < MAX_FIRST) p->first[p->n_first] = (Bytes){ 0 } + first;
        p->n_first++;
    }
    return p;
}

/* The first of the sorted texts [low, high) whose byte at `depth` is at least `byte`; all are
 * longer than depth and equal before it. */
static int64_t lower_bound(const Patterns *p, int64_t low, int64_t high, size_t depth, int byte)
{
    while (low < high) {
        int64_t mid = low + (high - low) / 2;
        if ((unsigned char)p->text[mid].ptr[depth] < byte)
            low = mid + 1;
        else
            high = mid;
    }
    return low;
}

/* The longest text that starts here, or NULL. */
static const Str *longest_at(const Patterns *p, Str text)
{
    const Str *best = NULL;
    int64_t low = 0, high = p->n;
    for (size_t depth = 0;; depth++) {
        /* Of the texts that agree so far, those that end here sort first. */
        for (; low < high && p->text[low].len == depth; low++) best = &p->text[low];
        if (low == high || depth == text.len) return best;
        int byte = (unsigned char)text.ptr[depth];
        low = lower_bound(p, low, high, depth, byte);
        high = lower_bound(p, low, high, depth, byte + 1);
    }
}

/* Whether one of the few first bytes is among BLOCK bytes. */
static bool block_has_first(const Patterns *p, const char *at)
{
    typedef uint64_t Words __attribute__((vector_size(BLOCK)));
    Bytes block, found = { 0 };
    memcpy(&block, at, BLOCK);
    for (int i = 0; i < p->n_first; i++) found |= (Bytes)(block == p->first[i]);
    Words w = (Words)found;
    return (w[0] | w[1]) != 0;
}

/* Where the next byte stands that a text may start with; the end if there is none. */
static size_t next_first(const Patterns *p, Str text, size_t at)
{
    if (p->n_first == 1) {
        const char *found = memchr(text.ptr + at, p->first[0][0], text.len - at);
        return found ? (size_t)(found - text.ptr) : text.len;
    }
    if (p->n_first <= MAX_FIRST) {
        while (at + BLOCK <= text.len && !block_has_first(p, text.ptr + at)) at += BLOCK;
    }
    while (at < text.len && !p->is_first[(unsigned char)text.ptr[at]]) at++;
    return at;
}

bool patterns_find(const Patterns *p, Str text, size_t from, PatternMatch *out)
{
    if (!p->n) return false;
    for (size_t at = next_first(p, text, from); at < text.len; at = next_first(p, text, at + 1)) {
        const Str *found = longest_at(p, (Str){ text.ptr + at, text.len - at });
        if (!found) continue;
        *out = (PatternMatch){ at, at + found->len, *found };
        return true;
    }
    return false;
}
