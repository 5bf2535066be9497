/* moe_bias.cu - the load of experts and the biases that follow it, on a GPU. */
#include "device/cuda/kernel.h"
extern "C" {
#include "ops/moe_bias.h"
}

/* A block per expert. in: experts. */
KERNEL(moe_count_kernel, 256)
{
    const CallTensor &expert = c.in[0];
    double count = 0;
    for (int64_t i = threadIdx.x; i < expert.count; i += blockDim.x) {
        const int32_t own = get_int(expert, i);
        count += own == (int32_t)blockIdx.x;
        if (own < 0 || own >= c.out[0].count) fail(c, KERNEL_BAD_INDEX);
    }
    count = over_block(count, Sum(), 0.0);
    if (threadIdx.x == 0) put_double(c.out[0], blockIdx.x, count);
}

KERNEL(moe_load_kernel, 256)
{
    for (int64_t i = thread_number(); i < c.in[0].count; i += all_threads())
        put(c.out[0], i, get(c.in[0], i));
}

/* As in moe_bias.c. */
__device__ static double change_of(const CallTensor &load, int64_t i, double sum, double rate)
{
    const double above = get_double(load, i) * (double)load.count - sum;
    return above < 0 ? rate : above > 0 ? -rate : 0;
}

/* One block. in: load over all ranks; out: changes, load of this rank, which may be the input. */
KERNEL(moe_even_kernel, 256)
{
    const CallTensor &load = c.in[0];
    const int64_t n = load.count;
    const double rate = attrs_of<MoeEven>(c).rate;
    double sum = 0, shift = 0;
    for (int64_t i = threadIdx.x; i < n; i += blockDim.x) sum += get_double(load, i);
    sum = over_block(sum, Sum(), 0.0);
    for (int64_t i = threadIdx.x; i < n; i += blockDim.x)
        shift += change_of(load, i, sum, rate) / (double)n;
    shift = over_block(shift, Sum(), 0.0);
    for (int64_t i = threadIdx.x; i < n; i += blockDim.x) {
        set(c.out[0], i, change_of(load, i, sum, rate) - shift);
        set(c.out[1], i, 0);
    }
}

/* in: bias, change; out: the bias. */
KERNEL(moe_shift_kernel, 256)
{
    if (is_left_out(c)) return;
    for (int64_t i = thread_number(); i < c.out[0].count; i += all_threads())
        put(c.out[0], i, get(c.in[0], i) + get(c.in[1], i));
}
