/* rng_normal.h - standard normal numbers, one or many at a time. */
#ifndef BASE_RNG_NORMAL_H
#define BASE_RNG_NORMAL_H
#include "base/rng.h"
#include <math.h>

/* Acklam's rational approximation of the inverse normal distribution; relative error below 1.2e-9.
 * Outside of the tails it needs no transcendental function. */
#define NORMAL_TAIL 0.02425

static inline double normal_centre(double p)
{
    static const double a[] = { -3.969683028665376e+01, 2.209460984245205e+02,
                                -2.759285104469687e+02, 1.383577518672690e+02,
                                -3.066479806614716e+01, 2.506628277459239e+00 };
    static const double b[] = { -5.447609879822406e+01, 1.615858368580409e+02,
                                -1.556989798598866e+02, 6.680131188771972e+01,
                                -1.328068155288572e+01 };
    const double q = p - 0.5, r = q * q;
    return (((((a[0] * r + a[1]) * r + a[2]) * r + a[3]) * r + a[4]) * r + a[5]) * q /
           (((((b[0] * r + b[1]) * r + b[2]) * r + b[3]) * r + b[4]) * r + 1);
}

static inline double normal_quantile(double p)
{
    static const double c[] = { -7.784894002430293e-03, -3.223964580411365e-01,
                                -2.400758277161838e+00, -2.549732539343734e+00,
                                4.374664141464968e+00,  2.938163982698783e+00 };
    static const double d[] = { 7.784695709041462e-03, 3.224671290700398e-01, 2.445134137142996e+00,
                                3.754408661907416e+00 };
    if (p <= 0) return -INFINITY;
    if (p >= 1) return INFINITY;
    if (p >= NORMAL_TAIL && p <= 1 - NORMAL_TAIL) return normal_centre(p);
    const double q = sqrt(-2 * log(p < 0.5 ? p : 1 - p));
    const double x = (((((c[0] * q + c[1]) * q + c[2]) * q + c[3]) * q + c[4]) * q + c[5]) /
                     ((((d[0] * q + d[1]) * q + d[2]) * q + d[3]) * q + 1);
    return p > 0.5 ? -x : x;
}

static inline double normal_share(uint64_t key, uint64_t i)
{
    return ((double)(rng_bits(key, i) >> 11) + 0.5) * 0x1p-53;
}

/* rng_normals for one instruction set; n is at most RNG_NORMALS. */
typedef void RngNormals(uint64_t key, uint64_t from, int64_t n, double *to);
RngNormals rng_normal_scalar, rng_normal_avx2, rng_normal_avx512;
#endif
