/* vector_portable.h - Vec in plain C, as wide as AVX-512. See vector.h; functions without comment
 * are as in vector_avx512.h. Products are rounded before they are added. */
#ifndef OPS_VECTOR_PORTABLE_H
#define OPS_VECTOR_PORTABLE_H
#include <math.h>

enum { LANES = 16, DOT_PAIRS = 1, PANEL_VECTORS = 1 };
typedef float Vec __attribute__((vector_size(64)));
typedef int32_t VecInt __attribute__((vector_size(64)));
typedef double VecDouble __attribute__((vector_size(64)));

INLINE Vec vec_set(float x)
{
    return (Vec){ x, x, x, x, x, x, x, x, x, x, x, x, x, x, x, x };
}

INLINE Vec vec_load(const Word *p)
{
    Vec v;
    memcpy(&v, p, sizeof v);
    return v;
}

INLINE void vec_store(Word *p, Vec v)
{
    memcpy(p, &v, sizeof v);
}

INLINE Vec vec_load_n(const Word *p, int64_t n)
{
    Vec v = { 0 };
    memcpy(&v, p, sizeof *p * (size_t)n);
    return v;
}

INLINE void vec_store_n(Word *p, int64_t n, Vec v)
{
    memcpy(p, &v, sizeof *p * (size_t)n);
}

INLINE void vec_stream(Word *p, Vec v)
{
    vec_store(p, v);
}

INLINE void vec_stream_end(void) {}

INLINE Vec vec_load_bf16_n(const bf16 *p, int64_t n)
{
    VecInt bits = { 0 };
    for (int i = 0; i < n; i++) bits[i] = (int32_t)((uint32_t)p[i] << 16);
    return (Vec)bits;
}

INLINE Vec vec_load_bf16(const bf16 *p)
{
    return vec_load_bf16_n(p, LANES);
}

INLINE void vec_store_bf16_n(bf16 *p, int64_t n, Vec v)
{
    for (int i = 0; i < n; i++) p[i] = bf16_of_float(v[i]);
}

INLINE void vec_store_bf16(bf16 *p, Vec v)
{
    vec_store_bf16_n(p, LANES, v);
}

INLINE VecInt vec_load_i16(const int16_t *p)
{
    VecInt v = { 0 };
    for (int i = 0; i < LANES; i++) v[i] = p[i];
    return v;
}

INLINE void vec_store_i16(int16_t *p, VecInt v)
{
    for (int i = 0; i < LANES; i++) p[i] = (int16_t)v[i];
}

INLINE Vec vec_fma(Vec a, Vec b, Vec c)
{
    return a * b + c;
}

INLINE Vec vec_fnma(Vec a, Vec b, Vec c)
{
    return c - a * b;
}

INLINE void vec_add_product(Vec *sum, Vec a, Vec b)
{
    *sum = vec_fma(a, b, *sum);
}

INLINE Vec vec_dot_pairs(Vec a, Vec b, Vec c)
{
    const VecInt odd = (VecInt){ 0 } + (int32_t)0xffff0000;
    c = vec_fma((Vec)((VecInt)a & odd), (Vec)((VecInt)b & odd), c);
    return vec_fma((Vec)((VecInt)a << 16), (Vec)((VecInt)b << 16), c);
}

INLINE Vec vec_pairs(const bf16 *even, const bf16 *odd)
{
    VecInt pairs = { 0 };
    for (int i = 0; i < LANES; i++) pairs[i] = (int32_t)(even[i] | (uint32_t)odd[i] << 16);
    return (Vec)pairs;
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
    VecInt first = a > b;
    return (Vec)((first & (VecInt)a) | (~first & (VecInt)b));
}

INLINE Vec vec_min(Vec a, Vec b)
{
    VecInt first = a < b;
    return (Vec)((first & (VecInt)a) | (~first & (VecInt)b));
}

INLINE Vec vec_sqrt(Vec v)
{
    for (int i = 0; i < LANES; i++) v[i] = sqrtf(v[i]);
    return v;
}

INLINE float vec_sum(Vec v)
{
    for (int half = LANES / 2; half; half /= 2)
        for (int i = 0; i < half; i++) v[i] += v[i + half];
    return v[0];
}

INLINE Vec vec_sums(const Vec v[LANES])
{
    Vec sums = { 0 };
    for (int i = 0; i < LANES; i++) sums[i] = vec_sum(v[i]);
    return sums;
}

INLINE float vec_largest(Vec v)
{
    for (int half = LANES / 2; half; half /= 2)
        for (int i = 0; i < half; i++) v[i] = v[i] > v[i + half] ? v[i] : v[i + half];
    return v[0];
}

INLINE VecDouble vec_low_double(Vec v)
{
    return (VecDouble){ v[0], v[1], v[2], v[3], v[4], v[5], v[6], v[7] };
}

INLINE VecDouble vec_high_double(Vec v)
{
    return (VecDouble){ v[8], v[9], v[10], v[11], v[12], v[13], v[14], v[15] };
}

INLINE void vec_transpose(Vec r[LANES])
{
    for (int i = 0; i < LANES; i++)
        for (int j = 0; j < i; j++) {
            float x = r[i][j];
            r[i][j] = r[j][i];
            r[j][i] = x;
        }
}

#endif
