/* starts.h - the longest token that a text starts with.
 *
 * A trie (text/trie.h) in a form for nothing but this question: a table by the first two bytes,
 * then a double array in which a node tells the longest token on the way to it. Bases differ, so
 * that the byte alone tells whether a place is the child of a node. */
#ifndef TOKENIZER_BPE_STARTS_H
#define TOKENIZER_BPE_STARTS_H
#include "tokenizer/bpe/apart.h"
#include "tokenizer/text/trie.h"

enum { STARTS_LABEL_BITS = 9, STARTS_NO_ID = (1 << 22) - 1 };

typedef struct BpeStart {
    uint32_t base;
    uint32_t id_label;        /* id, or STARTS_NO_ID; the byte of the last step, or 256 */
    uint32_t len, last_until; /* of the token; the walk asks for them next */
} BpeStart;

typedef struct BpeStarts {
    const BpeStart *one, *two, *unit; /* by the first byte; by the first two; from `base` on */
} BpeStarts;

/* Of a trie with these n keys, whose values are ids. */
void bpe_starts_new(Arena *a, const Trie *t, const Str *key, int64_t n, const ApartToken *token,
                    BpeStarts *out);

/* Of a text that is not empty. */
static inline BpeStart bpe_starts_longest(const BpeStarts *s, const char *text, const char *end)
{
    const uint8_t *c = (const uint8_t *)text, *stop = (const uint8_t *)end;
    if (stop - c < 2) return s->one[*c];
    BpeStart found = s->two[c[0] << 8 | c[1]];
    for (c += 2; c < stop; c++) {
        const BpeStart *next = &s->unit[found.base + *c];
        if ((next->id_label & ((1 << STARTS_LABEL_BITS) - 1)) != *c) break;
        found = *next;
    }
    return found;
}
#endif
