/* elementwise.cu - sums, products and functions of single elements on a GPU. */
#include "device/cuda/kernel.h"
extern "C" {
#include "ops/clamped_swiglu.h"
#include "ops/clip.h"
#include "ops/elementwise.h"
#include "ops/fill.h"
#include "ops/logit_cap.h"
#include "ops/offset.h"
}

/* How exact a function must be: to a few units of the last place of a float, also where it is
 * small; or, where the result has 16 bits, to 2^-14 of itself. */
struct Exact {
};
struct Quick {
};

template <class How, class F> __device__ inline float apply(How how, F f, const float (&x)[1])
{
    return f(how, x[0]);
}

template <class How, class F> __device__ inline float apply(How how, F f, const float (&x)[2])
{
    return f(how, x[0], x[1]);
}

template <int N_IN, class How, class F>
__device__ inline Eight map_eight(How how, F f, const Eight (&x)[N_IN])
{
    Eight z;
#pragma unroll
    for (int k = 0; k < EIGHT; k++) {
        float each[N_IN];
#pragma unroll
        for (int j = 0; j < N_IN; j++) each[j] = x[j].x[k];
        z.x[k] = apply(how, f, each);
    }
    return z;
}

template <int N_IN> __device__ inline bool all_have_eights(const Call &c)
{
    bool have = true;
#pragma unroll
    for (int k = 0; k < N_IN; k++) have &= has_eights(c.in[k]);
    return have;
}

template <int N_IN> __device__ inline bool all_are_bf16(const Call &c)
{
    bool are = true;
#pragma unroll
    for (int k = 0; k < N_IN; k++) are &= c.in[k].dtype == BF16;
    return are;
}

/* Eight elements of every input, all loaded before the first is used. */
template <int N_IN> __device__ inline void load_all(const Call &c, int64_t i, Eight (&x)[N_IN])
{
    EightRaw raw[N_IN];
#pragma unroll
    for (int k = 0; k < N_IN; k++) raw[k] = load_eight(c.in[k], i);
#pragma unroll
    for (int k = 0; k < N_IN; k++) x[k] = widen_eight(c.in[k].dtype, raw[k]);
}

/* What a thread takes of a tile of bf16. */
constexpr int TILE_EIGHTS = 2;

/* A tile that is all there. With the dtype known, few registers hold many bytes under way. */
template <int N_IN, class How, class F>
__device__ inline void map_tile(const Call &c, int64_t from, How how, F f)
{
    uint4 raw[TILE_EIGHTS][N_IN];
    const int stride = EIGHT * (int)blockDim.x;
    from += EIGHT * (int)threadIdx.x;
#pragma unroll
    for (int j = 0; j < TILE_EIGHTS; j++)
#pragma unroll
        for (int k = 0; k < N_IN; k++) raw[j][k] = load_halves(c.in[k], from + j * stride);
#pragma unroll
    for (int j = 0; j < TILE_EIGHTS; j++) {
        Eight x[N_IN];
#pragma unroll
        for (int k = 0; k < N_IN; k++) x[k] = widen_eight(BF16, { raw[j][k], raw[j][k] });
        store_bf16(c.out[0].data, from + j * stride, map_eight<N_IN>(how, f, x));
    }
}

/* z = f(how, x) or f(how, x, y) of each element: in tiles of bf16 where it can be, else in eights,
 * else one by one. */
template <int N_IN, bool has_tiles, class How, class F>
__device__ inline void map_as(const Call &c, How how, F f)
{
    const CallTensor &z = c.out[0];
    const int64_t n = z.count, tile = TILE_EIGHTS * EIGHT * (int64_t)blockDim.x;
    const bool in_eights = all_have_eights<N_IN>(c) && has_eights(z);
    int64_t done = 0;
    if (has_tiles && in_eights && all_are_bf16<N_IN>(c) && z.dtype == BF16 && !z.add) {
        done = n / tile * tile;
#pragma unroll 1
        for (int64_t from = blockIdx.x * tile; from < done; from += gridDim.x * tile)
            map_tile<N_IN>(c, from, how, f);
    }
    const int64_t whole = in_eights ? n / EIGHT * EIGHT : 0;
#pragma unroll 1
    for (int64_t i = done + EIGHT * thread_number(); i < whole; i += EIGHT * all_threads()) {
        Eight x[N_IN];
        load_all<N_IN>(c, i, x);
        add_eight(z, i, map_eight<N_IN>(how, f, x));
    }
#pragma unroll 1
    for (int64_t i = whole + thread_number(); i < n; i += all_threads()) {
        float x[N_IN];
#pragma unroll
        for (int k = 0; k < N_IN; k++) x[k] = get(c.in[k], i);
        put(z, i, apply(how, f, x));
    }
}

/* For what has one form. */
template <int N_IN, class F> __device__ inline void map(const Call &c, F f)
{
    map_as<N_IN, true>(c, Exact(), f);
}

/* For what has a quick form, too. */
template <int N_IN, class F> __device__ inline void map_both(const Call &c, F f)
{
    if (c.out[0].dtype == BF16 || c.out[0].dtype == F16)
        map_as<N_IN, true>(c, Quick(), f);
    else
        map_as<N_IN, false>(c, Exact(), f);
}

constexpr float LOG2_E = 1.4426950408889634f;

__device__ static float sigmoid(Exact, float x)
{
    return 1 / (1 + expf(-x));
}

__device__ static float sigmoid(Quick, float x)
{
    return quick_reciprocal(1 + quick_exp2(-LOG2_E * x));
}

template <class How> __device__ static float silu_slope(How how, float x)
{
    const float s = sigmoid(how, x);
    return s * (1 + x * (1 - s));
}

/* The normal distribution function and its slope. */
struct Normal {
    float share, height;
};

/* erfc keeps the left tail exact. */
__device__ static Normal normal_at(Exact, float x)
{
    return { 0.5f * erfcf(-x * 0.70710678118654752f), 0.3989422804014327f * expf(-0.5f * x * x) };
}

/* The tail is exp(-x^2/2) times a polynomial of t = 1 / (1 + 0.38 |x|), fitted so that its largest
 * relative error for |x| < 14.5 is least, 2^-14.8: so the left tail keeps it. */
__device__ static Normal normal_at(Quick, float x)
{
    const float t = quick_reciprocal(fmaf(0.38f, fabsf(x), 1));
    const float e = quick_exp2(-0.5f * LOG2_E * x * x);
    float tail = -0.08992837f;
    tail = fmaf(tail, t, 0.18887653f);
    tail = fmaf(tail, t, 0.09197969f);
    tail = fmaf(tail, t, 0.15782949f);
    tail = fmaf(tail, t, 0.15122513f);
    tail *= t * e;
    return { x < 0 ? tail : 1 - tail, 0.3989422804014327f * e };
}

__device__ static float tanh_argument(float x)
{
    return 0.7978845608028654f * (x + 0.044715f * x * x * x);
}

__device__ static float tanh_of(Exact, float x)
{
    return tanhf(x);
}

__device__ static float tanh_of(Quick, float x)
{
    return 2 * sigmoid(Quick(), 2 * x) - 1;
}

KERNEL(copy_kernel, 256)
{
    map<1>(c, [](auto, float x) { return x; });
}

KERNEL(add_kernel, 256)
{
    map<2>(c, [](auto, float x, float y) { return x + y; });
}

KERNEL(mul_kernel, 256)
{
    map<2>(c, [](auto, float x, float y) { return x * y; });
}

KERNEL(scale_kernel, 256)
{
    const float factor = (float)attrs_of<Scale>(c).factor;
    map<1>(c, [=](auto, float x) { return factor * x; });
}

KERNEL(silu_kernel, 256)
{
    map_both<1>(c, [](auto how, float x) { return x * sigmoid(how, x); });
}

KERNEL(silu_grad_kernel, 256)
{
    map_both<2>(c, [](auto how, float x, float dz) { return dz * silu_slope(how, x); });
}

/* For more threads than it is started with: else the exact form takes so many registers that few
 * blocks run at once. */
KERNEL(gelu_kernel, 1024)
{
    map_both<1>(c, [](auto how, float x) { return x * normal_at(how, x).share; });
}

KERNEL(gelu_grad_kernel, 1024)
{
    map_both<2>(c, [](auto how, float x, float dz) {
        const Normal at = normal_at(how, x);
        return dz * (at.share + x * at.height);
    });
}

/* (1 + tanh u) / 2 is the sigmoid of 2 u. */
KERNEL(gelu_tanh_kernel, 256)
{
    map_both<1>(c, [](auto how, float x) { return x * sigmoid(how, 2 * tanh_argument(x)); });
}

KERNEL(gelu_tanh_grad_kernel, 256)
{
    map_both<2>(c, [](auto how, float x, float dz) {
        const float s = sigmoid(how, 2 * tanh_argument(x));
        const float slope = 0.7978845608028654f * (1 + 3 * 0.044715f * x * x);
        return dz * (s + 2 * x * s * (1 - s) * slope);
    });
}

/* NaN stays */
__device__ static float above_zero(float x)
{
    return x < 0 ? 0 : x;
}

KERNEL(relu_kernel, 256)
{
    map<1>(c, [](auto, float x) { return above_zero(x); });
}

KERNEL(relu_grad_kernel, 256)
{
    map<2>(c, [](auto, float y, float dy) { return y > 0 ? dy : 0; });
}

KERNEL(relu_squared_kernel, 256)
{
    map<1>(c, [](auto, float x) { return above_zero(x) * above_zero(x); });
}

KERNEL(relu_squared_grad_kernel, 256)
{
    map<2>(c, [](auto, float x, float dy) { return 2 * above_zero(x) * dy; });
}

KERNEL(offset_kernel, 256)
{
    const float by = (float)attrs_of<Offset>(c).by;
    map<1>(c, [=](auto, float x) { return x + by; });
}

KERNEL(logit_cap_kernel, 256)
{
    const float cap = (float)attrs_of<LogitCap>(c).cap;
    map_both<1>(c, [=](auto how, float x) { return cap * tanh_of(how, x / cap); });
}

KERNEL(logit_cap_grad_kernel, 256)
{
    const float cap = (float)attrs_of<LogitCap>(c).cap;
    map<2>(c, [=](auto, float y, float dy) { return dy * (1 - y / cap * (y / cap)); });
}

KERNEL(clip_kernel, 256)
{
    const float most = (float)attrs_of<Clip>(c).bound;
    map<1>(c, [=](auto, float x) { return x > most ? most : x < -most ? -most : x; });
}

KERNEL(clip_grad_kernel, 256)
{
    const float most = (float)attrs_of<Clip>(c).bound;
    map<2>(c, [=](auto, float dy, float x) { return x <= most && x >= -most ? dy : 0; });
}

KERNEL(swiglu_kernel, 256)
{
    map_both<2>(c, [](auto how, float gate, float up) { return gate * sigmoid(how, gate) * up; });
}

/* The gradients of the gate and of what goes through it. */
template <class How>
__device__ static void swiglu_slopes(How how, float gate, float up, float dz, float *dgate,
                                     float *dup)
{
    *dgate = dz * up * silu_slope(how, gate);
    *dup = dz * gate * sigmoid(how, gate);
}

template <class How> __device__ static void swiglu_grad(const Call &c, How how)
{
    const int64_t n = c.out[0].count;
    const bool in_eights = all_have_eights<3>(c) && has_eights(c.out[0]) && has_eights(c.out[1]);
    const int64_t whole = in_eights ? n / EIGHT * EIGHT : 0;
#pragma unroll 1
    for (int64_t i = EIGHT * thread_number(); i < whole; i += EIGHT * all_threads()) {
        Eight x[3], dgate, dup;
        load_all<3>(c, i, x);
#pragma unroll
        for (int k = 0; k < EIGHT; k++)
            swiglu_slopes(how, x[0].x[k], x[1].x[k], x[2].x[k], &dgate.x[k], &dup.x[k]);
        add_eight(c.out[0], i, dgate);
        add_eight(c.out[1], i, dup);
    }
#pragma unroll 1
    for (int64_t i = whole + thread_number(); i < n; i += all_threads()) {
        float dgate, dup;
        swiglu_slopes(how, get(c.in[0], i), get(c.in[1], i), get(c.in[2], i), &dgate, &dup);
        put(c.out[0], i, dgate);
        put(c.out[1], i, dup);
    }
}

KERNEL(swiglu_grad_kernel, 256)
{
    if (c.out[0].dtype != F32 && c.out[1].dtype != F32)
        swiglu_grad(c, Quick());
    else
        swiglu_grad(c, Exact());
}

struct Factors {
    float gate, up;
    bool gate_flows, up_flows;
};

__device__ static Factors clamped(float gate, float up, float limit)
{
    Factors f;
    f.gate_flows = !(gate > limit);
    f.up_flows = !(up > limit || up < -limit);
    f.gate = f.gate_flows ? gate : limit;
    f.up = f.up_flows ? up : up > 0 ? limit : -limit;
    return f;
}

KERNEL(clamped_swiglu_kernel, 256)
{
    const ClampedSwiglu &a = attrs_of<ClampedSwiglu>(c);
    const float limit = (float)a.limit, alpha = a.plain ? 1 : (float)CLAMPED_SWIGLU_ALPHA,
                more = a.plain ? 0 : 1;
    map_both<2>(c, [=](auto how, float gate, float up) {
        const Factors f = clamped(gate, up, limit);
        return f.gate * sigmoid(how, alpha * f.gate) * (f.up + more);
    });
}

KERNEL(clamped_swiglu_grad_kernel, 256)
{
    const ClampedSwiglu &a = attrs_of<ClampedSwiglu>(c);
    const float limit = (float)a.limit, alpha = a.plain ? 1 : (float)CLAMPED_SWIGLU_ALPHA,
                more = a.plain ? 0 : 1;
    for (int64_t i = thread_number(); i < c.out[0].count; i += all_threads()) {
        const Factors f = clamped(get(c.in[0], i), get(c.in[1], i), limit);
        const float dy = get(c.in[2], i), s = sigmoid(Exact(), alpha * f.gate);
        put(c.out[0], i, f.gate_flows ? dy * (f.up + more) * s * (1 + alpha * f.gate * (1 - s)) : 0);
        put(c.out[1], i, f.up_flows ? dy * f.gate * s : 0);
    }
}

KERNEL(fill_kernel, 256)
{
    const double value = attrs_of<Fill>(c).value;
    const CallTensor &z = c.out[0];
    const int64_t n = z.count, whole = has_eights(z) ? n / EIGHT * EIGHT : 0;
    Eight all;
#pragma unroll
    for (int k = 0; k < EIGHT; k++) all.x[k] = (float)value;
    for (int64_t i = EIGHT * thread_number(); i < whole; i += EIGHT * all_threads())
        add_eight(z, i, all);
    for (int64_t i = whole + thread_number(); i < n; i += all_threads()) put_double(z, i, value);
}

KERNEL(loss_seed_kernel, 32)
{
    if (threadIdx.x == 0) put_double(c.out[0], 0, c.now->loss_scale);
}

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

/* Between any two dtypes, one element at a time: integers, and floats of 64 bits. */
KERNEL(convert_kernel, 256)
{
    const int64_t n = c.out[0].count;
    for (int64_t i = thread_number(); i < n; i += all_threads())
        put_double(c.out[0], i, get_double(c.in[0], i));
}
