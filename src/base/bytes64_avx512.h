/* bytes64_avx512.h - 64 bytes as one 512-bit register. See bytes64.h. */
#ifndef BASE_BYTES64_AVX512_H
#define BASE_BYTES64_AVX512_H
#include <immintrin.h>

typedef __m512i Bytes64;

static inline Bytes64 bytes64_zero(void)
{
    return _mm512_setzero_si512();
}

static inline Bytes64 bytes64_load(const char *p)
{
    return _mm512_loadu_si512(p);
}

/* n < 64 bytes, and zeros. */
static inline Bytes64 bytes64_load_part(const char *p, size_t n)
{
    return _mm512_maskz_loadu_epi8(((uint64_t)1 << n) - 1, p);
}

static inline void bytes64_store(char *p, Bytes64 x)
{
    _mm512_storeu_si512(p, x);
}

static inline uint64_t bytes64_equal(Bytes64 x, char c)
{
    return _mm512_cmpeq_epi8_mask(x, _mm512_set1_epi8(c));
}

/* Bytes below c, as numbers without sign. */
static inline uint64_t bytes64_below(Bytes64 x, char c)
{
    return _mm512_cmplt_epu8_mask(x, _mm512_set1_epi8(c));
}

/* Bytes from 80 on. */
static inline uint64_t bytes64_high(Bytes64 x)
{
    return _mm512_movepi8_mask(x);
}

static inline uint64_t bytes64_nonzero(Bytes64 x)
{
    return _mm512_test_epi8_mask(x, x);
}

static inline Bytes64 bytes64_and(Bytes64 x, Bytes64 y)
{
    return _mm512_and_si512(x, y);
}

static inline Bytes64 bytes64_or(Bytes64 x, Bytes64 y)
{
    return _mm512_or_si512(x, y);
}

static inline Bytes64 bytes64_xor(Bytes64 x, Bytes64 y)
{
    return _mm512_xor_si512(x, y);
}

static inline Bytes64 bytes64_top_bit(Bytes64 x)
{
    return _mm512_and_si512(x, _mm512_set1_epi8((char)0x80));
}

/* The top bit is set in bytes from c (at least 80) on; the other bits are anything. */
static inline Bytes64 bytes64_above(Bytes64 x, char c)
{
    return _mm512_subs_epu8(x, _mm512_set1_epi8((char)(c - 0x80)));
}

/* Each byte by its low or high four bits, from a table of 16. */
static inline Bytes64 bytes64_by_low_half(const char table[16], Bytes64 x)
{
    __m512i t = _mm512_broadcast_i32x4(_mm_loadu_si128((const __m128i *)table));
    return _mm512_shuffle_epi8(t, _mm512_and_si512(x, _mm512_set1_epi8(15)));
}

static inline Bytes64 bytes64_by_high_half(const char table[16], Bytes64 x)
{
    return bytes64_by_low_half(table, _mm512_srli_epi16(x, 4));
}

/* The bytes n (1 to 3) places before those of x. */
static inline __attribute__((always_inline)) Bytes64 bytes64_behind(Bytes64 x, Bytes64 before,
                                                                    int n)
{
    const __m512i last_and_first = _mm512_setr_epi64(6, 7, 8, 9, 10, 11, 12, 13);
    __m512i lanes = _mm512_permutex2var_epi64(before, last_and_first, x);
    return n == 1   ? _mm512_alignr_epi8(x, lanes, 15)
           : n == 2 ? _mm512_alignr_epi8(x, lanes, 14)
                    : _mm512_alignr_epi8(x, lanes, 13);
}
#endif
