/* cross_entropy.cu - loss per token from logits, and the gradient of the logits, on a GPU: a block
 * per token. The head with its loss (head_loss_cuda.c) uses these for chunks of its logits.
 *
 * Logits are read 16 bytes at a time where their rows begin on such, with several reads of a thread
 * under way, and only once: each thread sums exponentials relative to the largest of its logits so
 * far, and multiplies its sum when a larger one comes. Threads sum a few hundred of them in float;
 * from there on sums are in double. */
#include "device/cuda/mma.h"
extern "C" {
#include "ops/token_loss_batch.h"
#include "ops/vocabulary_cuda.h"
#include "tensor/target.h"
}
#include <float.h>

constexpr float LOG2_E = 1.44269504f;
/* Logits in 16 bytes. */
constexpr int NARROW = 8, WIDE = STEP_WIDE;

/* ---- logits, N at a time: 16 bytes, or one ---- */

template <int T> __device__ inline float widen(uint32_t x)
{
    return T == BF16 ? widen_bf16((uint16_t)x) : widen_f16((uint16_t)x);
}

template <int T, int N> __device__ inline void read(const void *row, int j, float *x)
{
    if constexpr (N == WIDE) {
        const float4 four = *(const float4 *)((const float *)row + j);
        x[0] = four.x, x[1] = four.y, x[2] = four.z, x[3] = four.w;
    } else if constexpr (N == NARROW) {
        const uint4 bits = *(const uint4 *)((const uint16_t *)row + j);
        const uint32_t pair[4] = { bits.x, bits.y, bits.z, bits.w };
#pragma unroll
        for (int k = 0; k < 4; k++)
            x[2 * k] = widen<T>(pair[k]), x[2 * k + 1] = widen<T>(pair[k] >> 16);
    } else {
        x[0] = T == F32 ? ((const float *)row)[j] : widen<T>(((const uint16_t *)row)[j]);
    }
}

__device__ inline uint32_t narrow_pair(int dtype, float low, float high)
{
    return dtype == BF16 ? narrow_bf16_pair(low, high) : narrow_f16_pair(low, high);
}

template <int N> __device__ inline void write(int dtype, void *row, int j, const float *x)
{
    if (dtype == F32) {
        float *to = (float *)row + j;
        if constexpr (N == 1)
            to[0] = x[0];
        else
#pragma unroll
            for (int k = 0; k < N; k += 4)
                *(float4 *)(to + k) = make_float4(x[k], x[k + 1], x[k + 2], x[k + 3]);
        return;
    }
    uint16_t *to = (uint16_t *)row + j;
    if constexpr (N == 1) {
        to[0] = dtype == BF16 ? narrow_bf16(x[0]) : narrow_f16(x[0]);
    } else {
        uint32_t pair[N / 2];
#pragma unroll
        for (int k = 0; k < N / 2; k++) pair[k] = narrow_pair(dtype, x[2 * k], x[2 * k + 1]);
        if constexpr (N == WIDE)
            *(uint2 *)to = make_uint2(pair[0], pair[1]);
        else
            *(uint4 *)to = make_uint4(pair[0], pair[1], pair[2], pair[3]);
    }
}

/* READS times N of them, `step` from each other, and `beyond` for those from `to` on; READS of a
 * thread are under way at once. */
template <int T, int N, int READS>
__device__ inline void read_up_to(const void *row, int j, int step, int to, float beyond, float *x)
{
#pragma unroll
    for (int r = 0; r < READS; r++) {
#pragma unroll
        for (int k = 0; k < N; k++) x[r * N + k] = beyond;
        if (j + r * step < to) read<T, N>(row, j + r * step, x + r * N);
    }
#pragma unroll
    for (int r = 0; r < READS; r++)
#pragma unroll
        for (int k = 1; k < N; k++)
            if (j + r * step + k >= to) x[r * N + k] = beyond;
}

/* Whether all rows begin on 16 bytes, or on what belongs to 16 bytes of logits. */
__device__ inline bool lie_well(const CallTensor &x, const CallTensor &like)
{
    const int n = x.dtype == F32 ? WIDE : NARROW;
    return is_aligned(x) && is_aligned(like) && x.size[x.n_dims - 1] % n == 0;
}

__device__ inline void *row_of(const CallTensor &t, int64_t row)
{
    const int bytes = t.dtype == F32 ? 4 : 2;
    return (char *)t.data + row * t.size[t.n_dims - 1] * bytes;
}

/* ---- sums of exponentials ---- */

/* sum is of exp(x - top). Any logit is larger than the first `top`, or as good as minus infinity,
 * so that nothing is subtracted from infinity but infinity. */
struct ExpSum {
    float top = -FLT_MAX, sum = 0;
};

template <int N> __device__ inline void add_exps(ExpSum &s, const float (&x)[N])
{
    float top = s.top;
#pragma unroll
    for (int k = 0; k < N; k++) top = fmaxf(top, x[k]); /* a NaN is left to the sum */
    float part[4] = { s.sum * quick_exp2((s.top - top) * LOG2_E), 0, 0, 0 };
#pragma unroll
    for (int k = 0; k < N; k++) part[k % 4] += quick_exp2((x[k] - top) * LOG2_E);
    s.sum = (part[0] + part[1]) + (part[2] + part[3]);
    s.top = top;
}

/* This thread's logits among [from, to) of a row. */
template <int T, int N>
__device__ inline void add_logits(ExpSum &s, const void *row, int from, int to)
{
    constexpr int READS = N == 1 ? 8 : STEP_READS;
    const int step = (int)blockDim.x * N;
    float x[READS * N];
    int j = from + (int)threadIdx.x * N;
    for (int left = (to - from) / (READS * step); left > 0; left--, j += READS * step) {
#pragma unroll
        for (int r = 0; r < READS; r++) read<T, N>(row, j + r * step, x + r * N);
        add_exps(s, x);
    }
    if (j >= to) return;
    read_up_to<T, N, READS>(row, j, step, to, -INFINITY, x);
    add_exps(s, x);
}

/* What all threads of the block have, which get the same. */
__device__ static double over_threads(ExpSum s, float *top)
{
    *top = over_block(s.top, Largest(), -FLT_MAX);
    return over_block((double)(s.sum * quick_exp2((s.top - *top) * LOG2_E)), Sum(), 0.0);
}

__device__ static ExpSum sum_of(const CallTensor &x, int64_t row, int n, bool wide)
{
    const void *from = row_of(x, row);
    ExpSum s;
    if (x.dtype == F32)
        wide ? add_logits<F32, WIDE>(s, from, 0, n) : add_logits<F32, 1>(s, from, 0, n);
    else if (x.dtype == BF16)
        wide ? add_logits<BF16, NARROW>(s, from, 0, n) : add_logits<BF16, 1>(s, from, 0, n);
    else
        wide ? add_logits<F16, NARROW>(s, from, 0, n) : add_logits<F16, 1>(s, from, 0, n);
    return s;
}

__device__ inline double log_sum(float top, double sum)
{
    return sum == 0 ? -INFINITY : top + log(sum);
}

__device__ static bool is_target(int32_t target, int64_t n)
{
    return target == IGNORED_TARGET || (target >= 0 && target < n);
}

/* in: logits [rows, v], targets; out: loss, lse. The token of row r is number[0] + r. */
KERNEL(token_loss_kernel, 512)
{
    const CallTensor &x = c.in[0];
    const int64_t v = x.size[x.n_dims - 1], n = x.count / v;
    const bool wide = lie_well(x, x);
    for (int64_t row = blockIdx.x; row < n; row += gridDim.x) {
        const int64_t token = c.number[0] + row;
        const int32_t target = get_int(c.in[1], token);
        const bool counts = target >= 0 && target < v;
        const ExpSum mine = sum_of(x, row, (int)v, wide);
        const float of_target = counts && threadIdx.x == 0 ? get(x, row * v + target) : 0;
        float top;
        const double sum = over_threads(mine, &top);
        if (threadIdx.x != 0) continue;
        const double lse = log_sum(top, sum);
        if (!is_target(target, v)) fail(c, KERNEL_BAD_INDEX);
        put_double(c.out[0], token, counts ? lse - (double)of_target : 0);
        put_double(c.out[1], token, lse);
    }
}

/* ---- gradients ---- */

/* Of a row of logits, written to a row: exp(x - from) * 2^rest * factor, less dloss at `target`. */
struct Slopes {
    void *row;
    int dtype, target;
    float from, rest, factor, dloss;
};

/* Of N logits from the j-th on; 0 for those from `to` on. */
template <int N> __device__ inline void find_slopes(const Slopes &s, int j, int to, float *x)
{
#pragma unroll
    for (int k = 0; k < N; k++)
        x[k] = quick_exp2(fmaf(x[k] - s.from, LOG2_E, s.rest)) * s.factor;
    if ((unsigned)(s.target - j) < (unsigned)N)
#pragma unroll
        for (int k = 0; k < N; k++)
            if (j + k == s.target) x[k] -= s.dloss;
#pragma unroll
    for (int k = 1; k < N; k++)
        if (j + k >= to) x[k] = 0;
}

/* Of this thread's logits among [from, to); 0 for [to, end). Goes from the last ones to the first,
 * since those that were read last are the likeliest to be in the cache. */
template <int T, int N>
__device__ inline void write_slopes(const Slopes &s, const void *row, int from, int to, int end)
{
    constexpr int READS = N == 1 ? 8 : N == WIDE ? 4 : 2;
    const int step = (int)blockDim.x * N, batch = READS * step,
              n_whole = to > from ? (to - from) / batch : 0;
    int j = from + (int)threadIdx.x * N + n_whole * batch;
    float x[READS][N];
    for (int i = j; i < end; i += batch) {
        read_up_to<T, N, READS>(row, i, step, to, 0, x[0]);
#pragma unroll
        for (int r = 0; r < READS; r++) {
            if (i + r * step < to) find_slopes<N>(s, i + r * step, to, x[r]);
            if (i + r * step < end) write<N>(s.dtype, s.row, i + r * step, x[r]);
        }
    }
    for (int left = n_whole; left > 0; left--) {
        j -= batch;
#pragma unroll
        for (int r = 0; r < READS; r++) read<T, N>(row, j + r * step, x[r]);
#pragma unroll
        for (int r = 0; r < READS; r++) {
            find_slopes<N>(s, j + r * step, j + r * step + N, x[r]);
            write<N>(s.dtype, s.row, j + r * step, x[r]);
        }
    }
}

/* The gradient of a row of v logits of which n count; they may lie where it is written. */
__device__ static void write_gradient(const CallTensor &x, int64_t row, int n, bool wide,
                                      const Slopes &s)
{
    const void *from = row_of(x, row);
    const int v = (int)x.size[x.n_dims - 1];
    if (x.dtype == F32)
        wide ? write_slopes<F32, WIDE>(s, from, 0, n, v) : write_slopes<F32, 1>(s, from, 0, n, v);
    else if (x.dtype == BF16)
        wide ? write_slopes<BF16, NARROW>(s, from, 0, n, v)
             : write_slopes<BF16, 1>(s, from, 0, n, v);
    else
        wide ? write_slopes<F16, NARROW>(s, from, 0, n, v) : write_slopes<F16, 1>(s, from, 0, n, v);
}

/* With an lse in double, whose rounding would be that of all probabilities. */
__device__ inline Slopes slopes_of(const CallTensor &dx, int64_t row, int target, double lse,
                                   float dloss)
{
    Slopes s = { row_of(dx, row), dx.dtype, target, (float)lse, 0, dloss, dloss };
    s.rest = -(float)(lse - s.from) * LOG2_E;
    return s;
}

/* in: logits, targets, lse, gradient of the loss; out: gradient of the logits, which may lie where
 * they do. */
KERNEL(token_loss_grad_kernel, 1024)
{
    const CallTensor &x = c.in[0];
    const int64_t v = x.size[x.n_dims - 1], n = x.count / v;
    const bool wide = lie_well(x, c.out[0]);
    for (int64_t row = blockIdx.x; row < n; row += gridDim.x) {
        const int64_t token = c.number[0] + row;
        const int32_t target = get_int(c.in[1], token);
        const double lse = get_double(c.in[2], token);
        write_gradient(x, row, target == IGNORED_TARGET ? 0 : (int)v, wide,
                       slopes_of(c.out[0], row, target, lse, get(c.in[3], token)));
    }
}

/* ---- both at once ---- */

/* As many of the first logits of a row as there is room for: the threads keep them from one pass
 * over the row to the next, and meanwhile fetch those of the block's next row. */
__device__ inline float *kept_logits()
{
#ifdef __CUDACC__
    extern __shared__ float4 kept[];
#else
    static float4 kept[16 << 10];
#endif
    return (float *)kept;
}

/* The logits that are this thread's, which needs no barrier to see them. */
__device__ static void keep(float *kept, const float *row, int n_kept)
{
    for (int j = (int)threadIdx.x * WIDE; j < n_kept; j += (int)blockDim.x * WIDE)
        copy_later((uint16_t *)(kept + j), (const uint16_t *)(row + j), true);
    end_copies();
}

/* Of the kept logits, each of which the next row's takes the place of. */
__device__ static void write_kept_slopes(const Slopes &s, float *kept, int n_kept, bool counts,
                                         const float *next)
{
    for (int j = (int)threadIdx.x * WIDE; j < n_kept; j += (int)blockDim.x * WIDE) {
        float x[WIDE] = {};
        if (counts) read<F32, WIDE>(kept, j, x);
        if (counts) find_slopes<WIDE>(s, j, j + WIDE, x);
        write<WIDE>(s.dtype, s.row, j, x);
        if (next) copy_later((uint16_t *)(kept + j), (const uint16_t *)(next + j), true);
    }
    end_copies();
}

/* Loss and gradient of logits in f32. in: logits, targets, gradient of the loss; out: loss,
 * gradient of the logits, which may lie where they do. number[1]: how many logits of a row are kept:
 * all, or whole batches of the block's reads, so that no sum tells how much room there was. */
KERNEL(token_step_kernel, 1024)
{
    const CallTensor &x = c.in[0], &dx = c.out[1];
    const int v = (int)x.size[x.n_dims - 1], n_kept = (int)c.number[1];
    const int64_t n = x.count / v, n_blocks = gridDim.x;
    const bool wide = lie_well(x, dx);
    float *kept = kept_logits();
    if (blockIdx.x < n) keep(kept, (const float *)row_of(x, blockIdx.x), n_kept);
    for (int64_t row = blockIdx.x; row < n; row += n_blocks) {
        const int64_t token = c.number[0] + row;
        const int32_t target = get_int(c.in[1], token);
        const float dloss = get(c.in[2], token), *logits = (const float *)row_of(x, row);
        const bool counts = target >= 0 && target < v;
        ExpSum mine;
        wait_for_copies<0>();
        add_logits<F32, WIDE>(mine, kept, 0, n_kept);
        wide ? add_logits<F32, WIDE>(mine, logits, n_kept, v)
             : add_logits<F32, 1>(mine, logits, n_kept, v);
        const float of_target = counts && threadIdx.x == 0 ? logits[target] : 0;
        float top;
        const double sum = over_threads(mine, &top);
        if (threadIdx.x == 0) {
            if (!is_target(target, v)) fail(c, KERNEL_BAD_INDEX);
            put_double(c.out[0], token, counts ? log_sum(top, sum) - (double)of_target : 0);
        }
        const Slopes s = {
            row_of(dx, row), dx.dtype, target, top, 0, dloss * (1 / (float)sum), dloss
        };
        const int to = counts ? v : 0;
        wide ? write_slopes<F32, WIDE>(s, logits, n_kept, to, v)
             : write_slopes<F32, 1>(s, logits, n_kept, to, v);
        write_kept_slopes(s, kept, n_kept, counts,
                          row + n_blocks < n ? logits + n_blocks * v : NULL);
    }
}

/* ---- a vocabulary that ranks divide (vocabulary_cuda.c) ----
 *
 * This rank's part of it begins at number[1] and has number[2] of number[3] rows; further columns
 * are padding. Scratch is a SplitLoss. */

/* Each token's largest logit of this rank, and the log-sum-exp of this rank's. */
KERNEL(split_largest_kernel, 512)
{
    const CallTensor &x = c.in[0];
    const int64_t v = x.size[x.n_dims - 1], n = x.count / v;
    const SplitLoss s = split_loss_of(c.scratch, n);
    const bool wide = lie_well(x, x);
    for (int64_t row = blockIdx.x; row < n; row += gridDim.x) {
        float top;
        const double sum = over_threads(sum_of(x, row, (int)c.number[2], wide), &top);
        if (threadIdx.x != 0) continue;
        s.largest[row] = top;
        s.lse[row] = log_sum(top, sum);
    }
}

/* Then, relative to the largest of all ranks, the sum of its exponentials, and the target's logit.
 * in: logits, targets. */
KERNEL(split_sum_kernel, 512)
{
    const CallTensor &x = c.in[0];
    const int64_t v = x.size[x.n_dims - 1], n = x.count / v;
    const SplitLoss s = split_loss_of(c.scratch, n);
    for (int64_t row = thread_number(); row < n; row += all_threads()) {
        const int64_t own = (int64_t)get_int(c.in[1], c.number[0] + row) - c.number[1];
        s.sum[row] = exp(s.lse[row] - s.largest[row]);
        s.sum[n + row] = own >= 0 && own < c.number[2] ? get(x, row * v + own) : 0;
    }
}

/* Then, with the sums of all ranks, the loss. out: loss; lse stays in scratch. */
KERNEL(split_loss_kernel, 256)
{
    const CallTensor &x = c.in[0];
    const int64_t v = x.size[x.n_dims - 1], n = x.count / v;
    const SplitLoss s = split_loss_of(c.scratch, n);
    for (int64_t row = thread_number(); row < n; row += all_threads()) {
        const int64_t token = c.number[0] + row;
        const int32_t target = get_int(c.in[1], token);
        const double lse = log_sum(s.largest[row], s.sum[row]);
        if (!is_target(target, c.number[3])) fail(c, KERNEL_BAD_INDEX);
        const bool counts = target >= 0 && target < c.number[3];
        s.lse[row] = lse;
        put_double(c.out[0], token, counts ? lse - s.sum[n + row] : 0);
    }
}

/* The gradient of the logits, which may lie where they do. in: logits, targets, gradient of the
 * loss; scratch: the lse of these tokens. */
KERNEL(split_grad_kernel, 1024)
{
    const CallTensor &x = c.in[0], &dx = c.out[0];
    const int64_t v = x.size[x.n_dims - 1], n = x.count / v;
    const double *lse = (const double *)c.scratch;
    const bool wide = lie_well(x, dx);
    for (int64_t row = blockIdx.x; row < n; row += gridDim.x) {
        const int32_t target = get_int(c.in[1], c.number[0] + row);
        const bool counts = target >= 0 && target < c.number[3];
        write_gradient(x, row, counts ? (int)c.number[2] : 0, wide,
                       slopes_of(dx, row, (int)(target - c.number[1]), lse[row],
                                 get(c.in[2], c.number[0] + row)));
    }
}
