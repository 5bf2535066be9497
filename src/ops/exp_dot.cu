/* exp_dot.cu - the exponential of a product of two vectors, on a GPU. */
#include "device/cuda/kernel.h"

/* One block. */
KERNEL(exp_dot_kernel, 256)
{
    float dot = 0;
    for (int64_t i = threadIdx.x; i < c.in[0].count; i += blockDim.x)
        dot += get(c.in[0], i) * get(c.in[1], i);
    dot = over_block(dot, Sum(), 0.0f);
    if (threadIdx.x == 0) put(c.out[0], 0, expf(dot));
}

/* in: the gradient of the result, the result, the vectors. */
KERNEL(exp_dot_grad_kernel, 256)
{
    const float slope = get(c.in[0], 0) * get(c.in[1], 0);
    for (int64_t i = thread_number(); i < c.in[2].count; i += all_threads()) {
        put(c.out[0], i, slope * get(c.in[3], i));
        put(c.out[1], i, slope * get(c.in[2], i));
    }
}
