/* eights_cuda.h - several elements of tensors whose dtypes compilers know, for .cu files.
 *
 * What looks at dtypes and addresses for every eight elements waits for each load before it begins
 * the next. A kernel that looks once, and then runs a form of itself for these dtypes, has several
 * under way. */
#ifndef OPS_EIGHTS_CUDA_H
#define OPS_EIGHTS_CUDA_H
#include "device/cuda/kernel.h"

/* No dtype that is known: elements are taken one by one, and may lie anywhere. */
constexpr int ANY_DTYPE = -1;
/* How many elements are taken together. */
template <int T> constexpr int TOGETHER = T == ANY_DTYPE ? 1 : EIGHT;

/* The dtype, if rows of this width can be taken eight elements at a time. */
__device__ inline int dtype_of_eights(const CallTensor &t, int64_t width)
{
    const bool lies_well = is_aligned(t) && width % EIGHT == 0;
    return lies_well && (t.dtype == F32 || t.dtype == BF16) ? t.dtype : ANY_DTYPE;
}

template <int N> struct Floats {
    float x[N];
};

/* Elements as they lie in memory: those of bf16 take half the registers that floats do, until they
 * are needed. */
template <int T> struct Packed {
    Floats<TOGETHER<T>> floats;
};

template <> struct Packed<BF16> {
    uint4 bits;
};

/* Elements from i on. */
template <int T> __device__ inline Packed<T> load_packed(const CallTensor &t, int64_t i)
{
    Packed<T> p;
    if constexpr (T == BF16) {
        p.bits = *(const uint4 *)((const uint16_t *)t.data + i);
    } else if constexpr (T == F32) {
        const float4 *from = (const float4 *)((const float *)t.data + i);
        const float4 low = from[0], high = from[1];
        p.floats = { low.x, low.y, low.z, low.w, high.x, high.y, high.z, high.w };
    } else {
        p.floats.x[0] = get(t, i);
    }
    return p;
}

template <int T> __device__ inline Floats<TOGETHER<T>> unpacked(const Packed<T> &p)
{
    if constexpr (T == BF16) {
        const uint32_t pair[4] = { p.bits.x, p.bits.y, p.bits.z, p.bits.w };
        Floats<EIGHT> e;
#pragma unroll
        for (int k = 0; k < 4; k++) {
            e.x[2 * k] = widen_bf16((uint16_t)pair[k]);
            e.x[2 * k + 1] = widen_bf16((uint16_t)(pair[k] >> 16));
        }
        return e;
    } else {
        return p.floats;
    }
}

template <int T> __device__ inline Floats<TOGETHER<T>> load(const CallTensor &t, int64_t i)
{
    return unpacked<T>(load_packed<T>(t, i));
}

/* Never adds. */
template <int T>
__device__ inline void store(const CallTensor &t, int64_t i, const Floats<TOGETHER<T>> &e)
{
    if constexpr (T == BF16) {
        uint32_t pair[4];
#pragma unroll
        for (int k = 0; k < 4; k++) pair[k] = narrow_bf16_pair(e.x[2 * k], e.x[2 * k + 1]);
        *(uint4 *)((uint16_t *)t.data + i) = make_uint4(pair[0], pair[1], pair[2], pair[3]);
    } else if constexpr (T == F32) {
        float4 *to = (float4 *)((float *)t.data + i);
        to[0] = make_float4(e.x[0], e.x[1], e.x[2], e.x[3]);
        to[1] = make_float4(e.x[4], e.x[5], e.x[6], e.x[7]);
    } else {
        set(t, i, e.x[0]);
    }
}

template <int N> __device__ inline void add(Floats<N> &sum, const Floats<N> &e)
{
#pragma unroll
    for (int k = 0; k < N; k++) sum.x[k] += e.x[k];
}
#endif
