/* vector_avx2.h - Vec as one 256-bit register. See vector.h; functions without comment are as in
 * vector_avx512.h. */
#ifndef OPS_VECTOR_AVX2_H
#define OPS_VECTOR_AVX2_H
#include <immintrin.h>

enum { LANES = 8, DOT_PAIRS = 0, PANEL_VECTORS = 2 };
typedef float Vec __attribute__((vector_size(32)));
typedef int32_t VecInt __attribute__((vector_size(32)));
typedef double VecDouble __attribute__((vector_size(32)));

INLINE Vec vec_set(float x)
{
    return _mm256_set1_ps(x);
}

INLINE Vec vec_load(const Word *p)
{
    return _mm256_loadu_ps((const float *)p);
}

INLINE void vec_store(Word *p, Vec v)
{
    _mm256_storeu_ps((float *)p, v);
}

/* -1 in the first n lanes. */
INLINE __m256i vec_first(int64_t n)
{
    static const int32_t ones[16] = { -1, -1, -1, -1, -1, -1, -1, -1 };
    return _mm256_loadu_si256((const __m256i *)(ones + 8 - n));
}

INLINE Vec vec_load_n(const Word *p, int64_t n)
{
    return _mm256_maskload_ps((const float *)p, vec_first(n));
}

INLINE void vec_store_n(Word *p, int64_t n, Vec v)
{
    _mm256_maskstore_ps((float *)p, vec_first(n), v);
}

INLINE void vec_stream(Word *p, Vec v)
{
    _mm256_stream_ps((float *)p, v);
}

INLINE void vec_stream_end(void)
{
    _mm_sfence();
}

INLINE Vec vec_load_bf16(const bf16 *p)
{
    __m128i half = _mm_loadu_si128((const __m128i *)p);
    return (Vec)_mm256_slli_epi32(_mm256_cvtepu16_epi32(half), 16);
}

INLINE Vec vec_load_bf16_n(const bf16 *p, int64_t n)
{
    bf16 whole[8] = { 0 };
    for (int i = 0; i < n; i++) whole[i] = p[i];
    return vec_load_bf16(whole);
}

INLINE __m128i vec_round_bf16(Vec v)
{
    __m256i bits = (__m256i)v;
    __m256i odd = _mm256_and_si256(_mm256_srli_epi32(bits, 16), _mm256_set1_epi32(1));
    __m256i up = _mm256_add_epi32(bits, _mm256_add_epi32(odd, _mm256_set1_epi32(0x7fff)));
    __m256i quiet = _mm256_or_si256(bits, _mm256_set1_epi32(0x400000));
    up = _mm256_blendv_epi8(up, quiet, (__m256i)_mm256_cmp_ps(v, v, _CMP_UNORD_Q));
    up = _mm256_srli_epi32(up, 16);
    return _mm_packus_epi32(_mm256_castsi256_si128(up), _mm256_extracti128_si256(up, 1));
}

INLINE void vec_store_bf16(bf16 *p, Vec v)
{
    _mm_storeu_si128((__m128i *)p, vec_round_bf16(v));
}

INLINE void vec_store_bf16_n(bf16 *p, int64_t n, Vec v)
{
    bf16 whole[8];
    vec_store_bf16(whole, v);
    for (int i = 0; i < n; i++) p[i] = whole[i];
}

INLINE VecInt vec_load_i16(const int16_t *p)
{
    return (VecInt)_mm256_cvtepi16_epi32(_mm_loadu_si128((const __m128i *)p));
}

INLINE void vec_store_i16(int16_t *p, VecInt v)
{
    const __m256i all = (__m256i)v;
    const __m128i half =
        _mm_packs_epi32(_mm256_castsi256_si128(all), _mm256_extracti128_si256(all, 1));
    _mm_storeu_si128((__m128i *)p, half);
}

INLINE Vec vec_fma(Vec a, Vec b, Vec c)
{
    return _mm256_fmadd_ps(a, b, c);
}

INLINE Vec vec_fnma(Vec a, Vec b, Vec c)
{
    return _mm256_fnmadd_ps(a, b, c);
}

/* Written out, because the compiler's choice among the forms of the instruction makes it move
 * accumulators in and out of memory when all registers are in use. */
INLINE void vec_add_product(Vec *sum, Vec a, Vec b)
{
    __asm__("vfmadd231ps %2, %1, %0" : "+x"(*sum) : "x"(a), "x"(b));
}

INLINE Vec vec_pairs(const bf16 *even, const bf16 *odd)
{
    __m256i low = _mm256_cvtepu16_epi32(_mm_loadu_si128((const __m128i *)even));
    return (Vec)_mm256_or_si256(low, (__m256i)vec_load_bf16(odd));
}

INLINE Vec vec_round_pairs(Vec even, Vec odd)
{
    bf16 rows[2][LANES];
    vec_store_bf16(rows[0], even);
    vec_store_bf16(rows[1], odd);
    return vec_pairs(rows[0], rows[1]);
}

INLINE Vec vec_round_run(Vec first, Vec second)
{
    bf16 both[2 * LANES];
    vec_store_bf16(both, first);
    vec_store_bf16(both + LANES, second);
    return vec_load((const Word *)both);
}

INLINE Vec vec_max(Vec a, Vec b)
{
    return _mm256_max_ps(a, b);
}

INLINE Vec vec_min(Vec a, Vec b)
{
    return _mm256_min_ps(a, b);
}

INLINE Vec vec_sqrt(Vec v)
{
    return _mm256_sqrt_ps(v);
}

INLINE float vec_sum(Vec v)
{
    __m128 s = _mm_add_ps(_mm256_castps256_ps128(v), _mm256_extractf128_ps(v, 1));
    s = _mm_add_ps(s, _mm_movehl_ps(s, s));
    return _mm_cvtss_f32(_mm_add_ss(s, _mm_movehdup_ps(s)));
}

INLINE Vec vec_sums(const Vec v[LANES])
{
    __m256 half[4], pair[2];
#pragma GCC unroll 4
    for (int c = 0; c < 4; c++)
        half[c] = _mm256_add_ps(_mm256_permute2f128_ps(v[c], v[4 + c], 0x20),
                                _mm256_permute2f128_ps(v[c], v[4 + c], 0x31));
#pragma GCC unroll 2
    for (int c = 0; c < 2; c++)
        pair[c] = _mm256_add_ps(_mm256_shuffle_ps(half[2 * c], half[2 * c + 1], 0x44),
                                _mm256_shuffle_ps(half[2 * c], half[2 * c + 1], 0xee));
    return _mm256_add_ps(_mm256_shuffle_ps(pair[0], pair[1], 0x88),
                         _mm256_shuffle_ps(pair[0], pair[1], 0xdd));
}

INLINE float vec_largest(Vec v)
{
    __m128 s = _mm_max_ps(_mm256_castps256_ps128(v), _mm256_extractf128_ps(v, 1));
    s = _mm_max_ps(s, _mm_movehl_ps(s, s));
    return _mm_cvtss_f32(_mm_max_ss(s, _mm_movehdup_ps(s)));
}

INLINE VecDouble vec_low_double(Vec v)
{
    return _mm256_cvtps_pd(_mm256_castps256_ps128(v));
}

INLINE VecDouble vec_high_double(Vec v)
{
    return _mm256_cvtps_pd(_mm256_extractf128_ps(v, 1));
}

INLINE void vec_transpose(Vec r[LANES])
{
    __m256 t[8];
#pragma GCC unroll 4
    for (int i = 0; i < 8; i += 2) {
        t[i] = _mm256_unpacklo_ps(r[i], r[i + 1]);
        t[i + 1] = _mm256_unpackhi_ps(r[i], r[i + 1]);
    }
#pragma GCC unroll 2
    for (int i = 0; i < 8; i += 4) {
        r[i] = _mm256_shuffle_ps(t[i], t[i + 2], 0x44);
        r[i + 1] = _mm256_shuffle_ps(t[i], t[i + 2], 0xee);
        r[i + 2] = _mm256_shuffle_ps(t[i + 1], t[i + 3], 0x44);
        r[i + 3] = _mm256_shuffle_ps(t[i + 1], t[i + 3], 0xee);
    }
#pragma GCC unroll 4
    for (int i = 0; i < 4; i++) {
        __m256 low = r[i], high = r[i + 4];
        r[i] = _mm256_permute2f128_ps(low, high, 0x20);
        r[i + 4] = _mm256_permute2f128_ps(low, high, 0x31);
    }
}

#endif
