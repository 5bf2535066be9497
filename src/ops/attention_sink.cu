/* attention_sink.cu - results of attention with a logit in the softmax that has no value, on a GPU.
 */
#include "device/cuda/kernel.h"

/* in: attention to some keys and its log-sum-exp, likewise of others. A warp per row. */
KERNEL(attention_join_kernel, 256)
{
    const int64_t d = c.in[0].size[4];
    for (int64_t row = thread_number() / WARP; row < c.in[1].count; row += all_threads() / WARP) {
        const double x = get(c.in[1], row), y = get(c.in[3], row), top = fmax(x, y);
        const bool any = top > -INFINITY;
        const double lse = any ? top + log1p(exp(-fabs(x - y))) : top;
        const float a = any ? (float)exp(x - lse) : 0, b = any ? (float)exp(y - lse) : 0;
        for (int64_t i = row * d + threadIdx.x % WARP; i < (row + 1) * d; i += WARP)
            put(c.out[0], i, a * get(c.in[0], i) + b * get(c.in[2], i));
        if (threadIdx.x % WARP == 0) put(c.out[1], row, (float)lse);
    }
}

/* A warp per row. */
KERNEL(attention_sink_kernel, 256)
{
    const CallTensor &o = c.in[0], &y = c.out[0];
    const int64_t d = o.size[4], n_heads = c.in[2].count;
    for (int64_t row = thread_number() / WARP; row < c.in[1].count; row += all_threads() / WARP) {
        const double s = get(c.in[2], row % n_heads), lse = get(c.in[1], row);
        const double sum = fmax(s, lse) + log1p(exp(-fabs(s - lse)));
        const float factor = (float)exp(lse - sum);
        for (int64_t i = row * d + threadIdx.x % WARP; i < (row + 1) * d; i += WARP)
            put(y, i, get(o, i) * factor);
        if (threadIdx.x % WARP == 0) put(c.out[1], row, (float)sum);
    }
}

/* A block per head, over its rows. in: o, lse, sink, gradient of o. */
KERNEL(attention_sink_grad_kernel, 256)
{
    const CallTensor &o = c.in[0], &dy = c.in[3];
    const int64_t d = o.size[4], n_heads = c.in[2].count, n = c.in[1].count;
    const int lane = threadIdx.x % WARP, warp = threadIdx.x / WARP;
    const float s = get(c.in[2], blockIdx.x);
    float sum = 0;
    for (int64_t row = blockIdx.x + n_heads * warp; row < n; row += n_heads * (blockDim.x / WARP)) {
        const float share = expf(s - get(c.in[1], row));
        for (int64_t e = lane; e < d; e += WARP)
            sum -= share * get(dy, row * d + e) * get(o, row * d + e);
    }
    sum = over_block(sum, Sum(), 0.0f);
    if (threadIdx.x == 0) put(c.out[0], blockIdx.x, sum);
}
