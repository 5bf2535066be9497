/* adam.cu - one step of Adam or AdamW on a GPU; rate, step and clipping factor are read there. */
#include "device/cuda/kernel.h"
extern "C" {
#include "ops/adam.h"
}

/* What is the same for all elements of a step. */
struct Step {
    float factor, beta1, decay, rate, unbias2;
};

__device__ static Step step_of(const Call &c, const AdamSettings &a)
{
    const RunTime *now = c.now;
    const Rate &rate = now->rate[a.group];
    const double t = (double)now->updates + 1, beta1 = rate.has_beta1 ? rate.beta1 : a.beta1;
    Step s;
    s.factor = (float)get_double(c.in[4], 0);
    s.beta1 = (float)beta1;
    s.decay = (float)(a.decoupled ? 1 - rate.lr * a.weight_decay : 1);
    s.rate = (float)(rate.lr / (1 - exp(t * log(beta1))));
    s.unbias2 = (float)(1 / sqrt(1 - exp(t * log(a.beta2))));
    return s;
}

__device__ static void clear_gradient(const CallTensor &grad)
{
    const Eight zero = {};
    for (int64_t i = EIGHT * thread_number(); i < grad.count; i += EIGHT * all_threads())
        put_eight(grad, i, grad.count - i, zero);
}

/* in: param, grad, m, v, factor; out: param, m, v, grad; of a parameter in two halves also the low
 * one, as the last of both. */
template <bool has_halves> __device__ static void run_adam(const Call &c)
{
    __shared__ Step shared;
    if (is_left_out(c)) {
        clear_gradient(c.out[3]);
        return;
    }
    const AdamSettings &a = attrs_of<AdamSettings>(c);
    if (threadIdx.x == 0) shared = step_of(c, a);
    __syncthreads();
    const Step s = shared;
    const float beta2 = (float)a.beta2, eps = (float)a.eps,
                pull = a.decoupled ? 0 : (float)a.weight_decay;
    const float rest1 = 1 - s.beta1, rest2 = (float)(1 - a.beta2);
    const int64_t n = c.in[0].count;
    for (int64_t i = EIGHT * thread_number(); i < n; i += EIGHT * all_threads()) {
        Eight param = has_halves ? get_eight_joined(c.in[0], c.in[5], i, n - i)
                                 : get_eight(c.in[0], i, n - i),
              grad = get_eight(c.in[1], i, n - i), m = get_eight(c.in[2], i, n - i),
              v = get_eight(c.in[3], i, n - i);
#pragma unroll
        for (int k = 0; k < EIGHT; k++) {
            const float g = grad.x[k] * s.factor + pull * param.x[k];
            m.x[k] = s.beta1 * m.x[k] + rest1 * g;
            v.x[k] = beta2 * v.x[k] + rest2 * g * g;
            param.x[k] = param.x[k] * s.decay - s.rate * m.x[k] / (sqrtf(v.x[k]) * s.unbias2 + eps);
            grad.x[k] = 0;
        }
        if (has_halves) {
            put_eight_high(c.out[0], i, n - i, param);
            put_eight_low(c.out[4], i, n - i, param);
        } else {
            put_eight(c.out[0], i, n - i, param);
        }
        put_eight(c.out[1], i, n - i, m);
        put_eight(c.out[2], i, n - i, v);
        put_eight(c.out[3], i, n - i, grad);
    }
}

KERNEL(adam_kernel, 256)
{
    run_adam<false>(c);
}

KERNEL(adam_halves_kernel, 256)
{
    run_adam<true>(c);
}
