/* joins_blocks.h - cutting text where nothing joins, 64 bytes at a time; the same for every
 * instruction set. */
#ifndef TOKENIZER_BPE_JOINS_BLOCKS_H
#define TOKENIZER_BPE_JOINS_BLOCKS_H
#include "tokenizer/bpe/joins.h"
#include "tokenizer/text/places.h"

/* Defines a JoinsCut by `apart`, which gives a bit for each of the 64 bytes at a place that no
 * token joins to the byte before it. */
#define JOINS_CUT(name, apart)                                                                     \
    int64_t name(const JoinTable *j, const char *text, uint32_t len, uint32_t from,                \
                 uint32_t until, uint32_t *end)                                                    \
    {                                                                                              \
        int64_t n = 0;                                                                             \
        for (uint32_t at = from + 1; at < len; at += 64) {                                         \
            uint64_t cuts = apart(j, text + at);                                                   \
            if (len - at < 64) cuts &= ((uint64_t)1 << (len - at)) - 1;                            \
            n += write_bit_places(end + n, at, cuts);                                              \
            if (at + 63 < until || !n || end[n - 1] < until) continue;                             \
            while (n > 1 && end[n - 2] >= until) n--;                                              \
            return n;                                                                              \
        }                                                                                          \
        end[n++] = len;                                                                            \
        return n;                                                                                  \
    }
#endif
