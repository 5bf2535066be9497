/* utf8.h - checking, reading and repairing UTF-8. */
#ifndef BASE_UTF8_H
#define BASE_UTF8_H
#include "base/str.h"
#include <stdint.h>

/* How many leading bytes are whole, valid characters: s.len when all of it is UTF-8. */
size_t utf8_valid_length(Str s);
/* A part of that, found 64 bytes at a time; ends where a character ends. */
size_t utf8_valid_blocks_avx2(Str s);
/* The code point at `p`, which must be valid; its bytes are counted in *len. */
uint32_t utf8_decode(const char *p, int *len);
/* The bytes of a valid character, told by its first one. */
static inline size_t utf8_char_bytes(uint8_t first)
{
    return first < 0x80 ? 1 : first < 0xE0 ? 2 : first < 0xF0 ? 3 : 4;
}
/* Writes a code point (no surrogate, at most 0x10FFFF) and returns its bytes, 1 to 4. */
int utf8_encode(uint32_t c, char *to);
/* The number of bytes of the longest start of a character at s that may still become valid, at
 * least 1: what one U+FFFD stands for (Unicode 3.9, "maximal subpart"). s must not be empty nor
 * start with a valid character. */
size_t utf8_broken_length(Str s);
/* Appends s with each maximal subpart that is no UTF-8 replaced by U+FFFD. */
void utf8_add_repaired(Text *t, Str s);
#endif
