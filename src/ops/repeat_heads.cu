/* repeat_heads.cu - heads several times over, and the sums of their gradients, on a GPU. */
#include "device/cuda/kernel.h"

/* The head of `few` that head j of `many`, perhaps a part of them, repeats. */
__device__ inline int64_t repeated_head(const Call &c, const CallTensor &few, const CallTensor &many, int64_t j)
{
    return whole_index(c, many, 2, j) * few.size[2] / whole_size(c, many, 2);
}

KERNEL(repeat_heads_kernel, 256)
{
    const CallTensor &few = c.in[0], &many = c.out[0];
    const int64_t d = few.size[3], g = few.size[2], h = many.size[2];
    for (int64_t i = thread_number(); i < many.count; i += all_threads()) {
        const int64_t token = i / (h * d), head = repeated_head(c, few, many, i / d % h);
        put(many, i, get(few, (token * g + head) * d + i % d));
    }
}

KERNEL(repeat_heads_grad_kernel, 256)
{
    const CallTensor &many = c.in[0], &few = c.out[0];
    const int64_t d = few.size[3], g = few.size[2], h = many.size[2];
    for (int64_t i = thread_number(); i < few.count; i += all_threads()) {
        const int64_t token = i / (g * d), head = i / d % g;
        float sum = 0;
        for (int64_t j = 0; j < h; j++)
            if (repeated_head(c, few, many, j) == head) sum += get(many, (token * h + j) * d + i % d);
        put(few, i, sum);
    }
}
