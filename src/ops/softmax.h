/* softmax.h - what reference kernels of losses and attention share. */
#ifndef OPS_SOFTMAX_H
#define OPS_SOFTMAX_H
#include <math.h>
#include <stdint.h>

/* Minus infinity for none; a NaN is not seen. */
static inline double largest_of(const double *x, int64_t n)
{
    double top = -INFINITY;
    for (int64_t i = 0; i < n; i++)
        if (x[i] > top) top = x[i];
    return top;
}

static inline double sum_of_exp(const double *x, int64_t n, double from)
{
    double sum = 0;
    for (int64_t i = 0; i < n; i++) sum += exp(x[i] - from);
    return sum;
}

/* log(sum(exp(x))) without overflow: the largest number is taken out. Minus infinity for none; a
 * NaN stays. */
static inline double log_sum_exp(const double *x, int64_t n)
{
    double top = largest_of(x, n);
    if (isinf(top) && top < 0) top = 0;
    const double sum = sum_of_exp(x, n, top);
    return sum == 0 ? -INFINITY : top + log(sum);
}
#endif
