/* utf8.h - checking, reading and repairing UTF-8. */
#ifndef BASE_UTF8_H
#define BASE_UTF8_H
#include "base/cpu.h"
#include "base/str.h"
#include <stdint.h>

/* How many leading bytes are whole, valid characters: s.len when all of it is UTF-8. */
size_t utf8_valid_length(Str s);
/* The same with the code of one instruction set, which the CPU must have. */
size_t utf8_valid_length_at(CpuLevel level, Str s);
/* The code point at `p`, which must be valid; its bytes are counted in *len. */
uint32_t utf8_decode(const char *p, int *len);
/* The bytes of a valid character, told by its first one. */
static inline size_t utf8_char_bytes(uint8_t first)
{
    return first < 0x80 ? 1 : first < 0xE0 ? 2 : first < 0xF0 ? 3 : 4;
}
/* Writes a code point (no surrogate, at most 0x10FFFF) and returns its bytes, 1 to 4. */
static inline int utf8_encode(uint32_t c, char *to)
{
    CHECK(c <= 0x10FFFF && (c < 0xD800 || c > 0xDFFF));
    if (c < 0x80) return to[0] = (char)c, 1;
    int n = c < 0x800 ? 2 : c < 0x10000 ? 3 : 4;
    const unsigned char mark = n == 2 ? 0xC0 : n == 3 ? 0xE0 : 0xF0;
    for (int i = n - 1; i > 0; i--, c >>= 6) to[i] = (char)(0x80 | (c & 0x3F));
    to[0] = (char)(mark | c);
    return n;
}
/* The number of bytes of the longest start of a character at s that may still become valid, at
 * least 1: what one U+FFFD stands for (Unicode 3.9, "maximal subpart"). s must not be empty nor
 * start with a valid character. */
size_t utf8_broken_length(Str s);
/* Writes for each byte of valid UTF-8 the number of its character, from 0, and after them how many
 * characters there are: s.len + 1 numbers. */
void utf8_number_characters(Str s, uint32_t *out);
/* Appends s with each maximal subpart that is no UTF-8 replaced by U+FFFD. */
void utf8_add_repaired(Text *t, Str s);

/* What one instruction set has: a part of utf8_valid_length that ends where a character ends, or
 * NULL. */
typedef struct Utf8Level {
    size_t (*valid_blocks)(Str s);
} Utf8Level;
extern const Utf8Level utf8_scalar, utf8_avx2, utf8_avx512;
#endif
