/* mean_valid.cu - means, sums and counts over the tokens that have a target, on a GPU. One block:
 * these are one number per token. */
#include "device/cuda/kernel.h"
extern "C" {
#include "tensor/target.h"
}

/* Elements that a thread loads before it uses the first. Their dtypes are told apart outside of the
 * loops, else each would be waited for. */
constexpr int AT_ONCE = 8;

template <class Target> __device__ static double count_of(const Target *target, int64_t n)
{
    int64_t sum = 0;
    for (int64_t from = threadIdx.x; from < n; from += AT_ONCE * blockDim.x) {
        Target each[AT_ONCE];
#pragma unroll
        for (int j = 0; j < AT_ONCE; j++) {
            const int64_t i = from + j * (int)blockDim.x;
            each[j] = i < n ? target[i] : (Target)IGNORED_TARGET;
        }
#pragma unroll
        for (int j = 0; j < AT_ONCE; j++) sum += each[j] != IGNORED_TARGET;
    }
    return (double)sum;
}

__device__ static double count_targets(const CallTensor &targets)
{
    const double n = targets.dtype == I64 ? count_of((const int64_t *)targets.data, targets.count)
                                          : count_of((const int32_t *)targets.data, targets.count);
    return over_block(n, Sum(), 0.0);
}

__device__ static double sum_of_f32(const float *loss, const int32_t *target, int64_t n)
{
    double sum = 0;
    for (int64_t from = threadIdx.x; from < n; from += AT_ONCE * blockDim.x) {
        float each[AT_ONCE];
        int32_t of[AT_ONCE];
#pragma unroll
        for (int j = 0; j < AT_ONCE; j++) {
            const int64_t i = from + j * (int)blockDim.x;
            each[j] = i < n ? loss[i] : 0;
            of[j] = i < n ? target[i] : IGNORED_TARGET;
        }
#pragma unroll
        for (int j = 0; j < AT_ONCE; j++) sum += of[j] != IGNORED_TARGET ? (double)each[j] : 0;
    }
    return sum;
}

__device__ static double sum_valid(const CallTensor &loss, const CallTensor &targets)
{
    double sum = 0;
    if (loss.dtype == F32 && targets.dtype == I32)
        sum = sum_of_f32((const float *)loss.data, (const int32_t *)targets.data, targets.count);
    else
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
