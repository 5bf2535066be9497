/* places.h - the places of the bits of a mask, written down. */
#ifndef TOKENIZER_TEXT_PLACES_H
#define TOKENIZER_TEXT_PLACES_H
#include <immintrin.h>
#include <stdint.h>

/* Writes `from` + the place of each bit and returns how many there are; up to 64 are written. */
#ifdef __AVX512BW__
__attribute__((target("avx512vbmi,avx512vbmi2"))) static inline int64_t
write_bit_places(uint32_t *to, uint32_t from, uint64_t bits)
{
    const __m512i places = _mm512_set_epi8(
        63, 62, 61, 60, 59, 58, 57, 56, 55, 54, 53, 52, 51, 50, 49, 48, 47, 46, 45, 44, 43, 42, 41,
        40, 39, 38, 37, 36, 35, 34, 33, 32, 31, 30, 29, 28, 27, 26, 25, 24, 23, 22, 21, 20, 19, 18,
        17, 16, 15, 14, 13, 12, 11, 10, 9, 8, 7, 6, 5, 4, 3, 2, 1, 0);
    const __m512i start = _mm512_set1_epi32((int)from);
    int n = __builtin_popcountll(bits);
    __m512i found = _mm512_maskz_compress_epi8(bits, places);
#define SIXTEEN(i)                                                                                 \
    _mm512_add_epi32(_mm512_cvtepu8_epi32(_mm512_extracti32x4_epi32(found, i)), start)
    _mm512_storeu_si512(to, SIXTEEN(0));
    if (n > 16) _mm512_storeu_si512(to + 16, SIXTEEN(1));
    if (n > 32) _mm512_storeu_si512(to + 32, SIXTEEN(2));
    if (n > 48) _mm512_storeu_si512(to + 48, SIXTEEN(3));
#undef SIXTEEN
    return n;
}
#else
/* Eight at a time: how many there are is not predictable, whether there are more than eight is. */
static inline int64_t write_bit_places(uint32_t *to, uint32_t from, uint64_t bits)
{
    int64_t n = __builtin_popcountll(bits);
    for (int64_t i = 0; i < n; i += 8) {
        for (int k = 0; k < 8; k++, bits &= bits - 1) to[i + k] = from + (uint32_t)_tzcnt_u64(bits);
    }
    return n;
}
#endif
#endif
