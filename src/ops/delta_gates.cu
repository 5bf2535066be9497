/* delta_gates.cu - decays and rates of linear attention, on a GPU. */
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

/* The step that x + bias makes, and its slope there. */
__device__ static float step_of(const DeltaGatesAttrs &a, float x, float *slope)
{
    const float step = softplus_of(x);
    *slope = 0;
    if (step < (float)a.least_step) return (float)a.least_step;
    if (a.most_step > 0 && step > (float)a.most_step) return (float)a.most_step;
    *slope = sigmoid_of(x);
    return step;
}

/* As DeltaDecay in ops/delta_step.h. */
struct Decay {
    float fast, step, slope, by_speed;
};

__device__ static Decay decay_of(const DeltaGatesAttrs &a, float x, float fast)
{
    Decay d = { fast, 0, 0, 0 };
    if (a.bound > 0) {
        const float bound = (float)a.bound, s = sigmoid_of(fast * x);
        d.fast = 1;
        d.step = bound * s;
        d.slope = bound * s * (1 - s) * fast;
        d.by_speed = d.slope * x;
        return d;
    }
    d.step = d.by_speed = step_of(a, x, &d.slope);
    return d;
}

/* in: products for decays, speeds, biases, perhaps products for rates. A head has one decay, or, where
 * rates have products of their own, several. */
KERNEL(delta_gates_kernel, 256)
{
    const int64_t columns = c.in[2].count, of_head = columns / c.in[1].count;
    const DeltaGatesAttrs &a = attrs_of<DeltaGatesAttrs>(c);
    const bool has_rates = c.n_in == 4;
    for (int64_t i = thread_number(); i < c.in[0].count; i += all_threads()) {
        const Decay d = decay_of(a, get(c.in[0], i) + get(c.in[2], i % columns),
                                 expf(get(c.in[1], i % columns / of_head)));
        put(c.out[0], i, -d.fast * d.step);
        if (!has_rates) put(c.out[1], i, d.step);
        if (has_rates && i < c.in[3].count)
            put(c.out[1], i, (float)a.most * sigmoid_of(get(c.in[3], i)));
    }
}

/* A block per head. in: products for decays, speeds, biases, gradients of both results, perhaps
 * products for rates. */
KERNEL(delta_gates_grad_kernel, 256)
{
    const int64_t heads = c.in[1].count, columns = c.in[2].count, of_head = columns / heads,
                  h = blockIdx.x;
    const DeltaGatesAttrs &a = attrs_of<DeltaGatesAttrs>(c);
    const bool has_rates = c.n_in == 6;
    const float fast = expf(get(c.in[1], h));
    float of_speed = 0;
    for (int64_t k = h * of_head; k < (h + 1) * of_head; k++) {
        const float bias = get(c.in[2], k);
        float of_bias = 0;
        for (int64_t i = k + columns * threadIdx.x; i < c.in[0].count; i += columns * blockDim.x) {
            const Decay made = decay_of(a, get(c.in[0], i) + bias, fast);
            const float d = made.fast * get(c.in[3], i),
                        dx = ((has_rates ? 0 : get(c.in[4], i)) - d) * made.slope;
            put(c.out[0], i, dx);
            of_speed -= d * made.by_speed;
            of_bias += dx;
        }
        of_bias = over_block(of_bias, Sum(), 0.0f);
        if (threadIdx.x == 0) put(c.out[2], k, of_bias);
    }
    of_speed = over_block(of_speed, Sum(), 0.0f);
    if (threadIdx.x == 0) put(c.out[1], h, of_speed);
    for (int64_t i = h + heads * threadIdx.x; has_rates && i < c.in[4].count;
         i += heads * blockDim.x) {
        const float s = sigmoid_of(get(c.in[5], i));
        put(c.out[3], i, get(c.in[4], i) * (float)a.most * s * (1 - s));
    }
}
