/* xielu.cu - x squared above 0, an exponential below, each by a learned factor, on a GPU. */
#include "device/cuda/kernel.h"
extern "C" {
#include "ops/xielu.h"
}

__device__ static float softplus(float x)
{
    return x > 30 ? x : log1pf(expf(x));
}

__device__ static float curve(float x)
{
    return expm1f(fminf(x, (float)XIELU_EPS)) - x;
}

KERNEL(xielu_kernel, 256)
{
    const CallTensor &x = c.in[0];
    const float p = softplus(get(c.in[1], 0)), beta = (float)XIELU_BETA,
                n = beta + softplus(get(c.in[2], 0));
    for (int64_t i = thread_number(); i < x.count; i += all_threads()) {
        const float v = get(x, i);
        put(c.out[0], i, (v > 0 ? p * v * v : n * curve(v)) + beta * v);
    }
}

/* Scratch: two sums of each block. in: x, alpha_p, alpha_n, gradient of the result. */
KERNEL(xielu_grad_kernel, 256)
{
    const CallTensor &x = c.in[0], &dy = c.in[3];
    const float p = softplus(get(c.in[1], 0)), beta = (float)XIELU_BETA,
                n = beta + softplus(get(c.in[2], 0));
    float above = 0, below = 0;
    for (int64_t i = thread_number(); i < x.count; i += all_threads()) {
        const float v = get(x, i), d = get(dy, i);
        const float slope = v > 0 ? 2 * p * v : n * (v < (float)XIELU_EPS ? expm1f(v) : -1.0f);
        put(c.out[0], i, d * (slope + beta));
        above += v > 0 ? d * v * v : 0;
        below += v > 0 ? 0 : d * curve(v);
    }
    above = over_block(above, Sum(), 0.0f);
    below = over_block(below, Sum(), 0.0f);
    if (threadIdx.x != 0) return;
    ((float *)c.scratch)[2 * blockIdx.x] = above;
    ((float *)c.scratch)[2 * blockIdx.x + 1] = below;
}

/* One block; number[0] is how many there were. */
KERNEL(xielu_grad_join_kernel, 256)
{
    double sum[2] = { 0, 0 };
    for (int k = 0; k < 2; k++) {
        for (int64_t i = threadIdx.x; i < c.number[0]; i += blockDim.x)
            sum[k] += ((const float *)c.scratch)[2 * i + k];
        sum[k] = over_block(sum[k], Sum(), 0.0);
        const float slope = 1 / (1 + expf(-get(c.in[1 + k], 0)));
        if (threadIdx.x == 0) put(c.out[1 + k], 0, (float)sum[k] * slope);
    }
}
