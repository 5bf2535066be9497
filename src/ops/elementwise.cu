/* elementwise.cu - sums, products and functions of single elements on a GPU. */
#include "device/cuda/kernel.h"
extern "C" {
#include "ops/elementwise.h"
#include "ops/fill.h"
#include "ops/logit_cap.h"
#include "ops/offset.h"
}

/* Eight elements at a time: z = f(x), f(x, y), or f(x, y, u). */
template <class F> __device__ void map_one(const Call &c, F f)
{
    const int64_t n = c.out[0].count;
    for (int64_t i = EIGHT * thread_number(); i < n; i += EIGHT * all_threads()) {
        Eight x = get_eight(c.in[0], i, n - i);
#pragma unroll
        for (int k = 0; k < EIGHT; k++) x.x[k] = f(x.x[k]);
        put_eight(c.out[0], i, n - i, x);
    }
}

template <class F> __device__ void map_two(const Call &c, F f)
{
    const int64_t n = c.out[0].count;
    for (int64_t i = EIGHT * thread_number(); i < n; i += EIGHT * all_threads()) {
        Eight x = get_eight(c.in[0], i, n - i);
        const Eight y = get_eight(c.in[1], i, n - i);
#pragma unroll
        for (int k = 0; k < EIGHT; k++) x.x[k] = f(x.x[k], y.x[k]);
        put_eight(c.out[0], i, n - i, x);
    }
}

__device__ static float sigmoid(float x)
{
    return 1 / (1 + expf(-x));
}

__device__ static float silu_slope(float x)
{
    const float s = sigmoid(x);
    return s * (1 + x * (1 - s));
}

/* erfc keeps the left tail of the normal distribution function exact. */
__device__ static float normal_share(float x)
{
    return 0.5f * erfcf(-x * 0.70710678118654752f);
}

__device__ static float normal_height(float x)
{
    return 0.3989422804014327f * expf(-0.5f * x * x);
}

__device__ static float tanh_argument(float x)
{
    return 0.7978845608028654f * (x + 0.044715f * x * x * x);
}

KERNEL(copy_kernel, 256)
{
    map_one(c, [](float x) { return x; });
}

KERNEL(add_kernel, 256)
{
    map_two(c, [](float x, float y) { return x + y; });
}

KERNEL(mul_kernel, 256)
{
    map_two(c, [](float x, float y) { return x * y; });
}

KERNEL(scale_kernel, 256)
{
    const float factor = (float)attrs_of<Scale>(c).factor;
    map_one(c, [=](float x) { return factor * x; });
}

KERNEL(silu_kernel, 256)
{
    map_one(c, [](float x) { return x * sigmoid(x); });
}

KERNEL(silu_grad_kernel, 256)
{
    map_two(c, [](float x, float dz) { return dz * silu_slope(x); });
}

KERNEL(gelu_kernel, 256)
{
    map_one(c, [](float x) { return x * normal_share(x); });
}

KERNEL(gelu_grad_kernel, 256)
{
    map_two(c, [](float x, float dz) { return dz * (normal_share(x) + x * normal_height(x)); });
}

KERNEL(gelu_tanh_kernel, 256)
{
    map_one(c, [](float x) { return 0.5f * x * (1 + tanhf(tanh_argument(x))); });
}

KERNEL(gelu_tanh_grad_kernel, 256)
{
    map_two(c, [](float x, float dz) {
        const float t = tanhf(tanh_argument(x));
        const float slope = 0.7978845608028654f * (1 + 3 * 0.044715f * x * x);
        return dz * (0.5f * (1 + t) + 0.5f * x * (1 - t * t) * slope);
    });
}

KERNEL(offset_kernel, 256)
{
    const float by = (float)attrs_of<Offset>(c).by;
    map_one(c, [=](float x) { return x + by; });
}

KERNEL(logit_cap_kernel, 256)
{
    const float cap = (float)attrs_of<LogitCap>(c).cap;
    map_one(c, [=](float x) { return cap * tanhf(x / cap); });
}

KERNEL(logit_cap_grad_kernel, 256)
{
    const float cap = (float)attrs_of<LogitCap>(c).cap;
    map_two(c, [=](float y, float dy) { return dy * (1 - y / cap * (y / cap)); });
}

KERNEL(swiglu_kernel, 256)
{
    map_two(c, [](float gate, float up) { return gate * sigmoid(gate) * up; });
}

KERNEL(swiglu_grad_kernel, 256)
{
    const int64_t n = c.out[0].count;
    for (int64_t i = EIGHT * thread_number(); i < n; i += EIGHT * all_threads()) {
        const Eight gate = get_eight(c.in[0], i, n - i), up = get_eight(c.in[1], i, n - i),
                    dz = get_eight(c.in[2], i, n - i);
        Eight dgate, dup;
#pragma unroll
        for (int k = 0; k < EIGHT; k++) {
            dgate.x[k] = dz.x[k] * up.x[k] * silu_slope(gate.x[k]);
            dup.x[k] = dz.x[k] * gate.x[k] * sigmoid(gate.x[k]);
        }
        put_eight(c.out[0], i, n - i, dgate);
        put_eight(c.out[1], i, n - i, dup);
    }
}

KERNEL(fill_kernel, 256)
{
    const double value = attrs_of<Fill>(c).value;
    const int64_t n = c.out[0].count;
    for (int64_t i = thread_number(); i < n; i += all_threads()) put_double(c.out[0], i, value);
}

KERNEL(loss_seed_kernel, 32)
{
    if (threadIdx.x == 0) put_double(c.out[0], 0, c.now->loss_scale);
}

/* Between any two dtypes, one element at a time: integers, and floats of 64 bits. */
KERNEL(high_half_kernel, 256)
{
    const int64_t n = c.out[0].count;
    for (int64_t i = EIGHT * thread_number(); i < n; i += EIGHT * all_threads())
        put_eight_high(c.out[0], i, n - i, get_eight(c.in[0], i, n - i));
}

KERNEL(join_halves_kernel, 256)
{
    const int64_t n = c.out[0].count;
    for (int64_t i = EIGHT * thread_number(); i < n; i += EIGHT * all_threads())
        put_eight(c.out[0], i, n - i, get_eight_joined(c.in[0], c.in[1], i, n - i));
}

KERNEL(convert_kernel, 256)
{
    const int64_t n = c.out[0].count;
    for (int64_t i = thread_number(); i < n; i += all_threads())
        put_double(c.out[0], i, get_double(c.in[0], i));
}
