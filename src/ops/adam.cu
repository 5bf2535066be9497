/* adam.cu - one step of Adam or AdamW on a GPU; rate, step and clipping factor are read there. */
#include "device/cuda/kernel.h"
extern "C" {
#include "ops/adam.h"
}

/* What is the same for all elements of a step. */
struct Step {
    float factor, beta1, decay, rate, unbias2;
    bool is_left_out;
};

/* By squaring, much sooner than by way of a logarithm. */
__device__ static double power(double base, int64_t n)
{
    double result = 1;
    for (; n > 0; n >>= 1, base *= base)
        if (n & 1) result *= base;
    return result;
}

/* Two warps compute one part each. */
__device__ static void set_step(const Call &c, const AdamSettings &a, Step *s)
{
    const Rate &rate = c.now->rate[a.group];
    const int64_t t = c.now->updates + 1;
    if (threadIdx.x == 0) {
        const double beta1 = rate.has_beta1 ? rate.beta1 : a.beta1;
        s->beta1 = (float)beta1;
        s->rate = (float)(rate.lr / (1 - power(beta1, t)));
    } else if (threadIdx.x == WARP) {
        s->is_left_out = is_left_out(c);
        s->factor = (float)*(const double *)c.in[4].data;
        s->decay = (float)(a.decoupled ? 1 - rate.lr * a.weight_decay : 1);
        s->unbias2 = (float)(1 / sqrt(1 - power(a.beta2, t)));
    }
}

/* Gradients are F32, and nothing is added to them here. */
__device__ static void clear_gradient(const CallTensor &grad)
{
    const int64_t n = grad.count, whole = is_aligned(grad) ? n / EIGHT * EIGHT : 0;
    const Eight zero = {};
    for (int64_t i = EIGHT * thread_number(); i < whole; i += EIGHT * all_threads())
        store_f32(grad.data, i, zero);
    for (int64_t i = whole + thread_number(); i < n; i += all_threads())
        ((float *)grad.data)[i] = 0;
}

/* Eight parameters and what belongs to them, as they lie in memory; param in halves: the high ones
 * and the low ones. */
struct EightNumbers {
    EightRaw param, grad, m, v;
};

__device__ static bool are_aligned(const Call &c, bool has_halves)
{
    return is_aligned(c.out[0]) && is_aligned(c.out[3]) && is_aligned(c.out[1]) &&
           is_aligned(c.out[2]) && (!has_halves || is_aligned(c.out[4]));
}

template <bool has_halves> __device__ static EightNumbers load_numbers(const Call &c, int64_t i)
{
    EightNumbers x;
    if constexpr (has_halves)
        x.param = { load_halves(c.out[0], i), load_halves(c.out[4], i) };
    else
        x.param = load_f32(c.out[0], i);
    x.grad = load_f32(c.out[3], i);
    x.m = load_eight(c.out[1], i);
    x.v = load_f32(c.out[2], i);
    return x;
}

__device__ static void update(const AdamSettings &a, const Step &s, float *param, float grad,
                              float *m, float *v)
{
    const float pull = a.decoupled ? 0 : (float)a.weight_decay;
    const float g = grad * s.factor + pull * *param;
    *m = s.beta1 * *m + (1 - s.beta1) * g;
    *v = (float)a.beta2 * *v + (float)(1 - a.beta2) * g * g;
    *param = *param * s.decay - s.rate * *m / (sqrtf(*v) * s.unbias2 + (float)a.eps);
}

template <bool has_halves>
__device__ static void update_eight(const Call &c, const AdamSettings &a, const Step &s, int64_t i,
                                    const EightNumbers &x)
{
    const Eight zero = {}, grad = widen_eight(F32, x.grad);
    Eight param = has_halves ? join_eight(x.param.low, x.param.high) : widen_eight(F32, x.param),
          m = widen_eight(c.out[1].dtype, x.m), v = widen_eight(F32, x.v);
#pragma unroll
    for (int k = 0; k < EIGHT; k++) update(a, s, &param.x[k], grad.x[k], &m.x[k], &v.x[k]);
    if (has_halves) {
        put_eight_high(c.out[0], i, EIGHT, param);
        put_eight_low(c.out[4], i, EIGHT, param);
    } else {
        store_f32(c.out[0].data, i, param);
    }
    if (c.out[1].dtype == BF16)
        store_bf16(c.out[1].data, i, m);
    else
        store_f32(c.out[1].data, i, m);
    store_f32(c.out[2].data, i, v);
    store_f32(c.out[3].data, i, zero);
}

template <bool has_halves>
__device__ static void update_one(const Call &c, const AdamSettings &a, const Step &s, int64_t i)
{
    uint16_t *high = (uint16_t *)c.out[0].data + i, *m16 = (uint16_t *)c.out[1].data + i;
    int16_t *low = (int16_t *)c.out[4].data + i;
    float *whole = (float *)c.out[0].data + i, *m32 = (float *)c.out[1].data + i,
          *v = (float *)c.out[2].data + i, *grad = (float *)c.out[3].data + i;
    const bool is_narrow = c.out[1].dtype == BF16;
    float param = has_halves ? float_of_halves(*high, *low) : *whole,
          m = is_narrow ? widen_bf16(*m16) : *m32;
    update(a, s, &param, *grad, &m, v);
    *grad = 0;
    if (has_halves)
        *high = high_half_of(param), *low = low_half_of(param);
    else
        *whole = param;
    if (is_narrow)
        *m16 = narrow_bf16(m);
    else
        *m32 = m;
}

/* in: param, grad, m, v, factor; out: param, m, v, grad; of a parameter in two halves also the low
 * one, as the last of both; all in place, so that results are inputs, too. The first numbers are under way while the step is
 * computed. */
template <bool has_halves> __device__ static void run_adam(const Call &c)
{
    __shared__ Step shared;
    const AdamSettings &a = attrs_of<AdamSettings>(c);
    const int64_t n = c.in[0].count, stride = EIGHT * all_threads();
    const int64_t whole = are_aligned(c, has_halves) ? n / EIGHT * EIGHT : 0;
    int64_t i = EIGHT * thread_number();
    EightNumbers x = {};
    if (i < whole) x = load_numbers<has_halves>(c, i);
    set_step(c, a, &shared);
    __syncthreads();
    const Step s = shared;
    if (s.is_left_out) {
        clear_gradient(c.out[3]);
        return;
    }
#pragma unroll 1
    while (i < whole) {
        update_eight<has_halves>(c, a, s, i, x);
        i += stride;
        if (i < whole) x = load_numbers<has_halves>(c, i);
    }
#pragma unroll 1
    for (i = whole + thread_number(); i < n; i += all_threads()) update_one<has_halves>(c, a, s, i);
}

/* For more threads than they are started with: with fewer registers more blocks run at once. */
KERNEL(adam_kernel, 768)
{
    run_adam<false>(c);
}

KERNEL(adam_halves_kernel, 768)
{
    run_adam<true>(c);
}
