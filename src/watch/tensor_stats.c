/* tensor_stats.c - counts, moments and bounds of a tensor's elements. */
#include "watch/tensor_stats.h"
#include <math.h>

TensorStats tensor_stats(const Tensor *t)
{
    TensorStats s = { .n = tensor_count(t), .min = INFINITY, .max = -INFINITY };
    double sum = 0, squares = 0;
    for (int64_t i = 0; i < s.n; i++) {
        double x = dtype_get(t->dtype, t->data, i);
        s.n_nan += isnan(x);
        s.n_inf += isinf(x);
        sum += x;
        if (x < s.min) s.min = x;
        if (x > s.max) s.max = x;
    }
    if (s.n_nan || !s.n) s.min = s.max = NAN;
    s.mean = sum / (double)s.n;
    for (int64_t i = 0; i < s.n; i++) {
        double d = dtype_get(t->dtype, t->data, i) - s.mean;
        squares += d * d;
    }
    s.std = sqrt(squares / (double)(s.n - 1));
    return s;
}

bool tensor_has_nan(const Tensor *t)
{
    if (!dtype_is_float(t->dtype)) return false;
    for (int64_t i = 0, n = tensor_count(t); i < n; i++)
        if (isnan(dtype_get(t->dtype, t->data, i))) return true;
    return false;
}
