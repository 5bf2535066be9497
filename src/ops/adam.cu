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

/* A thread has four numbers of each of two rows, a warp whole rows: so each load and store of a
 * warp takes whole lines of memory, though most numbers have 32 bits. */
constexpr int QUAD = 4, ROW = QUAD * WARP, ROWS = 2;

/* Parameters and what belongs to them, as they lie in memory; param in halves: two words of high
 * ones and two of low ones; m in bf16: two words. */
struct QuadNumbers {
    uint4 param, grad, m, v;
};

__device__ static bool are_aligned(const Call &c, bool has_halves)
{
    return is_aligned(c.out[0]) && is_aligned(c.out[3]) && is_aligned(c.out[1]) &&
           is_aligned(c.out[2]) && (!has_halves || is_aligned(c.out[4]));
}

__device__ static uint4 load_words(const CallTensor &t, int64_t i)
{
    return *(const uint4 *)((const float *)t.data + i);
}

__device__ static uint2 load_quad_of_halves(const CallTensor &t, int64_t i)
{
    return *(const uint2 *)((const uint16_t *)t.data + i);
}

template <bool has_halves> __device__ static QuadNumbers load_numbers(const Call &c, int64_t i)
{
    QuadNumbers x;
    if constexpr (has_halves) {
        const uint2 high = load_quad_of_halves(c.out[0], i), low = load_quad_of_halves(c.out[4], i);
        x.param = make_uint4(high.x, high.y, low.x, low.y);
    } else {
        x.param = load_words(c.out[0], i);
    }
    x.grad = load_words(c.out[3], i);
    if (c.out[1].dtype == BF16) {
        const uint2 m = load_quad_of_halves(c.out[1], i);
        x.m = make_uint4(m.x, m.y, 0, 0);
    } else {
        x.m = load_words(c.out[1], i);
    }
    x.v = load_words(c.out[2], i);
    return x;
}

/* Of one row after the other, as far as there are. */
template <bool has_halves>
__device__ static void load_rows(const Call &c, int64_t i, int64_t whole, QuadNumbers *x)
{
#pragma unroll
    for (int r = 0; r < ROWS; r++)
        if (i + r * ROW < whole) x[r] = load_numbers<has_halves>(c, i + r * ROW);
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

/* The k-th of the numbers of 16 bits in two words. */
__device__ static uint16_t half_of(uint32_t first, uint32_t second, int k)
{
    return (uint16_t)((k < 2 ? first : second) >> k % 2 * 16);
}

__device__ static uint2 packed_halves(const uint16_t *x)
{
    return make_uint2(x[0] | (uint32_t)x[1] << 16, x[2] | (uint32_t)x[3] << 16);
}

__device__ static uint4 words_of(const float *x)
{
    uint4 words;
    memcpy(&words, x, sizeof words);
    return words;
}

template <bool has_halves>
__device__ static void store_param(const Call &c, int64_t i, const float *param)
{
    if constexpr (has_halves) {
        uint16_t high[QUAD], low[QUAD];
#pragma unroll
        for (int k = 0; k < QUAD; k++) {
            high[k] = high_half_of(param[k]);
            low[k] = (uint16_t)low_half_of(param[k]);
        }
        *(uint2 *)((uint16_t *)c.out[0].data + i) = packed_halves(high);
        *(uint2 *)((uint16_t *)c.out[4].data + i) = packed_halves(low);
    } else {
        store_16_bytes((float *)c.out[0].data + i, words_of(param));
    }
}

template <bool has_halves>
__device__ static void update_quad(const Call &c, const AdamSettings &a, const Step &s, int64_t i,
                                   const QuadNumbers &x)
{
    const bool is_narrow = c.out[1].dtype == BF16;
    float param[QUAD], grad[QUAD], m[QUAD], v[QUAD];
    memcpy(param, &x.param, sizeof param);
    memcpy(grad, &x.grad, sizeof grad);
    memcpy(m, &x.m, sizeof m);
    memcpy(v, &x.v, sizeof v);
#pragma unroll
    for (int k = 0; k < QUAD; k++) {
        if (has_halves)
            param[k] = float_of_halves(half_of(x.param.x, x.param.y, k),
                                       (int16_t)half_of(x.param.z, x.param.w, k));
        if (is_narrow) m[k] = widen_bf16(half_of(x.m.x, x.m.y, k));
        update(a, s, &param[k], grad[k], &m[k], &v[k]);
    }
    store_param<has_halves>(c, i, param);
    if (is_narrow)
        *(uint2 *)((uint16_t *)c.out[1].data + i) =
            make_uint2(narrow_bf16_pair(m[0], m[1]), narrow_bf16_pair(m[2], m[3]));
    else
        store_16_bytes((float *)c.out[1].data + i, words_of(m));
    store_16_bytes((float *)c.out[2].data + i, words_of(v));
    store_16_bytes((float *)c.out[3].data + i, make_uint4(0, 0, 0, 0));
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
 * one, as the last of both; all in place, so that results are inputs, too. The first numbers are
 * under way while the step is computed. */
template <bool has_halves> __device__ static void run_adam(const Call &c)
{
    __shared__ Step shared;
    const AdamSettings &a = attrs_of<AdamSettings>(c);
    const int64_t n = c.in[0].count, stride = ROWS * QUAD * all_threads();
    const int64_t whole = are_aligned(c, has_halves) ? n / QUAD * QUAD : 0;
    int64_t i = thread_number() / WARP * (ROWS * ROW) + threadIdx.x % WARP * QUAD;
    QuadNumbers x[ROWS] = {};
    load_rows<has_halves>(c, i, whole, x);
    set_step(c, a, &shared);
    __syncthreads();
    const Step s = shared;
    if (s.is_left_out) {
        clear_gradient(c.out[3]);
        return;
    }
#pragma unroll 1
    while (i < whole) {
#pragma unroll
        for (int r = 0; r < ROWS; r++)
            if (i + r * ROW < whole) update_quad<has_halves>(c, a, s, i + r * ROW, x[r]);
        i += stride;
        load_rows<has_halves>(c, i, whole, x);
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
