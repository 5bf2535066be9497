/* gpt2_blocks.h - GPT-2's pattern over masks.
 *
 * With letters L, numbers N, white space S, others O, a word starts where
 *   - L, N or O starts, unless a blank stands before, which then starts the word;
 *   - S starts, and at the last character of S before something else: it goes with what follows;
 *   - a contraction ('s 't 'm 'd 'll 're 've) ends that begins where O starts, while the letter in
 *     it starts no word.
 * Blocks share no state: each looks back at four bytes, as far as a contraction reaches, and one
 * byte ahead, so that 59 bytes are settled at a time. */
#ifndef TOKENIZER_PRETOKENIZE_GPT2_BLOCKS_H
#define TOKENIZER_PRETOKENIZE_GPT2_BLOCKS_H
#include "tokenizer/pretokenize/blocks.h"

enum { LOOK_BACK = 4 };

/* The length of a contraction whose apostrophe is at p, or 0. */
static inline int contraction(const char *p)
{
    if (p[1] == 's' || p[1] == 't' || p[1] == 'm' || p[1] == 'd') return 2;
    return (p[1] == 'l' && p[2] == 'l') || ((p[1] == 'r' || p[1] == 'v') && p[2] == 'e') ? 3 : 0;
}

/* Bits where words start, from LOOK_BACK to m->last. */
static inline uint64_t gpt2_starts(const char *text, const Masks *m)
{
    uint64_t after_blank = m->blank << 1;
    uint64_t other = ~(m->letter | m->number | m->space | m->outside);
    uint64_t other_start = other & ~(other << 1) & ~after_blank;
    uint64_t last_space = m->space & ~((m->space | m->outside) >> 1);
    if (last_space & m->wide_space) last_space = at_first_byte(text, last_space, m->wide_space);
    uint64_t starts =
        (m->space & ~(m->space << 1)) | last_space | other_start |
        (((m->letter & ~(m->letter << 1)) | (m->number & ~(m->number << 1))) & ~after_blank);
    uint64_t settled = first_bits(m->last + 1);
    for (uint64_t rest = m->apostrophe & other_start & settled & ~(uint64_t)1; rest;
         rest &= rest - 1) {
        int at = __builtin_ctzll(rest), len = contraction(text + at);
        if (!len) continue;
        starts &= ~((uint64_t)2 << at);
        if (at + len < 64) starts |= (uint64_t)1 << (at + len);
    }
    return starts & settled & ~first_bits(LOOK_BACK);
}

/* A WordSplitter made of masks_of(text), the masks of 64 bytes. */
#define GPT2_SPLITTER(name, masks_of)                                                              \
    int64_t name(const char *text, uint32_t len, uint32_t from, uint32_t until, uint32_t *end)     \
    {                                                                                              \
        int64_t n = 0;                                                                             \
        uint32_t at = from + 1; /* ends before are found */                                        \
        while (at < len && (!n || end[n - 1] < until)) {                                           \
            const char *block = text + at - LOOK_BACK;                                             \
            Masks m = masks_of(block);                                                             \
            n += write_bit_places(end + n, at - LOOK_BACK, gpt2_starts(block, &m));                \
            at += (uint32_t)(m.last + 1 - LOOK_BACK);                                              \
        }                                                                                          \
        while (n && end[n - 1] >= len) n--;                                                        \
        if (at >= len && (!n || end[n - 1] < until)) end[n++] = len;                               \
        return n;                                                                                  \
    }
#endif
