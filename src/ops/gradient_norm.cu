/* gradient_norm.cu - the norm of all gradients, and the factor that clips them, on a GPU.
 *
 * Partial sums of a fixed number of pieces, added up in order: the same bits in every run. */
#include "device/cuda/kernel.h"
extern "C" {
#include "ops/gradient_norm.h"
}

__device__ static double joined(int64_t p, double a, double b)
{
    return p != 0 ? a + b : Largest()(a, b);
}

__device__ static double over_threads(int64_t p, double x)
{
    return p != 0 ? over_block(x, Sum(), 0.0) : over_block(x, Largest(), 0.0);
}

__device__ static double size_of(int64_t p, float x)
{
    return p == 2 ? (double)x * x : fabs((double)x);
}

/* One number per block, in scratch. */
KERNEL(norm_pieces_kernel, 512)
{
    const int64_t p = attrs_of<GradientNorm>(c).p, n = c.in[0].count;
    double sum = 0;
    for (int64_t i = EIGHT * thread_number(); i < n; i += EIGHT * all_threads()) {
        const Eight x = get_eight(c.in[0], i, n - i);
#pragma unroll
        for (int k = 0; k < EIGHT; k++) sum = joined(p, sum, size_of(p, x.x[k]));
    }
    sum = over_threads(p, sum);
    if (threadIdx.x == 0) ((double *)c.scratch)[blockIdx.x] = sum;
}

/* One block: the pieces of the first kernel, number[0] of them. */
KERNEL(norm_join_kernel, 512)
{
    const int64_t p = attrs_of<GradientNorm>(c).p;
    const double *piece = (const double *)c.scratch;
    double sum = 0;
    for (int64_t i = threadIdx.x; i < c.number[0]; i += blockDim.x) sum = joined(p, sum, piece[i]);
    sum = over_threads(p, sum);
    if (threadIdx.x == 0) put_double(c.out[0], 0, sum);
}

/* One block: the norm from pieces that were copied to scratch. */
KERNEL(norm_total_kernel, 512)
{
    const int64_t p = attrs_of<GradientNorm>(c).p;
    const double *part = (const double *)c.scratch;
    double sum = 0;
    for (int64_t i = threadIdx.x; i < c.number[0]; i += blockDim.x) sum = joined(p, sum, part[i]);
    sum = over_threads(p, sum);
    if (threadIdx.x == 0) put_double(c.out[0], 0, p == 2 ? sqrt(sum) : sum);
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
