/* bytes64.h - 64 bytes of text in registers, the same in source for each instruction set.
 *
 * For *_fast.c files, which are compiled once per instruction set; HAS_BYTES64 says whether this
 * one has blocks. A mask has bit i set for byte i. */
#ifndef BASE_BYTES64_H
#define BASE_BYTES64_H
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#if defined(__AVX512BW__)
#define HAS_BYTES64 1
#include "base/bytes64_avx512.h"
#elif defined(__AVX2__)
#define HAS_BYTES64 1
#include "base/bytes64_avx2.h"
#else
#define HAS_BYTES64 0
#endif

#if HAS_BYTES64
#include "base/utf8_tables.h"

/* A mask of the bytes at which UTF-8 is seen to be broken, the latest of the bytes that tell: a
 * character that is cut short shows at the byte where its next one should be. `before` are the 64
 * bytes in front. With `surrogates`, three-byte forms of U+D800 to U+DFFF are right. */
static inline uint64_t bytes64_utf8_faults(Bytes64 x, Bytes64 before, bool surrogates)
{
    Bytes64 one = bytes64_behind(x, before, 1), two = bytes64_behind(x, before, 2),
            three = bytes64_behind(x, before, 3);
    const char *by_low = surrogates ? utf8_by_low_surrogates : utf8_by_low;
    Bytes64 found = bytes64_and(
        bytes64_and(bytes64_by_high_half(utf8_by_high, one), bytes64_by_low_half(by_low, one)),
        bytes64_by_high_half(utf8_by_next, x));
    /* Top bits where a third or fourth byte must stand; there, and only there, TWO_MORE is right.
     */
    Bytes64 must_go_on =
        bytes64_or(bytes64_above(two, (char)0xE0), bytes64_above(three, (char)0xF0));
    return bytes64_nonzero(bytes64_xor(bytes64_top_bit(must_go_on), found));
}

/* As bytes64_load for the bytes from p to end, followed by zeros. */
static inline Bytes64 bytes64_load_before(const char *p, const char *end)
{
    return end - p >= 64 ? bytes64_load(p) : bytes64_load_part(p, (size_t)(end - p));
}
#endif
#endif
