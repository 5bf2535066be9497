/* hyper_sinkhorn.h - the weights of a token's streams and their gradients, for all kernels; on a
 * GPU as well. */
#ifndef OPS_HYPER_SINKHORN_H
#define OPS_HYPER_SINKHORN_H
#include "ops/hyper.h"
#include <math.h>
#include <stdint.h>

#ifdef __CUDACC__
#define HYPER_INLINE __host__ __device__ static inline
#else
#define HYPER_INLINE static inline
#endif

/* Divisors that a token keeps on the way: those of each step, rows or columns. */
HYPER_INLINE int64_t hyper_divisors(const HyperWeights *a)
{
    return a->reads_alone || !a->iterations ? 0 : (2 * a->iterations - 1) * a->streams;
}

/* Of element i of a token's numbers: 0 where it is of reading, 1 of writing, 2 of the mix. */
HYPER_INLINE int hyper_part(const HyperWeights *a, int64_t i)
{
    return i < a->streams ? 0 : i < 2 * a->streams ? 1 : 2;
}

HYPER_INLINE double hyper_sigmoid(double x)
{
    return 1 / (1 + exp(-x));
}

/* Added to weights of writing. */
HYPER_INLINE double hyper_write_eps(const HyperWeights *a)
{
    return a->iterations ? 0 : a->eps;
}

/* c [k k] has its rows or columns divided by their sums and eps, which go to `by` [k]. */
HYPER_INLINE void hyper_divide(double *c, int64_t k, bool columns, double eps, double *by)
{
    const int64_t line = columns ? 1 : k, along = columns ? k : 1;
    for (int64_t i = 0; i < k; i++) {
        by[i] = eps;
        for (int64_t j = 0; j < k; j++) by[i] += c[i * line + j * along];
        for (int64_t j = 0; j < k; j++) c[i * line + j * along] /= by[i];
    }
}

/* From the gradient dc of quotients c that of what was divided, which c becomes. */
HYPER_INLINE void hyper_undivide(double *c, double *dc, int64_t k, bool columns, const double *by)
{
    const int64_t line = columns ? 1 : k, along = columns ? k : 1;
    for (int64_t i = 0; i < k; i++) {
        double sum = 0;
        for (int64_t j = 0; j < k; j++) sum += c[i * line + j * along] * dc[i * line + j * along];
        for (int64_t j = 0; j < k; j++) {
            dc[i * line + j * along] = (dc[i * line + j * along] - sum) / by[i];
            c[i * line + j * along] *= by[i];
        }
    }
}

/* The weights y [m] of a token from its logits, which y has. `by`: hyper_divisors numbers. */
HYPER_INLINE void hyper_forward(const HyperWeights *a, double *y, double *by)
{
    const int64_t k = a->streams;
    for (int64_t i = 0; i < k; i++) y[i] = hyper_sigmoid(y[i]) + a->eps;
    if (a->reads_alone) return;
    for (int64_t i = k; i < 2 * k; i++)
        y[i] = a->write_scale * hyper_sigmoid(y[i]) + hyper_write_eps(a);
    if (!a->iterations) return;
    double *c = y + 2 * k;
    for (int64_t i = 0; i < k; i++) {
        double top = c[i * k], sum = 0;
        for (int64_t j = 1; j < k; j++) top = fmax(top, c[i * k + j]);
        for (int64_t j = 0; j < k; j++) sum += c[i * k + j] = exp(c[i * k + j] - top);
        for (int64_t j = 0; j < k; j++) c[i * k + j] = c[i * k + j] / sum + a->eps;
    }
    for (int64_t step = 0; step < 2 * a->iterations - 1; step++)
        hyper_divide(c, k, step % 2 == 0, a->eps, by + step * k);
}

/* From the weights y [m] and divisors that hyper_forward gave, the gradient dy [m] becomes that of
 * the logits. */
HYPER_INLINE void hyper_backward(const HyperWeights *a, double *y, double *dy, const double *by)
{
    const int64_t k = a->streams;
    for (int64_t i = 0; i < k; i++) dy[i] *= (y[i] - a->eps) * (1 - (y[i] - a->eps));
    if (a->reads_alone) return;
    for (int64_t i = k; i < 2 * k; i++) {
        const double s = y[i] - hyper_write_eps(a);
        dy[i] *= s * (1 - s / a->write_scale);
    }
    if (!a->iterations) return;
    double *c = y + 2 * k, *dc = dy + 2 * k;
    for (int64_t step = 2 * a->iterations - 2; step >= 0; step--)
        hyper_undivide(c, dc, k, step % 2 == 0, by + step * k);
    for (int64_t i = 0; i < k; i++) {
        double sum = 0;
        for (int64_t j = 0; j < k; j++) sum += (c[i * k + j] - a->eps) * dc[i * k + j];
        for (int64_t j = 0; j < k; j++)
            dc[i * k + j] = (c[i * k + j] - a->eps) * (dc[i * k + j] - sum);
    }
}
#endif
