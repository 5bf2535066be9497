/* gradient_norm_fast.c - sum |x|, sum x^2 or max |x| of a gradient, in double precision.
 *
 * Every chunk has a sum of its own in scratch; they are added in order. */
#include "ops/gradient_norm.h"
#include "ops/kernels.h"
#include "ops/vector/chunks.h"
#include <math.h>

/* The sum of |x|, or of x^2. */
INLINE double sum_sizes(const Tensor *t, Range r, bool squares)
{
    VecDouble low = { 0 }, high = { 0 };
    for (int64_t i = r.from; i < r.to; i += LANES) {
        Vec x = vec_get(t->dtype, t->data, i, r.to - i < LANES ? r.to - i : LANES);
        if (!squares) x = vec_max(x, -x);
        VecDouble a = vec_low_double(x), b = vec_high_double(x);
        if (squares) a *= a, b *= b;
        low += a;
        high += b;
    }
    double sum = 0, lane[2][LANES / 2];
    memcpy(lane[0], &low, sizeof low);
    memcpy(lane[1], &high, sizeof high);
    for (int i = 0; i < LANES; i++) sum += lane[i / (LANES / 2)][i % (LANES / 2)];
    return sum;
}

/* The largest |x|; NaN if there is one. */
INLINE double largest_size(const Tensor *t, Range r)
{
    Vec largest = vec_set(0);
    VecInt nan = { 0 };
    for (int64_t i = r.from; i < r.to; i += LANES) {
        Vec x = vec_get(t->dtype, t->data, i, r.to - i < LANES ? r.to - i : LANES);
        largest = vec_max(vec_max(x, -x), largest);
        nan |= x != x;
    }
    if (vec_largest(vec_keep(nan, vec_of_bits(vec_int_set(1)))) > 0) return NAN;
    return vec_largest(largest);
}

static void partial_task(void *arg, int64_t i, int thread)
{
    (void)thread;
    const Launch *l = arg;
    int64_t p = ((const GradientNorm *)l->attrs)->p;
    Range r = chunk(tensor_count(&l->in[0]), CHUNK, i);
    double *part = (double *)l->scratch + i;
    if (p == 0)
        *part = largest_size(&l->in[0], r);
    else
        *part = sum_sizes(&l->in[0], r, p == 2);
}

static int run_norm_partial(const Launch *l)
{
    int64_t n = chunk_count(tensor_count(&l->in[0]), CHUNK);
    const double *part = l->scratch;
    double total = 0;
    pool_run(l->stream->pool, n, partial_task, (void *)l);
    for (int64_t i = 0; i < n; i++) {
        if (((const GradientNorm *)l->attrs)->p != 0)
            total += part[i];
        else if (part[i] > total || isnan(part[i]))
            total = part[i];
    }
    *(double *)l->out[0].data = total;
    return KERNEL_OK;
}

static size_t partial_scratch(const Launch *l, int n_threads)
{
    (void)n_threads;
    return sizeof(double) * (size_t)chunk_count(tensor_count(&l->in[0]), CHUNK);
}

const KernelDef TABLE[] = {
    { "norm_partial", "cpu", "f32>f64", LEVEL, run_norm_partial, partial_scratch, NULL },
    { "norm_partial", "cpu", "bf16>f64", LEVEL, run_norm_partial, partial_scratch, NULL },
    { 0 },
};
