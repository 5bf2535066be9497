/* blocks.h - words by boolean algebra over blocks of 64 bytes: each class of characters
 * is a mask with one bit per byte, and all bytes of a character carry its class. What is here is
 * the same for every instruction set and pattern. */
#ifndef TOKENIZER_PRETOKENIZE_BLOCKS_H
#define TOKENIZER_PRETOKENIZE_BLOCKS_H
#include "base/utf8.h"
#include "tokenizer/pretokenize/pretokenize.h"
#include "tokenizer/text/places.h"
#include "tokenizer/text/unicode.h"

typedef struct Masks {
    uint64_t letter, number, space, blank, apostrophe;
    uint64_t line_end;                /* CR and LF */
    uint64_t wide_space, wide_number; /* of several bytes */
    uint64_t continuation;            /* bytes that start no character */
    uint64_t outside;                 /* 0xFF, before and after the text */
    int last; /* the last settled bit: the byte after it starts a character */
} Masks;

static inline uint64_t first_bits(int n)
{
    return n < 64 ? ((uint64_t)1 << n) - 1 : UINT64_MAX;
}

static inline void mark(Masks *m, unsigned flags, uint64_t bytes)
{
    m->letter |= -(uint64_t)(flags & UNICODE_LETTER) & bytes;
    if (!(flags & (UNICODE_NUMBER | UNICODE_SPACE))) return;
    m->number |= flags & UNICODE_NUMBER ? bytes : 0;
    m->wide_number |= flags & UNICODE_NUMBER ? bytes : 0;
    m->space |= flags & UNICODE_SPACE ? bytes : 0;
    m->wide_space |= flags & UNICODE_SPACE ? bytes : 0;
}

/* The flags and the length of a character beyond ASCII, most of which have two or three bytes. */
static inline unsigned wide_flags(const char *text, int *len)
{
    const uint8_t *b = (const uint8_t *)text;
    uint32_t two = (b[0] & 0x1Fu) << 6 | (b[1] & 0x3Fu), three = two << 6 | (b[2] & 0x3Fu);
    if (b[0] >= 0xF0) return unicode_flags(utf8_decode(text, len));
    *len = b[0] < 0xE0 ? 2 : 3;
    return unicode_flags(b[0] < 0xE0 ? two : three);
}

/* Marks the characters beyond ASCII: `leads` are the first bytes of those that are not marked yet.
 */
static inline void mark_wide(Masks *m, const char *text, uint64_t leads, uint64_t continuation)
{
    m->continuation = continuation;
    m->last = 62 - __builtin_clzll(~continuation);
    if (continuation & 1) { /* the end of a character that starts before the block */
        const char *start = text;
        while ((*start & 0xC0) == 0x80) start--;
        int len;
        unsigned flags = wide_flags(start, &len);
        mark(m, flags, first_bits(len - (int)(text - start)));
    }
    for (; leads; leads &= leads - 1) {
        int at = __builtin_ctzll(leads), len;
        unsigned flags = wide_flags(text + at, &len);
        mark(m, flags, first_bits(len) << at);
    }
}

/* Moves each bit of `from` in `wide` to the first byte of its character. */
static inline uint64_t at_first_byte(const char *text, uint64_t from, uint64_t wide)
{
    uint64_t moved = from & ~wide;
    for (uint64_t rest = from & wide; rest; rest &= rest - 1) {
        int at = __builtin_ctzll(rest);
        while (at && (text[at] & 0xC0) == 0x80) at--;
        moved |= (uint64_t)1 << at;
    }
    return moved;
}
#endif
