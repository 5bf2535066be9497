/* vector_math.h - exp, sigmoid, tanh and the normal distribution on vectors.
 *
 * exp(x) = 2^n e^r with n = round(x / ln 2): |r| <= ln 2 / 2, where a polynomial of degree 6 is off
 * by 3e-9. exp is within one unit of the last place, the others within 3 (Phi 6), by the same steps
 * on every instruction set. NaN gives NaN. */
#ifndef OPS_VECTOR_MATH_H
#define OPS_VECTOR_MATH_H
#include "ops/vector/vector.h"

/* As floats; whoever measures exponents in units of log 2 goes back by the same number. */
static const float log2_e = 1.44269504f, log_2 = 0.693147181f;

/* Rounds by adding 1.5 * 2^23: the integer is then in the low bits, and is a float again when that
 * is taken away. |x| < 2^22. */
static const float round_magic = 12582912.0f;

INLINE VecInt vec_round_bits(Vec x)
{
    return vec_bits(x + vec_set(round_magic)) - vec_bits(vec_set(round_magic));
}

/* x less n ln 2; ln 2 in two parts, the first so short that its product with n is exact. */
INLINE Vec vec_exp_rest(Vec x, Vec n)
{
    return vec_fnma(n, vec_set(-2.12194440e-4f), vec_fnma(n, vec_set(0.693359375f), x));
}

/* (e^r - 1 - r) / r^2 for |r| <= ln 2 / 2. */
INLINE Vec vec_exp_tail(Vec r)
{
    Vec p = vec_fma(r, vec_set(1.38145401e-3f), vec_set(8.36874527e-3f));
    p = vec_fma(p, r, vec_set(4.16683908e-2f));
    p = vec_fma(p, r, vec_set(1.66665204e-1f));
    return vec_fma(p, r, vec_set(4.99999934e-1f));
}

/* 2^n for -126 <= n <= 127, 0 for -127; only the low 9 bits of n count. */
INLINE Vec vec_power_of_2(VecInt n)
{
    return vec_of_bits((n + 127) << 23);
}

/* e^x for `n` vectors in step: the chain of one is so long that several together hide it. 0 below
 * -86.5, infinity above 88.72. */
INLINE void vec_exp_each(Vec *x, const int n)
{
    enum { MOST = 8 };
    Vec rest[MOST], tail[MOST];
    VecInt power[MOST], large[MOST];
#pragma GCC unroll 8
    for (int i = 0; i < n; i++) large[i] = x[i] < vec_set(-86.5f);
#pragma GCC unroll 8
    for (int i = 0; i < n; i++)
        x[i] = vec_min(vec_set(89), vec_max(vec_set(-86.5f), x[i])); /* in this order NaN stays */
#pragma GCC unroll 8
    for (int i = 0; i < n; i++) rest[i] = vec_fma(x[i], vec_set(1.44269504f), vec_set(round_magic));
#pragma GCC unroll 8
    for (int i = 0; i < n; i++) power[i] = vec_bits(rest[i]) - vec_bits(vec_set(round_magic));
#pragma GCC unroll 8
    for (int i = 0; i < n; i++) rest[i] = vec_exp_rest(x[i], rest[i] - vec_set(round_magic));
#pragma GCC unroll 8
    for (int i = 0; i < n; i++) tail[i] = vec_exp_tail(rest[i]);
#pragma GCC unroll 8
    for (int i = 0; i < n; i++) {
        Vec p = vec_fma(rest[i] * rest[i], tail[i], rest[i]) + vec_set(1);
        p *= vec_power_of_2(power[i] - 1); /* half of it first: 2^128 is not a float */
        x[i] = vec_keep(~large[i], p + p);
    }
}

INLINE Vec vec_exp(Vec x)
{
    vec_exp_each(&x, 1);
    return x;
}

/* 2^x for `n` vectors in step, x <= 127: for exponents that never are large, such as differences to
 * a maximum. 0 below -126.5: there the power of 2 becomes the bits of 0. */
INLINE void vec_exp2_each(Vec *x, const int n)
{
    enum { MOST = 8 };
    Vec whole[MOST], p[MOST];
#pragma GCC unroll 8
    for (int i = 0; i < n; i++) x[i] = vec_max(vec_set(-127), x[i]); /* in this order NaN stays */
#pragma GCC unroll 8
    for (int i = 0; i < n; i++) whole[i] = x[i] + vec_set(round_magic);
#pragma GCC unroll 8
    for (int i = 0; i < n; i++) x[i] -= whole[i] - vec_set(round_magic);
#pragma GCC unroll 8
    for (int i = 0; i < n; i++) {
        p[i] = vec_fma(x[i], vec_set(1.53533103e-4f), vec_set(1.33989392e-3f));
        p[i] = vec_fma(p[i], x[i], vec_set(9.61843798e-3f));
        p[i] = vec_fma(p[i], x[i], vec_set(5.55033232e-2f));
        p[i] = vec_fma(p[i], x[i], vec_set(2.40226479e-1f));
        p[i] = vec_fma(p[i], x[i], vec_set(6.93147203e-1f));
        p[i] = vec_fma(p[i], x[i], vec_set(1));
    }
#pragma GCC unroll 8
    for (int i = 0; i < n; i++) x[i] = p[i] * vec_power_of_2(vec_bits(whole[i]));
}

/* e^x - 1 for |x| <= 60, exact near 0. */
INLINE Vec vec_expm1(Vec x)
{
    Vec n = vec_fma(x, vec_set(1.44269504f), vec_set(round_magic));
    VecInt power = vec_bits(n) - vec_bits(vec_set(round_magic));
    Vec r = vec_exp_rest(x, n - vec_set(round_magic)), s = vec_power_of_2(power);
    Vec less_one = vec_fma(r * r, vec_exp_tail(r), r);
    return vec_fma(s, less_one, s - vec_set(1));
}

/* 1 / (1 + e^-x). */
INLINE Vec vec_sigmoid(Vec x)
{
    return vec_set(1) / (vec_set(1) + vec_exp(-x));
}

/* log(1 + e^x): x where that is above 0, and with e = e^-|x| the logarithm of 1 + e, as the series
 * of 2 artanh(z) with z = e / (2 + e), which is at most a third. */
INLINE Vec vec_softplus(Vec x)
{
    const Vec e = vec_exp(-vec_max(x, -x)), z = e / (e + vec_set(2)), square = z * z;
    Vec p = vec_set(1.0f / 13);
    for (int k = 11; k > 0; k -= 2) p = vec_fma(p, square, vec_set(1.0f / (float)k));
    return vec_max(vec_set(0), x) + (z + z) * p; /* in this order NaN stays */
}

INLINE Vec vec_tanh(Vec x)
{
    Vec twice = vec_min(vec_set(40), vec_max(vec_set(-40), x + x));
    Vec e = vec_expm1(twice);
    return e / (e + vec_set(2));
}

/* The standard normal distribution: Phi(x), and its density. */
typedef struct Normal {
    Vec below, density;
} Normal;

/* The tail above |x| is the exponential of the density times R(|x|), which falls slowly like 1 / x:
 * a polynomial in (|x| - 3.8) / (|x| + 3.8) over |x| + 3.8. So small probabilities are as exact as
 * large ones. Beyond 14 they are 0. */
INLINE Normal vec_normal(Vec x)
{
    Vec size = vec_min(vec_set(14), vec_max(x, -x)); /* in this order NaN stays */
    Vec square = size * size;
    Vec lost = vec_fma(size, size, -square); /* by rounding; matters for large |x| */
    Vec e = vec_exp(square * vec_set(-0.5f));
    e = vec_fnma(e, lost * vec_set(0.5f), e);
    Vec d = vec_set(1) / (size + vec_set(3.8f)), w = (size - vec_set(3.8f)) * d;
    Vec p = vec_fma(w, vec_set(4.56758802e-4f), vec_set(7.28201428e-4f));
    p = vec_fma(p, w, vec_set(-4.21629371e-3f));
    p = vec_fma(p, w, vec_set(-2.81175707e-4f));
    p = vec_fma(p, w, vec_set(4.18846143e-2f));
    p = vec_fma(p, w, vec_set(-1.58578523e-1f));
    p = vec_fma(p, w, vec_set(3.60037943e-1f));
    p = vec_fma(p, w, vec_set(-5.92348081e-1f));
    p = vec_fma(p, w, vec_set(7.51357369e-1f));
    Vec above = e * (p * d);
    return (Normal){ vec_select(x > vec_set(0), vec_set(1) - above, above),
                     e * vec_set(0.398942280f) };
}

#endif
