/* gaussian_top_k.cu - max(0, x - mean - z deviation) over rows, on a GPU: a block per row. */
#include "device/cuda/kernel.h"
extern "C" {
#include "ops/gaussian_top_k.h"
}

struct Bound {
    float mean, deviation, bound;
};

/* Of the row that begins at element `at`; for all threads of the block. */
__device__ static Bound bound_of(const Call &c, int64_t at, int64_t d)
{
    const CallTensor &x = c.in[0];
    float sum = 0, square = 0;
    for (int64_t j = threadIdx.x; j < d; j += blockDim.x) sum += get(x, at + j);
    const float mean = over_block(sum, Sum(), 0.0f) / (float)d;
    for (int64_t j = threadIdx.x; j < d; j += blockDim.x) {
        const float v = get(x, at + j) - mean;
        square += v * v;
    }
    const float deviation = sqrtf(over_block(square, Sum(), 0.0f) / (float)d);
    return { mean, deviation, mean + (float)attrs_of<GaussianTopK>(c).z * deviation };
}

KERNEL(gaussian_top_k_kernel, 256)
{
    const CallTensor &x = c.in[0];
    const int64_t d = x.size[x.n_dims - 1];
    for (int64_t at = blockIdx.x * d; at < x.count; at += gridDim.x * d) {
        const Bound b = bound_of(c, at, d);
        for (int64_t j = at + threadIdx.x; j < at + d; j += blockDim.x) {
            const float v = get(x, j);
            put(c.out[0], j, v <= b.bound ? 0 : v - b.bound);
        }
    }
}

/* in: x, gradient of the result. */
KERNEL(gaussian_top_k_grad_kernel, 256)
{
    const CallTensor &x = c.in[0], &dy = c.in[1];
    const int64_t d = x.size[x.n_dims - 1];
    for (int64_t at = blockIdx.x * d; at < x.count; at += gridDim.x * d) {
        const Bound b = bound_of(c, at, d);
        float sum = 0;
        for (int64_t j = at + threadIdx.x; j < at + d; j += blockDim.x)
            sum += get(x, j) > b.bound ? get(dy, j) : 0;
        const float share = over_block(sum, Sum(), 0.0f) / (float)d;
        const float slope =
            b.deviation > 0 ? share * (float)attrs_of<GaussianTopK>(c).z / b.deviation : 0;
        for (int64_t j = at + threadIdx.x; j < at + d; j += blockDim.x) {
            const float v = get(x, j);
            put(c.out[0], j, (v > b.bound ? get(dy, j) : 0) - share - slope * (v - b.mean));
        }
    }
}
