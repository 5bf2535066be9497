/* kernel.h - what kernels on a GPU share: elements of any dtype, eight at a time, sums over warps
 * and blocks, failures. For .cu files; without nvcc an emulator stands for the GPU. */
#ifndef DEVICE_CUDA_KERNEL_H
#define DEVICE_CUDA_KERNEL_H
extern "C" {
#include "base/rng.h"
#include "device/cuda/call.h"
#include "tensor/halves.h"
}
#include <math.h>
#ifdef __CUDACC__
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#else
#include "emulator.h"
#endif

/* By the last thread of a block: its warp waits for `now`, and often has the least to do. */
__device__ inline void tell_begun(const Call &c)
{
    if (blockIdx.x != 0 || threadIdx.x != blockDim.x - 1) return;
    volatile CallFault *to = c.fault;
    to->begun = c.launch;
    to->microbatch = c.now ? c.now->microbatch : 0;
}

/* A kernel: its name is what launchers ask for. One block per multiprocessor at least: else the
 * compiler keeps registers in memory to fit more of them. */
#define KERNEL(name, threads)                                                                      \
    __device__ static void name##_body(const Call &c);                                             \
    extern "C" __global__ void __launch_bounds__(threads, 1) name(const __grid_constant__ Call c)  \
    {                                                                                              \
        tell_begun(c);                                                                             \
        name##_body(c);                                                                            \
    }                                                                                              \
    __device__ static void name##_body(const Call &c)

/* Whether an update clears gradients and changes nothing else (device.h, RunTime). */
__device__ inline bool is_left_out(const Call &c)
{
    return c.now->is_gated && c.now->is_left_out;
}

constexpr int WARP = 32, EIGHT = 8;
constexpr unsigned WHOLE_WARP = 0xffffffffu;

/* ---- elements ---- */

__device__ inline float widen_bf16(uint16_t x)
{
    const uint32_t bits = (uint32_t)x << 16;
    float f;
    memcpy(&f, &bits, sizeof f);
    return f;
}

__device__ inline uint16_t narrow_bf16(float f)
{
#ifdef __CUDACC__
    return __bfloat16_as_ushort(__float2bfloat16_rn(f));
#else
    return bf16_of_float(f);
#endif
}

__device__ inline float widen_f16(uint16_t x)
{
#ifdef __CUDACC__
    return __half2float(__ushort_as_half(x));
#else
    return f16_to_float(x);
#endif
}

__device__ inline uint16_t narrow_f16(float f)
{
#ifdef __CUDACC__
    return __half_as_ushort(__float2half_rn(f));
#else
    uint16_t x;
    dtype_set(F16, &x, 0, f);
    return x;
#endif
}

/* Two elements in four bytes, the first in the lower half. */
__device__ inline uint32_t narrow_bf16_pair(float low, float high)
{
#ifdef __CUDACC__
    const __nv_bfloat162 pair = __floats2bfloat162_rn(low, high);
    uint32_t bits;
    memcpy(&bits, &pair, sizeof bits);
    return bits;
#else
    return (uint32_t)narrow_bf16(low) | (uint32_t)narrow_bf16(high) << 16;
#endif
}

__device__ inline uint32_t narrow_f16_pair(float low, float high)
{
#ifdef __CUDACC__
    const __half2 pair = __floats2half2_rn(low, high);
    uint32_t bits;
    memcpy(&bits, &pair, sizeof bits);
    return bits;
#else
    return (uint32_t)narrow_f16(low) | (uint32_t)narrow_f16(high) << 16;
#endif
}

__device__ inline double get_double(const CallTensor &t, int64_t i)
{
    switch (t.dtype) {
    case F64:
        return ((const double *)t.data)[i];
    case F32:
        return ((const float *)t.data)[i];
    case BF16:
        return widen_bf16(((const uint16_t *)t.data)[i]);
    case F16:
        return widen_f16(((const uint16_t *)t.data)[i]);
    case I64:
        return (double)((const int64_t *)t.data)[i];
    case BOOL:
    case U8:
        return ((const uint8_t *)t.data)[i];
    default:
        return ((const int32_t *)t.data)[i];
    }
}

__device__ inline float get(const CallTensor &t, int64_t i)
{
    switch (t.dtype) {
    case F32:
        return ((const float *)t.data)[i];
    case BF16:
        return widen_bf16(((const uint16_t *)t.data)[i]);
    case F16:
        return widen_f16(((const uint16_t *)t.data)[i]);
    default:
        return (float)get_double(t, i);
    }
}

__device__ inline int32_t get_int(const CallTensor &t, int64_t i)
{
    return t.dtype == I64 ? (int32_t)((const int64_t *)t.data)[i] : ((const int32_t *)t.data)[i];
}

/* Writes without adding. */
__device__ inline void set(const CallTensor &t, int64_t i, double x)
{
    switch (t.dtype) {
    case F64:
        ((double *)t.data)[i] = x;
        break;
    case F32:
        ((float *)t.data)[i] = (float)x;
        break;
    case BF16:
        ((uint16_t *)t.data)[i] = narrow_bf16((float)x);
        break;
    case F16:
        ((uint16_t *)t.data)[i] = narrow_f16((float)x);
        break;
    case I64:
        ((int64_t *)t.data)[i] = (int64_t)x;
        break;
    case BOOL:
    case U8:
        ((uint8_t *)t.data)[i] = (uint8_t)x;
        break;
    default:
        ((int32_t *)t.data)[i] = (int32_t)x;
    }
}

/* Writes a result, or adds to it where the launch says so. */
__device__ inline void put(const CallTensor &t, int64_t i, float x)
{
    if (t.add) x += get(t, i);
    switch (t.dtype) {
    case F32:
        ((float *)t.data)[i] = x;
        break;
    case BF16:
        ((uint16_t *)t.data)[i] = narrow_bf16(x);
        break;
    default:
        set(t, i, x);
    }
}

__device__ inline void put_double(const CallTensor &t, int64_t i, double x)
{
    set(t, i, t.add ? x + get_double(t, i) : x);
}

/* ---- eight elements, in one or two loads where they lie well ---- */

struct Eight {
    float x[EIGHT];
};

__device__ inline bool is_aligned(const CallTensor &t)
{
    return ((uintptr_t)t.data & 15) == 0;
}

/* Whether eight elements are 16 or 32 bytes that can be loaded at once. */
__device__ inline bool has_eights(const CallTensor &t)
{
    return is_aligned(t) && (t.dtype == F32 || t.dtype == BF16 || t.dtype == F16);
}

/* Eight elements as they lie in memory; `high` only of F32. Apart from widening them, which waits
 * for them: so several loads are under way at once. */
struct EightRaw {
    uint4 low, high;
};

/* Elements [i, i + 8) of 16 bits, where they are aligned. */
__device__ inline uint4 load_halves(const CallTensor &t, int64_t i)
{
    return *(const uint4 *)((const uint16_t *)t.data + i);
}

/* Elements [i, i + 8) of a tensor that has eights; i is a multiple of 8. */
__device__ inline EightRaw load_eight(const CallTensor &t, int64_t i)
{
    EightRaw raw;
    const bool is_wide = t.dtype == F32;
    const uint4 *from = (const uint4 *)((const char *)t.data + (i << (is_wide ? 2 : 1)));
    raw.low = from[0];
    raw.high = make_uint4(0, 0, 0, 0);
    if (is_wide) raw.high = from[1];
    return raw;
}

__device__ inline Eight widen_eight(int32_t dtype, const EightRaw &raw)
{
    const uint32_t word[EIGHT] = { raw.low.x,  raw.low.y,  raw.low.z,  raw.low.w,
                                   raw.high.x, raw.high.y, raw.high.z, raw.high.w };
    Eight e;
    if (dtype == F32) {
        memcpy(e.x, word, sizeof e.x);
    } else if (dtype == BF16) {
#pragma unroll
        for (int k = 0; k < EIGHT; k++) e.x[k] = widen_bf16((uint16_t)(word[k / 2] >> k % 2 * 16));
    } else {
#pragma unroll
        for (int k = 0; k < EIGHT; k++) e.x[k] = widen_f16((uint16_t)(word[k / 2] >> k % 2 * 16));
    }
    return e;
}

/* As one store: of its own accord the compiler may make four of it. */
__device__ inline void store_16_bytes(void *to, const uint4 &x)
{
#ifdef __CUDACC__
    asm volatile("st.global.v4.u32 [%0], {%1, %2, %3, %4};"
                 :
                 : "l"(to), "r"(x.x), "r"(x.y), "r"(x.z), "r"(x.w)
                 : "memory");
#else
    *(uint4 *)to = x;
#endif
}

__device__ inline void store_bf16(void *data, int64_t i, const Eight &e)
{
    uint32_t pair[4];
#pragma unroll
    for (int k = 0; k < 4; k++) pair[k] = narrow_bf16_pair(e.x[2 * k], e.x[2 * k + 1]);
    store_16_bytes((uint16_t *)data + i, make_uint4(pair[0], pair[1], pair[2], pair[3]));
}

__device__ inline void store_f16(void *data, int64_t i, const Eight &e)
{
    uint32_t pair[4];
#pragma unroll
    for (int k = 0; k < 4; k++) pair[k] = narrow_f16_pair(e.x[2 * k], e.x[2 * k + 1]);
    store_16_bytes((uint16_t *)data + i, make_uint4(pair[0], pair[1], pair[2], pair[3]));
}

__device__ inline void store_f32(void *data, int64_t i, const Eight &e)
{
    uint4 half[2];
    memcpy(half, e.x, sizeof half);
    store_16_bytes((float *)data + i, half[0]);
    store_16_bytes((float *)data + i + 4, half[1]);
}

/* Writes elements [i, i + 8) of a tensor that has eights, without adding. */
__device__ inline void store_eight(const CallTensor &t, int64_t i, const Eight &e)
{
    if (t.dtype == F32)
        store_f32(t.data, i, e);
    else if (t.dtype == BF16)
        store_bf16(t.data, i, e);
    else
        store_f16(t.data, i, e);
}

/* Writes elements [i, i + 8) of a result that has eights, or adds to them. */
__device__ inline void add_eight(const CallTensor &t, int64_t i, Eight e)
{
    if (t.add) {
        const Eight old = widen_eight(t.dtype, load_eight(t, i));
#pragma unroll
        for (int k = 0; k < EIGHT; k++) e.x[k] += old.x[k];
    }
    store_eight(t, i, e);
}

/* Elements [i, i + n) with n at most 8; the others are 0. i is a multiple of 8. */
__device__ inline Eight get_eight(const CallTensor &t, int64_t i, int64_t n)
{
    if (n >= EIGHT && has_eights(t)) return widen_eight(t.dtype, load_eight(t, i));
    Eight e;
#pragma unroll
    for (int k = 0; k < EIGHT; k++) e.x[k] = k < n ? get(t, i + k) : 0;
    return e;
}

__device__ inline void put_eight(const CallTensor &t, int64_t i, int64_t n, Eight e)
{
    if (n < EIGHT || !has_eights(t)) {
#pragma unroll
        for (int k = 0; k < EIGHT; k++)
            if (k < n) put(t, i + k, e.x[k]);
        return;
    }
    add_eight(t, i, e);
}

/* ---- numbers in two halves (tensor/halves.h) ---- */

/* Sixteen bits of each of eight elements; their dtype does not matter. */
struct EightBits {
    uint16_t x[EIGHT];
};

__device__ inline EightBits get_eight_bits(const CallTensor &t, int64_t i, int64_t n)
{
    EightBits e = {};
    const uint16_t *from = (const uint16_t *)t.data + i;
    if (n >= EIGHT && is_aligned(t)) {
        const uint4 bits = *(const uint4 *)from;
        memcpy(e.x, &bits, sizeof e.x);
        return e;
    }
#pragma unroll
    for (int k = 0; k < EIGHT; k++)
        if (k < n) e.x[k] = from[k];
    return e;
}

__device__ inline void put_eight_bits(const CallTensor &t, int64_t i, int64_t n, const EightBits &e)
{
    uint16_t *to = (uint16_t *)t.data + i;
    if (n >= EIGHT && is_aligned(t)) {
        uint4 bits;
        memcpy(&bits, e.x, sizeof bits);
        *(uint4 *)to = bits;
        return;
    }
#pragma unroll
    for (int k = 0; k < EIGHT; k++)
        if (k < n) to[k] = e.x[k];
}

__device__ inline Eight get_eight_joined(const CallTensor &high, const CallTensor &low, int64_t i,
                                         int64_t n)
{
    const EightBits h = get_eight_bits(high, i, n), l = get_eight_bits(low, i, n);
    Eight e;
#pragma unroll
    for (int k = 0; k < EIGHT; k++) e.x[k] = float_of_halves(h.x[k], (int16_t)l.x[k]);
    return e;
}

__device__ inline void put_eight_high(const CallTensor &t, int64_t i, int64_t n, const Eight &e)
{
    EightBits high;
#pragma unroll
    for (int k = 0; k < EIGHT; k++) high.x[k] = high_half_of(e.x[k]);
    put_eight_bits(t, i, n, high);
}

/* ---- threads ---- */

__device__ inline int64_t thread_number()
{
    return (int64_t)blockIdx.x * blockDim.x + threadIdx.x;
}

__device__ inline int64_t all_threads()
{
    return (int64_t)gridDim.x * blockDim.x;
}

struct Sum {
    template <class T> __device__ T operator()(T a, T b) const { return a + b; }
};

/* A NaN stays. */
struct Largest {
    template <class T> __device__ T operator()(T a, T b) const { return b > a || b != b ? b : a; }
};

/* The same on all lanes, always in the same order. */
template <class T, class Op> __device__ inline T over_warp(T x, Op op)
{
#pragma unroll
    for (int step = WARP / 2; step; step /= 2) x = op(x, __shfl_xor_sync(WHOLE_WARP, x, step));
    return x;
}

/* The same on all threads; blocks have whole warps. `start` changes nothing that it meets. */
template <class T, class Op> __device__ inline T over_block(T x, Op op, T start)
{
    __shared__ T part[WARP];
    const int warp = threadIdx.x / WARP, lane = threadIdx.x % WARP;
    x = over_warp(x, op);
    __syncthreads(); /* the last use of `part` is over */
    if (lane == 0) part[warp] = x;
    __syncthreads();
    x = lane < (int)blockDim.x / WARP ? part[lane] : start;
    return over_warp(x, op);
}

/* ---- functions ---- */

/* To some 2 units of the last place of a float; what would be denormal is 0. */
__device__ inline float quick_exp2(float x)
{
#ifdef __CUDACC__
    float y;
    asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(x));
    return y;
#else
    return exp2f(x);
#endif
}

__device__ inline float quick_reciprocal(float x)
{
#ifdef __CUDACC__
    float y;
    asm("rcp.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(x));
    return y;
#else
    return 1 / x;
#endif
}

/* ---- where things are in the whole ---- */

__device__ inline int64_t whole_index(const Call &c, const CallTensor &t, int dim, int64_t i)
{
    if (t.part[dim] < 0) return i;
    const CallPart &p = c.part[t.part[dim]];
    const int64_t at = p.shift + i;
    if (at >= p.outer) return p.whole;
    return at < p.chunk ? p.first + at : p.second + at - p.chunk;
}

__device__ inline int64_t whole_size(const Call &c, const CallTensor &t, int dim)
{
    return t.part[dim] < 0 ? t.size[dim] : c.part[t.part[dim]].whole;
}

/* -1: another rank has it, or nobody. */
__device__ inline int64_t own_index(const Call &c, const CallTensor &t, int dim, int64_t i)
{
    if (i < 0 || i >= whole_size(c, t, dim)) return -1;
    if (t.part[dim] < 0) return i;
    const CallPart &p = c.part[t.part[dim]];
    int64_t at = -1;
    if (i >= p.first && i < p.first + p.chunk)
        at = i - p.first;
    else if (i >= p.second && i < p.second + p.outer - p.chunk)
        at = i - p.second + p.chunk;
    if (at < 0 || at >= p.outer) return -1;
    at -= p.shift;
    return at >= 0 && at < p.size ? at : -1;
}

/* The number of element i of a tensor in the whole of it. */
__device__ inline int64_t whole_element(const Call &c, const CallTensor &t, int64_t i)
{
    int64_t element = 0, stride = 1;
    for (int d = t.n_dims - 1; d >= 0; d--) {
        element += whole_index(c, t, d, i % t.size[d]) * stride;
        stride *= whole_size(c, t, d);
        i /= t.size[d];
    }
    return element;
}

__device__ inline int64_t whole_count(const Call &c, const CallTensor &t)
{
    int64_t n = 1;
    for (int d = 0; d < t.n_dims; d++) n *= whole_size(c, t, d);
    return n;
}

/* ---- the rest ---- */

/* Tells the host, which looks when it waits. */
__device__ inline void fail(const Call &c, int status)
{
    if (atomicCAS(&c.fault->status, 0, status) != 0) return;
    c.fault->launch = c.launch;
    c.fault->step_failed = c.now ? c.now->step : 0;
    c.fault->microbatch_failed = c.now ? c.now->microbatch : 0;
}

/* The attributes of the op. */
template <class T> __device__ inline const T &attrs_of(const Call &c)
{
    return *(const T *)(const void *)c.attrs;
}

/* Where the first token of row b of the batch stands. */
__device__ inline int64_t first_position(const Call &c, int64_t b)
{
    return b < c.now->n_texts ? c.now->text_position[b] : c.now->position;
}

/* Whether what row b of the batch brings must leave no trace in what is kept of its text. */
__device__ inline bool text_waits(const Call &c, int64_t b)
{
    return b < c.now->n_texts && c.now->text_waits[b];
}

/* dropout_mask.h, on the GPU. */
__device__ inline uint64_t dropout_key_of(const RunTime *now, int64_t salt)
{
    const uint64_t step = rng_bits(rng_bits(now->seed, RNG_DROPOUT), (uint64_t)now->step);
    return rng_bits(step, (uint64_t)salt);
}

/* As dropout_number of the CPU. */
__device__ inline int64_t dropout_number_of(const RunTime *now, int64_t element, int64_t per_sample)
{
    if (now->n_replicas <= 1) return element;
    return element + (element / per_sample * (now->n_replicas - 1) + now->replica) * per_sample;
}

__device__ inline bool dropout_keeps_it(uint64_t key, int64_t element, double p)
{
    return rng_bits(key, (uint64_t)element) >> 11 >= (uint64_t)ceil(p * 0x1p53);
}
#endif
