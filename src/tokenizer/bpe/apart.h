/* apart.h - which tokens of BPE stay apart when they lie side by side.
 *
 * Many pairs make a token on paper, but merging its text alone joins one of them in the end, and
 * this one only can ever be joined to it, in any text: had another pair come to lie side by side
 * there, it would have in the token's text alone. So each token has one pair, and one time when it
 * is made: 1 + the order of its merge. If no part is made later than the whole, merges happen by
 * rising order, from left to right among equals, and two tokens stay apart unless there was a time
 * when the last part of the left one and the first part of the right one could be joined. */
#ifndef TOKENIZER_BPE_APART_H
#define TOKENIZER_BPE_APART_H
#include "base/arena.h"
#include "base/str.h"
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

enum { APART_ID_BITS = 21, APART_TIME_BITS = 22 };
#define APART_NEVER INT32_MAX
#define APART_VAGUE ((uint32_t)1 << 31)

typedef struct ApartToken {
    uint32_t left, right; /* its pair */
    uint32_t made;        /* 0: it is a symbol */
    uint32_t len;         /* bytes; 0: it never occurs */
    uint32_t first_until; /* when its first symbol becomes part of something longer; APART_NEVER */
    uint32_t last_until;  /* the same for its last symbol */
    uint32_t shorter;     /* the longest token that it starts with, or NO_TOKEN */
    uint32_t padding;
} ApartToken;

/* What the two bytes around a place tell. */
typedef struct ApartAround {
    /* The earliest time when two symbols are joined here, or APART_NEVER; with APART_VAGUE when
     * they may be others, because some symbol of more bytes ends or starts like them. */
    uint32_t across;
    /* The earliest time when the first byte is joined to something after it in a token that starts
     * with both. */
    uint32_t soon;
    /* The low 5 bits of bytes that stand before the two in a merge with the second one alone, and
     * of bytes after the two in a merge with the first one alone. */
    uint32_t before, behind;
} ApartAround;

typedef struct Apart {
    ApartToken *token;   /* by id */
    ApartAround *around; /* by the two bytes */
    /* Pair to time: open addressing over left << 43 | right << 22 | time. Two filters of two bits
     * in one word hold the pairs of which a side is no symbol: by the pair, and, where both sides
     * are longer than a byte, by the four bytes around the place. */
    uint64_t *pair, pair_mask, *pair_filter, *four_filter;
    int pair_shift, four_shift; /* 64 - the bits of the number of words */
} Apart;

/* Makes the tables for n tokens whose pair, `made`, and `len` are known. */
void apart_finish(Arena *a, Apart *p, const Str *text, int64_t n);

static inline uint64_t apart_hash(uint64_t key)
{
    return key * 0x9E3779B97F4A7C15u;
}

static inline bool apart_filtered(const uint64_t *filter, int shift, uint64_t hash)
{
    uint64_t word = filter[hash >> shift];
    return word >> (hash >> 32 & 63) & word >> (hash >> 26 & 63) & 1;
}

/* When these two are joined if they lie side by side; APART_NEVER. */
static inline uint32_t apart_joined_at(const Apart *p, uint32_t left, uint32_t right)
{
    uint64_t key = (uint64_t)left << APART_ID_BITS | right;
    for (uint64_t at = apart_hash(key) >> 20 & p->pair_mask;; at = (at + 1) & p->pair_mask) {
        uint64_t pair = p->pair[at];
        if (pair >> APART_TIME_BITS == key) return pair & ((1 << APART_TIME_BITS) - 1);
        if (pair == UINT64_MAX) return APART_NEVER;
    }
}

/* Nothing but two symbols can be joined here, whatever the tokens are. Reads two bytes before and
 * after. */
static inline bool apart_only_symbols(const Apart *p, const ApartAround *around, const char *place)
{
    uint32_t four;
    memcpy(&four, place - 2, 4);
    uint32_t before = (uint8_t)place[-2], behind = (uint8_t)place[1];
    return !(apart_filtered(p->four_filter, p->four_shift, apart_hash(four)) |
             ((around->before >> (before & 31) | around->behind >> (behind & 31)) & 1));
}

static inline const ApartAround *apart_around(const Apart *p, const char *place)
{
    return &p->around[(uint8_t)place[-1] << 8 | (uint8_t)place[0]];
}

/* No token can follow one whose last symbol stays alone until then: before it was joined to what is
 * on its left, it would have been joined to the symbol after the place, since none that starts
 * with the two bytes there takes that away sooner. Never where it is vague: that is late. Reads two
 * bytes after. */
static inline bool apart_dead_end(const Apart *p, uint32_t last_until, const char *place)
{
    uint32_t across = apart_around(p, place)->across;
    return (across < last_until) & (across <= apart_around(p, place + 1)->soon);
}

/* `place` is where the right one starts; `is_inside`: two bytes lie before it, and after it.
 * Goes back in time along the parts of both that lie side by side. Among merges of the same order
 * the one further left comes first: those within the left token, then that of the two, then those
 * within the right one. */
static inline bool apart_stay(const Apart *p, uint32_t left, uint32_t right, const char *place,
                              bool is_inside)
{
    const ApartToken *l = &p->token[left], *r = &p->token[right];
    const ApartAround *around = apart_around(p, place);
    uint32_t across = around->across & ~APART_VAGUE;
    bool symbols_join = (across < l->last_until) & (across <= r->first_until);
    if (symbols_join && !(around->across & APART_VAGUE)) return false;
    if (!symbols_join && is_inside && apart_only_symbols(p, around, place)) return true;
    uint32_t left_until = APART_NEVER, right_until = APART_NEVER;
    while (l->made | r->made) {
        uint64_t hash = apart_hash((uint64_t)left << APART_ID_BITS | right);
        if (apart_filtered(p->pair_filter, p->pair_shift, hash)) {
            uint32_t time = apart_joined_at(p, left, right);
            if (time < left_until && time <= right_until) return false;
        }
        if (l->made > r->made) {
            left_until = l->made;
            left = l->right;
            l = &p->token[left];
        } else {
            right_until = r->made;
            right = r->left;
            r = &p->token[right];
        }
    }
    if (!symbols_join) return true;
    uint32_t time = apart_joined_at(p, left, right);
    return !(time < left_until && time <= right_until);
}
#endif
