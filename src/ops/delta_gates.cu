/* delta_gates.cu - decays and rates of the gated delta rule, on a GPU. */
#include "device/cuda/kernel.h"
#include "ops/delta_gates.h"

__device__ static float softplus_of(float x)
{
    return x > 30 ? x : log1pf(expf(x));
}

__device__ static float sigmoid_of(float x)
{
    return 1 / (1 + expf(-x));
}

/* in: products for decays and for rates, speeds, biases. */
KERNEL(delta_gates_kernel, 256)
{
    const int64_t heads = c.in[2].count;
    const float most = (float)attrs_of<DeltaGatesAttrs>(c).most;
    for (int64_t i = thread_number(); i < c.in[0].count; i += all_threads()) {
        const float x = get(c.in[0], i) + get(c.in[3], i % heads);
        put(c.out[0], i, -expf(get(c.in[2], i % heads)) * softplus_of(x));
        put(c.out[1], i, most * sigmoid_of(get(c.in[1], i)));
    }
}

/* A block per head. in: the same, gradients of both results. */
KERNEL(delta_gates_grad_kernel, 256)
{
    const int64_t heads = c.in[2].count, h = blockIdx.x;
    const float most = (float)attrs_of<DeltaGatesAttrs>(c).most, fast = expf(get(c.in[2], h)),
                bias = get(c.in[3], h);
    float of_speed = 0, of_bias = 0;
    for (int64_t i = h + heads * threadIdx.x; i < c.in[0].count; i += heads * blockDim.x) {
        const float x = get(c.in[0], i) + bias, s = sigmoid_of(get(c.in[1], i)),
                    d = fast * get(c.in[4], i), dx = -d * sigmoid_of(x);
        put(c.out[0], i, dx);
        put(c.out[1], i, get(c.in[5], i) * most * s * (1 - s));
        of_speed -= d * softplus_of(x);
        of_bias += dx;
    }
    of_speed = over_block(of_speed, Sum(), 0.0f);
    of_bias = over_block(of_bias, Sum(), 0.0f);
    if (threadIdx.x > 0) return;
    put(c.out[2], h, of_speed);
    put(c.out[3], h, of_bias);
}
