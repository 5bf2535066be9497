/* nce.cu - contrastive loss over a batch and its gradient on a GPU. In scratch: the similarities
 * [n][n], and behind them the log-sum-exp of each row and of each column. */
#include "device/cuda/kernel.h"
extern "C" {
#include "ops/nce.h"
}

/* One launch; number[0] is where the logarithms begin in scratch, in bytes. */
struct Batch {
    const CallTensor *x, *y;
    int64_t n, d;
    bool symmetric;
    double temperature;
    float *s;
    double *row, *column; /* log-sum-exp */
};

__device__ static Batch batch_of(const Call &c)
{
    const Nce &a = attrs_of<Nce>(c);
    Batch b;
    b.x = &c.in[0], b.y = &c.in[1];
    b.n = b.x->size[0], b.d = b.x->size[1];
    b.symmetric = a.symmetric, b.temperature = a.temperature;
    b.s = (float *)c.scratch;
    b.row = (double *)((char *)c.scratch + c.number[0]);
    b.column = b.row + b.n;
    return b;
}

/* A warp per pair. */
KERNEL(nce_similarity_kernel, 256)
{
    const Batch b = batch_of(c);
    const int lane = threadIdx.x % WARP;
    for (int64_t i = thread_number() / WARP; i < b.n * b.n; i += all_threads() / WARP) {
        double dot = 0;
        for (int64_t k = lane; k < b.d; k += WARP)
            dot += (double)get(*b.x, i / b.n * b.d + k) * get(*b.y, i % b.n * b.d + k);
        dot = over_warp(dot, Sum());
        if (lane == 0) b.s[i] = (float)(dot / b.temperature);
    }
}

/* A warp per row, then one per column. */
KERNEL(nce_log_sum_kernel, 256)
{
    const Batch b = batch_of(c);
    const int lane = threadIdx.x % WARP;
    const int64_t lines = b.symmetric ? 2 * b.n : b.n;
    for (int64_t i = thread_number() / WARP; i < lines; i += all_threads() / WARP) {
        const bool is_row = i < b.n;
        const float *at = is_row ? b.s + i * b.n : b.s + i - b.n;
        const int64_t step = is_row ? 1 : b.n;
        float top = -INFINITY;
        for (int64_t j = lane; j < b.n; j += WARP) top = Largest()(top, at[j * step]);
        top = over_warp(top, Largest());
        if (isinf(top) && top < 0) top = 0;
        double sum = 0;
        for (int64_t j = lane; j < b.n; j += WARP) sum += exp((double)at[j * step] - top);
        sum = over_warp(sum, Sum());
        if (lane == 0) b.row[i] = sum == 0 ? -INFINITY : top + log(sum);
    }
}

KERNEL(nce_kernel, 256)
{
    const Batch b = batch_of(c);
    double loss = 0;
    for (int64_t i = threadIdx.x; i < b.n; i += blockDim.x) {
        const double own = b.s[i * b.n + i];
        loss += b.row[i] - own;
        if (b.symmetric) loss += b.column[i] - own;
    }
    loss = over_block(loss, Sum(), 0.0);
    if (threadIdx.x == 0) put_double(c.out[0], 0, loss / (double)b.n);
}

/* Similarities become their gradients. */
KERNEL(nce_slope_kernel, 256)
{
    const Batch b = batch_of(c);
    const double each = get_double(c.in[2], 0) / (double)b.n / b.temperature;
    for (int64_t i = thread_number(); i < b.n * b.n; i += all_threads()) {
        const int64_t row = i / b.n, column = i % b.n;
        double slope = exp(b.s[i] - b.row[row]) - (row == column);
        if (b.symmetric) slope += exp(b.s[i] - b.column[column]) - (row == column);
        b.s[i] = (float)(each * slope);
    }
}

/* A thread per element of x, then of y. */
KERNEL(nce_grad_kernel, 256)
{
    const Batch b = batch_of(c);
    for (int64_t i = thread_number(); i < 2 * b.n * b.d; i += all_threads()) {
        const bool is_x = i < b.n * b.d;
        const int64_t at = is_x ? i : i - b.n * b.d, row = at / b.d, k = at % b.d;
        const CallTensor &other = is_x ? *b.y : *b.x;
        const float *s = is_x ? b.s + row * b.n : b.s + row;
        double sum = 0;
        for (int64_t j = 0; j < b.n; j++)
            sum += (double)s[is_x ? j : j * b.n] * get(other, j * b.d + k);
        put(c.out[is_x ? 0 : 1], at, (float)sum);
    }
}
