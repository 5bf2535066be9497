/* grid.cu - numbers rounded to a few steps on each side of 0, and what they are measured by, on a
 * GPU. */
#include "device/cuda/kernel.h"
extern "C" {
#include "ops/grid.h"
}

/* Rows of number[0] elements: a block for each. */
KERNEL(grid_largest_kernel, 256)
{
    const int64_t width = c.number[0];
    for (int64_t row = blockIdx.x; row < c.out[0].count; row += gridDim.x) {
        float most = 0;
        for (int64_t j = threadIdx.x; j < width; j += blockDim.x)
            most = Largest()(most, fabsf(get(c.in[0], row * width + j)));
        most = over_block(most, Largest(), 0.0f);
        if (threadIdx.x == 0) put(c.out[0], row, most);
    }
}

/* One sum per block, in scratch. */
KERNEL(grid_sum_kernel, 256)
{
    double sum = 0;
    for (int64_t i = EIGHT * thread_number(); i < c.in[0].count; i += EIGHT * all_threads()) {
        const Eight e = get_eight(c.in[0], i, c.in[0].count - i);
        float part = 0;
#pragma unroll
        for (int k = 0; k < EIGHT; k++) part += fabsf(e.x[k]);
        sum += part;
    }
    sum = over_block(sum, Sum(), 0.0);
    if (threadIdx.x == 0) ((double *)c.scratch)[blockIdx.x] = sum;
}

/* One block; number[0] is how many there were. */
KERNEL(grid_mean_kernel, 256)
{
    double sum = 0;
    for (int64_t i = threadIdx.x; i < c.number[0]; i += blockDim.x)
        sum += ((const double *)c.scratch)[i];
    sum = over_block(sum, Sum(), 0.0);
    if (threadIdx.x == 0) put_double(c.out[0], 0, sum / (double)attrs_of<GridSize>(c).count);
}

/* As grid_scale. */
__device__ static float scale_of(float size, float steps)
{
    return steps / (size < 1e-5f ? 1e-5f : size);
}

/* Rows of number[0] elements that have a size each. */
KERNEL(grid_round_kernel, 256)
{
    const int64_t width = c.number[0];
    const float most = (float)attrs_of<GridRound>(c).steps;
    for (int64_t i = EIGHT * thread_number(); i < c.out[0].count; i += EIGHT * all_threads()) {
        const int64_t n = c.out[0].count - i < EIGHT ? c.out[0].count - i : EIGHT;
        Eight e = get_eight(c.in[0], i, n);
#pragma unroll
        for (int k = 0; k < EIGHT; k++) {
            if (k >= n) continue;
            const float scale = scale_of(get(c.in[1], (i + k) / width), most),
                        at = rintf(e.x[k] * scale);
            e.x[k] = (at > most ? most : at < -most ? -most : at) / scale;
        }
        put_eight(c.out[0], i, n, e);
    }
}
