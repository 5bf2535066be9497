/* mean_valid.cu - means, sums and counts over the tokens that have a target, on a GPU. One block:
 * these are one number per token. */
#include "device/cuda/kernel.h"
extern "C" {
#include "tensor/target.h"
}

__device__ static double count_targets(const CallTensor &targets)
{
    double n = 0;
    for (int64_t i = threadIdx.x; i < targets.count; i += blockDim.x)
        n += get_int(targets, i) != IGNORED_TARGET;
    return over_block(n, Sum(), 0.0);
}

__device__ static double sum_valid(const CallTensor &loss, const CallTensor &targets)
{
    double sum = 0;
    for (int64_t i = threadIdx.x; i < targets.count; i += blockDim.x)
        if (get_int(targets, i) != IGNORED_TARGET) sum += get_double(loss, i);
    return over_block(sum, Sum(), 0.0);
}

__device__ static void spread(const Call &c, double each)
{
    const CallTensor &targets = c.in[0];
    for (int64_t i = thread_number(); i < targets.count; i += all_threads())
        put_double(c.out[0], i, get_int(targets, i) == IGNORED_TARGET ? 0 : each);
}

KERNEL(count_valid_kernel, 1024)
{
    const double n = count_targets(c.in[0]);
    if (threadIdx.x == 0) put_double(c.out[0], 0, n);
}

KERNEL(mean_valid_kernel, 1024)
{
    const double sum = sum_valid(c.in[0], c.in[1]), n = get_double(c.in[2], 0);
    if (threadIdx.x == 0) put_double(c.out[0], 0, n != 0 ? sum / n : 0);
}

KERNEL(sum_valid_kernel, 1024)
{
    const double sum = sum_valid(c.in[0], c.in[1]);
    if (threadIdx.x == 0) put_double(c.out[0], 0, sum);
}

KERNEL(mean_valid_grad_kernel, 256)
{
    spread(c, get_double(c.in[2], 0) / get_double(c.in[1], 0));
}

KERNEL(sum_valid_grad_kernel, 256)
{
    spread(c, get_double(c.in[1], 0));
}
