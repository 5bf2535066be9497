/* vector.h - a vector of floats, the same in source for every instruction set.
 *
 * Every src/ops file named *_fast.c is compiled once per instruction set, with LEVEL telling which.
 * It writes its loops over Vec, LANES floats wide; + - * / and comparisons (giving VecInt masks of
 * -1 and 0) are the compiler's own, the rest are the functions of the header chosen here. The
 * portable one has as many lanes as AVX-512, so that the AVX-512 algorithms run everywhere. */
#ifndef OPS_VECTOR_H
#define OPS_VECTOR_H
#include "tensor/dtype.h"
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

/* The level of kernels that multiply bf16: with instructions for them, in pairs. */
#define PRODUCT_LEVEL (LEVEL == CPU_AVX512_BF16 ? CPU_AVX512_PAIRS : LEVEL)
/* Kernels are specialised by inlining with constant arguments. */
#define INLINE static inline __attribute__((always_inline, unused))
/* Loops that need all registers get a function of their own, compiled without a look at its
 * callers: what GCC knows from there makes it move accumulators in and out of memory. */
#ifdef __clang__
#define NOINLINE static __attribute__((noinline, unused))
#else
#define NOINLINE static __attribute__((noipa, unused))
#endif

/* Any 32 bits in memory: a float, or two bf16 that belong together. May lie at any address. */
typedef float Word __attribute__((may_alias, aligned(2)));

#if defined(__AVX512F__)
#include "ops/vector/vector_avx512.h"
#elif defined(__AVX2__)
#include "ops/vector/vector_avx2.h"
#else
#include "ops/vector/vector_portable.h"
#endif

#if defined(__AVX2__) && !defined(__AVX512BF16__)
/* Where no instruction multiplies pairs; matrix kernels widen bf16 to f32 before instead. */
INLINE Vec vec_dot_pairs(Vec a, Vec b, Vec c)
{
    const VecInt odd = (VecInt){ 0 } + (int32_t)0xffff0000;
    c = vec_fma((Vec)((VecInt)a & odd), (Vec)((VecInt)b & odd), c);
    return vec_fma((Vec)((VecInt)a << 16), (Vec)((VecInt)b << 16), c);
}
#endif

INLINE VecInt vec_bits(Vec v)
{
    return (VecInt)v;
}

INLINE Vec vec_of_bits(VecInt bits)
{
    return (Vec)bits;
}

/* `yes` where the mask is set, else `no`. */
INLINE Vec vec_select(VecInt mask, Vec yes, Vec no)
{
    return (Vec)((mask & (VecInt)yes) | (~mask & (VecInt)no));
}

/* `v` where the mask is set, else 0. */
INLINE Vec vec_keep(VecInt mask, Vec v)
{
    return (Vec)(mask & (VecInt)v);
}

INLINE VecInt vec_int_set(int32_t i)
{
    return (VecInt){ 0 } + i;
}

/* The first n <= LANES of a vector; lanes beyond are 0. */
INLINE Vec vec_keep_first(Vec v, int64_t n)
{
    if (n >= LANES) return v;
    float lane[LANES];
    vec_store((Word *)lane, v);
    return vec_load_n((const Word *)lane, n);
}

/* The number of each lane. */
INLINE VecInt vec_lanes(void)
{
    static const int32_t lane[16] = { 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15 };
    return vec_bits(vec_load((const Word *)lane));
}

/* The first n <= LANES of 16-bit integers; lanes beyond are 0. */
INLINE VecInt vec_get_i16(const int16_t *p, int64_t n)
{
    int16_t whole[LANES] = { 0 };
    if (n < LANES) {
        for (int k = 0; k < n; k++) whole[k] = p[k];
        p = whole;
    }
    return vec_load_i16(p);
}

/* Writes lanes [0, n), whose numbers have 16 bits. */
INLINE void vec_put_i16(int16_t *p, int64_t n, VecInt v)
{
    int16_t whole[LANES];
    vec_store_i16(n < LANES ? whole : p, v);
    for (int k = 0; n < LANES && k < n; k++) p[k] = whole[k];
}

/* tensor/halves.h: the bits of both halves, as signed numbers. */
INLINE VecInt vec_high_half(Vec v)
{
    const VecInt bits = vec_bits(v), is_nan = v != v, high = bits >> 16;
    return (~is_nan & (high + (bits >> 15 & 1))) | (is_nan & (high | 0x40));
}

INLINE VecInt vec_low_half(Vec v)
{
    return vec_bits(v) << 16 >> 16;
}

/* Elements [i, i + n) of an array of F32 or BF16, n <= LANES; lanes beyond are 0. */
INLINE Vec vec_get(Dtype t, const void *data, int64_t i, int64_t n)
{
    if (t == BF16) {
        const bf16 *p = (const bf16 *)data + i;
        return n >= LANES ? vec_load_bf16(p) : vec_load_bf16_n(p, n);
    }
    const float *p = (const float *)data + i;
    return n >= LANES ? vec_load(p) : vec_load_n(p, n);
}

/* Writes lanes [0, n) to elements [i, i + n) of an array of F32 or BF16. */
INLINE void vec_put(Dtype t, void *data, int64_t i, int64_t n, Vec v)
{
    if (t == BF16) {
        bf16 *p = (bf16 *)data + i;
        if (n >= LANES)
            vec_store_bf16(p, v);
        else
            vec_store_bf16_n(p, n, v);
        return;
    }
    float *p = (float *)data + i;
    if (n >= LANES)
        vec_store(p, v);
    else
        vec_store_n(p, n, v);
}

/* Elements [i, i + n) of numbers in two halves. */
INLINE Vec vec_joined(const void *high, const void *low, int64_t i, int64_t n)
{
    const VecInt bits = vec_bits(vec_get(BF16, high, i, n));
    return vec_of_bits(bits + vec_get_i16((const int16_t *)low + i, n));
}

#endif
