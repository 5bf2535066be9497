/* match_size.cu - rows made as large as other ones, on a GPU: a block per row. */
#include "device/cuda/kernel.h"
extern "C" {
#include "ops/match_size.h"
}

/* Of the rows that begin at element `at`; for all threads of the block. */
__device__ static float mean_product(const CallTensor &x, const CallTensor &y, int64_t at,
                                     int64_t d)
{
    float sum = 0;
    for (int64_t j = at + threadIdx.x; j < at + d; j += blockDim.x) sum += get(x, j) * get(y, j);
    return over_block(sum, Sum(), 0.0f) / (float)d;
}

KERNEL(match_size_kernel, 256)
{
    const CallTensor &x = c.in[0], &like = c.in[1];
    const int64_t d = x.size[x.n_dims - 1];
    const float least = (float)attrs_of<MatchSize>(c).least;
    for (int64_t at = blockIdx.x * d; at < x.count; at += gridDim.x * d) {
        const float square = mean_product(x, x, at, d), wanted = mean_product(like, like, at, d);
        const float factor = sqrtf(wanted) / sqrtf(fmaxf(square, least));
        for (int64_t j = at + threadIdx.x; j < at + d; j += blockDim.x)
            put(c.out[0], j, get(x, j) * factor);
    }
}

/* in: the rows, the others, gradient of the result. */
KERNEL(match_size_grad_kernel, 256)
{
    const CallTensor &x = c.in[0], &like = c.in[1], &dy = c.in[2];
    const int64_t d = x.size[x.n_dims - 1];
    const float least = (float)attrs_of<MatchSize>(c).least;
    for (int64_t at = blockIdx.x * d; at < x.count; at += gridDim.x * d) {
        const float square = mean_product(x, x, at, d), both = mean_product(dy, x, at, d);
        const float wanted = sqrtf(mean_product(like, like, at, d)),
                    size = sqrtf(fmaxf(square, least));
        const float kept = wanted / size, own = square < least ? 0 : both * kept / (size * size),
                    other = wanted > 0 ? both / (wanted * size) : 0;
        for (int64_t j = at + threadIdx.x; j < at + d; j += blockDim.x) {
            put(c.out[0], j, get(dy, j) * kept - get(x, j) * own);
            put(c.out[1], j, get(like, j) * other);
        }
    }
}
