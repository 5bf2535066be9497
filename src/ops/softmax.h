/* softmax.h - what reference kernels of losses and attention share. */
#ifndef OPS_SOFTMAX_H
#define OPS_SOFTMAX_H
#include <math.h>
#include <stdint.h>

/* log(sum(exp(x))) without overflow: the largest number is taken out. Minus infinity for none; a
 * NaN stays. */
static inline double log_sum_exp(const double *x, int64_t n)
{
    double top = -INFINITY, sum = 0;
    for (int64_t i = 0; i < n; i++)
        if (x[i] > top) top = x[i];
    if (isinf(top) && top < 0) top = 0;
    for (int64_t i = 0; i < n; i++) sum += exp(x[i] - top);
    return sum == 0 ? -INFINITY : top + log(sum);
}
#endif
