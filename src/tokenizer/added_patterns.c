/* added_patterns.c - sorted texts, narrowed byte by byte where a text starts that may be one of
 * them. */
#include "tokenizer/added_patterns.h"
#include <stdlib.h>
#include <string.h>

struct Patterns {
    Str *text; /* sorted by bytes */
    int64_t n;
    int only_first; /* the first byte that all share, or -1 */
    bool is_first[256];
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
    *p = (Patterns){ .text = arena_copy(a, text, (size_t)n * sizeof *text),
                     .n = n,
                     .only_first = -1 };
    qsort(p->text, (size_t)n, sizeof *p->text, compare);
    int different = 0;
    for (int64_t i = 0; i < n; i++) {
        unsigned char first = (unsigned char)p->text[i].ptr[0];
        different += !p->is_first[first];
        p->is_first[first] = true;
        p->only_first = different == 1 ? first : -1;
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

bool patterns_find(const Patterns *p, Str text, size_t from, PatternMatch *out)
{
    for (size_t at = from; p->n && at < text.len; at++) {
        if (p->only_first >= 0) {
            const char *next = memchr(text.ptr + at, p->only_first, text.len - at);
            if (!next) return false;
            at = (size_t)(next - text.ptr);
        } else if (!p->is_first[(unsigned char)text.ptr[at]]) {
            continue;
        }
        const Str *found = longest_at(p, (Str){ text.ptr + at, text.len - at });
        if (!found) continue;
        *out = (PatternMatch){ at, at + found->len, *found };
        return true;
    }
    return false;
}
