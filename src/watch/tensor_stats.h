/* tensor_stats.h - what the numbers of a tensor are like. */
#ifndef WATCH_TENSOR_STATS_H
#define WATCH_TENSOR_STATS_H
#include "tensor/tensor.h"

/* Mean and standard deviation (of a sample, as torch's) over all elements; NaNs spread into them
 * and into min and max, as there. */
typedef struct TensorStats {
    int64_t n, n_nan, n_inf;
    double mean, std, min, max;
} TensorStats;

/* The tensor lies in host memory. */
TensorStats tensor_stats(const Tensor *t);
bool tensor_has_nan(const Tensor *t);
#endif
