/* bytes64_avx2.h - 64 bytes as two 256-bit registers. See bytes64.h. */
#ifndef BASE_BYTES64_AVX2_H
#define BASE_BYTES64_AVX2_H
#include <immintrin.h>
#include <string.h>

typedef struct Bytes64 {
    __m256i low, high;
} Bytes64;

static inline Bytes64 bytes64_zero(void)
{
    return (Bytes64){ _mm256_setzero_si256(), _mm256_setzero_si256() };
}

static inline Bytes64 bytes64_load(const char *p)
{
    return (Bytes64){ _mm256_loadu_si256((const __m256i *)p),
                      _mm256_loadu_si256((const __m256i *)(p + 32)) };
}

/* n < 64 bytes, and zeros. */
static inline Bytes64 bytes64_load_part(const char *p, size_t n)
{
    char bytes[64] = { 0 };
    memcpy(bytes, p, n);
    return bytes64_load(bytes);
}

static inline void bytes64_store(char *p, Bytes64 x)
{
    _mm256_storeu_si256((__m256i *)p, x.low);
    _mm256_storeu_si256((__m256i *)(p + 32), x.high);
}

/* Bytes from 80 on. */
static inline uint64_t bytes64_high(Bytes64 x)
{
    return (uint32_t)_mm256_movemask_epi8(x.low) | (uint64_t)(uint32_t)_mm256_movemask_epi8(x.high)
                                                       << 32;
}

static inline uint64_t bytes64_equal(Bytes64 x, char c)
{
    const __m256i all = _mm256_set1_epi8(c);
    return bytes64_high((Bytes64){ _mm256_cmpeq_epi8(x.low, all), _mm256_cmpeq_epi8(x.high, all) });
}

/* Bytes below c, as numbers without sign. */
static inline uint64_t bytes64_below(Bytes64 x, char c)
{
    const __m256i all = _mm256_set1_epi8((char)(c - 1));
    return bytes64_high((Bytes64){ _mm256_cmpeq_epi8(_mm256_max_epu8(x.low, all), all),
                                   _mm256_cmpeq_epi8(_mm256_max_epu8(x.high, all), all) });
}

static inline uint64_t bytes64_nonzero(Bytes64 x)
{
    return ~bytes64_equal(x, 0);
}

static inline Bytes64 bytes64_and(Bytes64 x, Bytes64 y)
{
    return (Bytes64){ _mm256_and_si256(x.low, y.low), _mm256_and_si256(x.high, y.high) };
}

static inline Bytes64 bytes64_or(Bytes64 x, Bytes64 y)
{
    return (Bytes64){ _mm256_or_si256(x.low, y.low), _mm256_or_si256(x.high, y.high) };
}

static inline Bytes64 bytes64_xor(Bytes64 x, Bytes64 y)
{
    return (Bytes64){ _mm256_xor_si256(x.low, y.low), _mm256_xor_si256(x.high, y.high) };
}

static inline Bytes64 bytes64_top_bit(Bytes64 x)
{
    const __m256i top = _mm256_set1_epi8((char)0x80);
    return bytes64_and(x, (Bytes64){ top, top });
}

/* The top bit is set in bytes from c (at least 80) on; the other bits are anything. */
static inline Bytes64 bytes64_above(Bytes64 x, char c)
{
    const __m256i less = _mm256_set1_epi8((char)(c - 0x80));
    return (Bytes64){ _mm256_subs_epu8(x.low, less), _mm256_subs_epu8(x.high, less) };
}

/* Each byte by its low or high four bits, from a table of 16. */
static inline Bytes64 bytes64_by_low_half(const char table[16], Bytes64 x)
{
    const __m256i half = _mm256_set1_epi8(15);
    __m256i t = _mm256_broadcastsi128_si256(_mm_loadu_si128((const __m128i *)table));
    return (Bytes64){ _mm256_shuffle_epi8(t, _mm256_and_si256(x.low, half)),
                      _mm256_shuffle_epi8(t, _mm256_and_si256(x.high, half)) };
}

static inline Bytes64 bytes64_by_high_half(const char table[16], Bytes64 x)
{
    Bytes64 shifted = { _mm256_srli_epi16(x.low, 4), _mm256_srli_epi16(x.high, 4) };
    return bytes64_by_low_half(table, shifted);
}

/* The bytes n (1 to 3) places before those of x. */
static inline __attribute__((always_inline)) Bytes64 bytes64_behind(Bytes64 x, Bytes64 before,
                                                                    int n)
{
    __m256i first = _mm256_permute2x128_si256(before.high, x.low, 0x21);
    __m256i second = _mm256_permute2x128_si256(x.low, x.high, 0x21);
    if (n == 1)
        return (Bytes64){ _mm256_alignr_epi8(x.low, first, 15),
                          _mm256_alignr_epi8(x.high, second, 15) };
    if (n == 2)
        return (Bytes64){ _mm256_alignr_epi8(x.low, first, 14),
                          _mm256_alignr_epi8(x.high, second, 14) };
    return (Bytes64){ _mm256_alignr_epi8(x.low, first, 13),
                      _mm256_alignr_epi8(x.high, second, 13) };
}
#endif
