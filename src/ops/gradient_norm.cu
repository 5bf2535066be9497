/* gradient_norm.cu - the norm of all gradients, and the factor that clips them, on a GPU.
 *
 * Partial sums of a fixed number of pieces, added up in order: the same bits in every run. */
#include "device/cuda/kernel.h"
extern "C" {
#include "ops/gradient_norm.h"
#include "ops/gradient_norm_cuda.h"
}

__device__ static double joined(int64_t p, double a, double b)
{
    return p != 0 ? a + b : Largest()(a, b);
}

__device__ static double over_threads(int64_t p, double x)
{
    return p != 0 ? over_block(x, Sum(), 0.0) : over_block(x, Largest(), 0.0);
}

template <int P> __device__ static double size_of(float x)
{
    return P == 2 ? (double)x * x : fabs((double)x);
}

/* Eights of a gradient that a thread loads before it uses the first. */
constexpr int AT_ONCE = 4;

/* Four sums, so that no addition waits for the one before. */
template <int P> __device__ static double sum_of_thread(const CallTensor &x)
{
    const int64_t n = x.count, stride = EIGHT * all_threads();
    const int64_t whole = has_eights(x) ? n / EIGHT * EIGHT : 0;
    double sum[4] = {};
    for (int64_t from = EIGHT * thread_number(); from < whole; from += AT_ONCE * stride) {
        EightRaw raw[AT_ONCE];
#pragma unroll
        for (int j = 0; j < AT_ONCE; j++)
            raw[j] = from + j * stride < whole ? load_eight(x, from + j * stride) : EightRaw();
#pragma unroll
        for (int j = 0; j < AT_ONCE; j++) {
            const Eight e = widen_eight(x.dtype, raw[j]);
#pragma unroll
            for (int k = 0; k < EIGHT; k++)
                sum[k % 4] = joined(P, sum[k % 4], size_of<P>(e.x[k]));
        }
    }
    for (int64_t i = whole + thread_number(); i < n; i += all_threads())
        sum[0] = joined(P, sum[0], size_of<P>(get(x, i)));
    return joined(P, joined(P, sum[0], sum[1]), joined(P, sum[2], sum[3]));
}

/* One number per block, in scratch; of a single block, the result. Room for 1024 threads, though
 * most blocks have 256: more of them are there at once. */
KERNEL(norm_pieces_kernel, 1024)
{
    const int64_t p = attrs_of<GradientNorm>(c).p;
    const CallTensor &x = c.in[0];
    double sum = p == 2   ? sum_of_thread<2>(x)
                 : p == 1 ? sum_of_thread<1>(x)
                          : sum_of_thread<0>(x);
    sum = over_threads(p, sum);
    if (threadIdx.x != 0) return;
    if (gridDim.x == 1)
        put_double(c.out[0], 0, sum);
    else
        ((double *)c.scratch)[blockIdx.x] = sum;
}

/* One block: the pieces of the first kernel, number[0] of them. */
KERNEL(norm_join_kernel, 1024)
{
    const int64_t p = attrs_of<GradientNorm>(c).p;
    const double *piece = (const double *)c.scratch;
    double sum = 0;
    for (int i = threadIdx.x; i < c.number[0]; i += blockDim.x) sum = joined(p, sum, piece[i]);
    sum = over_threads(p, sum);
    if (threadIdx.x == 0) put_double(c.out[0], 0, sum);
}

/* One block: joins a group of partials to what scratch has of the number[0] partials before; after
 * the last one, which number[1] tells, the norm. */
KERNEL(norm_total_kernel, 64)
{
    const NormGroup &group = attrs_of<NormGroup>(c);
    const int64_t p = group.p;
    double *sofar = (double *)c.scratch;
    double sum = 0;
    for (int i = threadIdx.x; i < group.n; i += blockDim.x)
        sum = joined(p, sum, *group.partial[i]);
    sum = over_threads(p, sum);
    if (threadIdx.x != 0) return;
    if (c.number[0]) sum = joined(p, *sofar, sum);
    if (c.number[1])
        put_double(c.out[0], 0, p == 2 ? sqrt(sum) : sum);
    else
        *sofar = sum;
}

KERNEL(clip_factor_kernel, 32)
{
    const double limit = attrs_of<Clip>(c).max_norm, norm = get_double(c.in[0], 0);
    const double factor = limit > 0 ? limit / (norm + 1e-6) : 1;
    if (threadIdx.x == 0) put_double(c.out[0], 0, factor > 1 ? 1 : factor);
}

KERNEL(unscale_kernel, 32)
{
    const double scale = c.now->gradient_scale;
    if (threadIdx.x == 0) put_double(c.out[0], 0, get_double(c.in[0], 0) / (scale > 0 ? scale : 1));
}

/* Whether an update is left out (Device.gate); in: lists of numbers, 8 bytes apart; number[k] of
 * list k; out: where kernels are told, and where the next update's and the host are. */
KERNEL(gate_kernel, 256)
{
    bool *const told = (bool *)c.out[0].data, *const verdict = (bool *)c.out[1].data;
    bool is_out = c.fault->status != 0 || (c.now->is_ahead && *verdict);
    for (int k = 0; k < c.n_in; k++) {
        const int64_t step = c.in[k].dtype == F64 ? 1 : 2;
        for (int64_t i = threadIdx.x; i < c.number[k]; i += blockDim.x)
            is_out |= !isfinite(get_double(c.in[k], i * step));
    }
    __syncthreads();
    if (threadIdx.x == 0) *told = *verdict = false;
    __syncthreads();
    if (is_out) *told = *verdict = true;
}
