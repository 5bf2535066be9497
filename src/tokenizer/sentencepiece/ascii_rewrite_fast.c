/* ascii_rewrite_fast.c - rewrites 64 bytes at a time by look-ups of both halves of each byte;
 * compiled for each instruction set. */
#include "base/bytes64.h"
#include "tokenizer/sentencepiece/ascii_rewrite.h"

#if HAS_BYTES64
/* Bytes that need no closer look. */
static uint64_t known_bytes(const AsciiRewrite *r, Bytes64 x)
{
    static const char bit_of_high[16] = { 1, 2, 4, 8, 16, 32, 64, (char)128 };
    return bytes64_nonzero(
        bytes64_and(bytes64_by_low_half(r->known, x), bytes64_by_high_half(bit_of_high, x)));
}

static Bytes64 changed(const AsciiRewrite *r, Bytes64 x)
{
    Bytes64 y = x;
    for (int i = 0; i < r->n_rows; i++) {
        Bytes64 flip = bytes64_by_low_half(r->row[i].flip, x);
        y = bytes64_xor(y, bytes64_and(flip, bytes64_by_high_half(r->row[i].is, x)));
    }
    return y;
}

size_t TABLE(const AsciiRewrite *r, Str text, bool after_blank, char *to)
{
    const char *end = text.ptr + text.len;
    uint64_t blank_before = after_blank;
    for (size_t at = 0; at < text.len; at += 64) {
        Bytes64 x = bytes64_load_before(text.ptr + at, end), y = changed(r, x);
        uint64_t stop = ~known_bytes(r, x);
        bytes64_store(to + at, y);
        if (r->one_blank) {
            uint64_t blank = bytes64_equal(y, ' ');
            stop |= blank & (blank << 1 | blank_before);
            blank_before = blank >> 63;
        }
        /* If the zeros after the end stop it, then the first does. */
        if (stop) return at + (size_t)__builtin_ctzll(stop);
    }
    return text.len;
}
#else
enum { BLOCK = 8 };

/* Writes what a block becomes; the top bit is set when a byte needs a closer look. */
static inline uint8_t rewrite_block(const uint8_t *table, const char *from, char *restrict to)
{
    uint8_t all = 0;
    for (int i = 0; i < BLOCK; i++) {
        uint8_t c = table[(uint8_t)from[i]];
        to[i] = (char)c;
        all |= c;
    }
    return all;
}

size_t TABLE(const AsciiRewrite *r, Str text, bool after_blank, char *to)
{
    size_t at = 0;
    if (!r->one_blank)
        while (at + BLOCK <= text.len && rewrite_block(r->to, text.ptr + at, to + at) < CLOSER_LOOK)
            at += BLOCK;
    for (; at < text.len; at++) {
        uint8_t c = r->to[(uint8_t)text.ptr[at]];
        if (c >= CLOSER_LOOK || (r->one_blank && after_blank && c == ' ')) break;
        to[at] = (char)c;
        after_blank = c == ' ';
    }
    return at;
}
#endif
