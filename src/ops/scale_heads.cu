/* scale_heads.cu - heads, each times a number of its own, on a GPU. */
#include "device/cuda/kernel.h"

/* Number[0]: width of a head. */
KERNEL(scale_heads_kernel, 256)
{
    const int64_t width = c.number[0], heads = c.in[1].count;
    for (int64_t i = thread_number(); i < c.in[0].count; i += all_threads())
        put(c.out[0], i, get(c.in[0], i) * get(c.in[1], i / width % heads));
}

/* A block per head. in: heads, their numbers, gradient of the result. */
KERNEL(scale_heads_grad_kernel, 256)
{
    const int64_t width = c.number[0], heads = c.in[1].count, h = blockIdx.x,
                  n = c.in[0].count / heads;
    const float factor = get(c.in[1], h);
    float sum = 0;
    for (int64_t i = threadIdx.x; i < n; i += blockDim.x) {
        const int64_t at = (i / width * heads + h) * width + i % width;
        const float d = get(c.in[2], at);
        sum += d * get(c.in[0], at);
        put(c.out[0], at, d * factor);
    }
    sum = over_block(sum, Sum(), 0.0f);
    if (threadIdx.x == 0) put(c.out[1], h, sum);
}
