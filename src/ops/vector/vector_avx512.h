/* vector_avx512.h - Vec as one 512-bit register, with or without the instructions for bf16. See
 * vector.h. */
#ifndef OPS_VECTOR_AVX512_H
#define OPS_VECTOR_AVX512_H
#include <immintrin.h>

#if defined(__AVX512BF16__)
#define HAS_BF16 1
#else
#define HAS_BF16 0
#endif

/* DOT_PAIRS: bf16 are multiplied in pairs. PANEL_VECTORS: vectors in a row of a matrix tile, so
 * that six rows fill the registers. */
enum { LANES = 16, DOT_PAIRS = HAS_BF16, PANEL_VECTORS = 4 };
typedef float Vec __attribute__((vector_size(64)));
typedef int32_t VecInt __attribute__((vector_size(64)));
typedef double VecDouble __attribute__((vector_size(64)));

INLINE Vec vec_set(float x)
{
    return _mm512_set1_ps(x);
}

/* Any alignment. */
INLINE Vec vec_load(const Word *p)
{
    return _mm512_loadu_ps(p);
}

INLINE void vec_store(Word *p, Vec v)
{
    _mm512_storeu_ps(p, v);
}

INLINE __mmask16 vec_first(int64_t n)
{
    return (__mmask16)((1u << n) - 1);
}

/* The first n <= LANES only; the others are 0 and not read. */
INLINE Vec vec_load_n(const Word *p, int64_t n)
{
    return _mm512_maskz_loadu_ps(vec_first(n), p);
}

INLINE void vec_store_n(Word *p, int64_t n, Vec v)
{
    _mm512_mask_storeu_ps(p, vec_first(n), v);
}

/* Past the caches; `p` is a multiple of 64. */
INLINE void vec_stream(Word *p, Vec v)
{
    _mm512_stream_ps((float *)p, v);
}

/* After the last vec_stream, before other threads read. */
INLINE void vec_stream_end(void)
{
    _mm_sfence();
}

INLINE Vec vec_load_bf16(const bf16 *p)
{
    __m256i half = _mm256_loadu_si256((const __m256i *)p);
    return (Vec)_mm512_slli_epi32(_mm512_cvtepu16_epi32(half), 16);
}

INLINE Vec vec_load_bf16_n(const bf16 *p, int64_t n)
{
    __m256i half = _mm256_maskz_loadu_epi16(vec_first(n), p);
    return (Vec)_mm512_slli_epi32(_mm512_cvtepu16_epi32(half), 16);
}

#if HAS_BF16
/* Rounds to nearest even; what is too small for a normal number becomes 0. */
INLINE __m256i vec_round_bf16(Vec v)
{
    return (__m256i)_mm512_cvtneps_pbh(v);
}

/* (even[0], odd[0]), (even[1], odd[1]) ... as rounded pairs. */
INLINE Vec vec_round_pairs(Vec even, Vec odd)
{
    const __m512i order = _mm512_set_epi32(
        0x1f000f, 0x1e000e, 0x1d000d, 0x1c000c, 0x1b000b, 0x1a000a, 0x190009, 0x180008, 0x170007,
        0x160006, 0x150005, 0x140004, 0x130003, 0x120002, 0x110001, 0x100000);
    return (Vec)_mm512_permutexvar_epi16(order, (__m512i)_mm512_cvtne2ps_pbh(odd, even));
}

/* 2 LANES floats that follow each other, as rounded pairs of neighbours. */
INLINE Vec vec_round_run(Vec first, Vec second)
{
    return (Vec)(__m512i)_mm512_cvtne2ps_pbh(second, first);
}

/* c + the product of the even plus the product of the odd bf16 in each 32 bits. */
INLINE Vec vec_dot_pairs(Vec a, Vec b, Vec c)
{
    return _mm512_dpbf16_ps(c, (__m512bh)(__m512i)a, (__m512bh)(__m512i)b);
}
#else
/* Rounded to nearest even in the upper 16 bits; the lower are anything. */
INLINE __m512i vec_round_high(Vec v)
{
    const __m512i bits = (__m512i)v, odd = _mm512_srli_epi32(bits, 16) & _mm512_set1_epi32(1);
    const __m512i up = _mm512_add_epi32(bits, _mm512_add_epi32(odd, _mm512_set1_epi32(0x7fff)));
    return _mm512_mask_or_epi32(up, _mm512_cmp_ps_mask(v, v, _CMP_UNORD_Q), bits,
                                _mm512_set1_epi32(0x400000)); /* a quiet NaN */
}

INLINE __m256i vec_round_bf16(Vec v)
{
    return _mm512_cvtepi32_epi16(_mm512_srli_epi32(vec_round_high(v), 16));
}

INLINE Vec vec_round_pairs(Vec even, Vec odd)
{
    return (Vec)_mm512_mask_blend_epi16(0xaaaaaaaa, _mm512_srli_epi32(vec_round_high(even), 16),
                                        vec_round_high(odd));
}

INLINE Vec vec_round_run(Vec first, Vec second)
{
    return (Vec)_mm512_inserti64x4(_mm512_castsi256_si512(vec_round_bf16(first)),
                                   vec_round_bf16(second), 1);
}
#endif

INLINE void vec_store_bf16(bf16 *p, Vec v)
{
    _mm256_storeu_si256((__m256i *)p, vec_round_bf16(v));
}

INLINE void vec_store_bf16_n(bf16 *p, int64_t n, Vec v)
{
    _mm256_mask_storeu_epi16(p, vec_first(n), vec_round_bf16(v));
}

INLINE VecInt vec_load_i16(const int16_t *p)
{
    return (VecInt)_mm512_cvtepi16_epi32(_mm256_loadu_si256((const __m256i *)p));
}

/* Of numbers that have 16 bits. */
INLINE void vec_store_i16(int16_t *p, VecInt v)
{
    _mm256_storeu_si256((__m256i *)p, _mm512_cvtepi32_epi16((__m512i)v));
}

/* a * b + c and c - a * b, rounded once. */
INLINE Vec vec_fma(Vec a, Vec b, Vec c)
{
    return _mm512_fmadd_ps(a, b, c);
}

INLINE Vec vec_fnma(Vec a, Vec b, Vec c)
{
    return _mm512_fnmadd_ps(a, b, c);
}

/* sum += a * b. */
INLINE void vec_add_product(Vec *sum, Vec a, Vec b)
{
    *sum = vec_fma(a, b, *sum);
}

/* Two rows of bf16 as pairs: (even[0], odd[0]), (even[1], odd[1]) ... */
INLINE Vec vec_pairs(const bf16 *even, const bf16 *odd)
{
    __m512i low = _mm512_cvtepu16_epi32(_mm256_loadu_si256((const __m256i *)even));
    return (Vec)_mm512_or_si512(low, (__m512i)vec_load_bf16(odd));
}

/* b when either is NaN. */
INLINE Vec vec_max(Vec a, Vec b)
{
    return _mm512_max_ps(a, b);
}

INLINE Vec vec_min(Vec a, Vec b)
{
    return _mm512_min_ps(a, b);
}

INLINE Vec vec_sqrt(Vec v)
{
    return _mm512_sqrt_ps(v);
}

INLINE float vec_sum(Vec v)
{
    return _mm512_reduce_add_ps(v);
}

/* Lane i is vec_sum(v[i]), added in the same order. Each step halves the vectors: it adds the
 * halves of two and keeps both results in one. */
INLINE Vec vec_sums(const Vec v[LANES])
{
    __m512 quarter[4], pair[2];
#pragma GCC unroll 4
    for (int c = 0; c < 4; c++) {
        const __m512 low = _mm512_add_ps(_mm512_shuffle_f32x4(v[c], v[4 + c], 0x44),
                                         _mm512_shuffle_f32x4(v[c], v[4 + c], 0xee));
        const __m512 high = _mm512_add_ps(_mm512_shuffle_f32x4(v[8 + c], v[12 + c], 0x44),
                                          _mm512_shuffle_f32x4(v[8 + c], v[12 + c], 0xee));
        quarter[c] = _mm512_add_ps(_mm512_shuffle_f32x4(low, high, 0x88),
                                   _mm512_shuffle_f32x4(low, high, 0xdd));
    }
#pragma GCC unroll 2
    for (int c = 0; c < 2; c++)
        pair[c] = _mm512_add_ps(_mm512_shuffle_ps(quarter[2 * c], quarter[2 * c + 1], 0x44),
                                _mm512_shuffle_ps(quarter[2 * c], quarter[2 * c + 1], 0xee));
    return _mm512_add_ps(_mm512_shuffle_ps(pair[0], pair[1], 0x88),
                         _mm512_shuffle_ps(pair[0], pair[1], 0xdd));
}

INLINE float vec_largest(Vec v)
{
    return _mm512_reduce_max_ps(v);
}

/* Lanes [0, LANES / 2) and the rest in double precision. */
INLINE VecDouble vec_low_double(Vec v)
{
    return _mm512_cvtps_pd(_mm512_castps512_ps256(v));
}

INLINE VecDouble vec_high_double(Vec v)
{
    return _mm512_cvtps_pd(_mm512_extractf32x8_ps(v, 1));
}

/* Row i, lane j becomes row j, lane i. */
INLINE void vec_transpose(Vec r[LANES])
{
    __m512 t[16];
#pragma GCC unroll 16
    for (int i = 0; i < 16; i += 2) {
        t[i] = _mm512_unpacklo_ps(r[i], r[i + 1]);
        t[i + 1] = _mm512_unpackhi_ps(r[i], r[i + 1]);
    }
    /* groups of four rows: lane group g of r[4q + c] holds column 4g + c of rows 4q .. 4q + 3 */
#pragma GCC unroll 4
    for (int i = 0; i < 16; i += 4) {
        r[i] = _mm512_shuffle_ps(t[i], t[i + 2], 0x44);
        r[i + 1] = _mm512_shuffle_ps(t[i], t[i + 2], 0xee);
        r[i + 2] = _mm512_shuffle_ps(t[i + 1], t[i + 3], 0x44);
        r[i + 3] = _mm512_shuffle_ps(t[i + 1], t[i + 3], 0xee);
    }
#pragma GCC unroll 4
    for (int i = 0; i < 4; i++) {
        t[i] = _mm512_shuffle_f32x4(r[i], r[i + 4], 0x88);
        t[i + 4] = _mm512_shuffle_f32x4(r[i], r[i + 4], 0xdd);
        t[i + 8] = _mm512_shuffle_f32x4(r[i + 8], r[i + 12], 0x88);
        t[i + 12] = _mm512_shuffle_f32x4(r[i + 8], r[i + 12], 0xdd);
    }
#pragma GCC unroll 4
    for (int i = 0; i < 4; i++) {
        r[i] = _mm512_shuffle_f32x4(t[i], t[i + 8], 0x88);
        r[i + 8] = _mm512_shuffle_f32x4(t[i], t[i + 8], 0xdd);
        r[i + 4] = _mm512_shuffle_f32x4(t[i + 4], t[i + 12], 0x88);
        r[i + 12] = _mm512_shuffle_f32x4(t[i + 4], t[i + 12], 0xdd);
    }
}

#endif
