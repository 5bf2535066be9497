/* select_keys_cuda.c - starts the kernel of select_keys.cu. */
#include "device/cuda/cuda.h"
#include "ops/kernels.h"

static int run(const Launch *l)
{
    return cuda_run(l, "select_keys_kernel", 0, tensor_volume(&l->in[0], 0, 2), 256);
}

static size_t scratch(const Launch *l, int n_threads)
{
    (void)n_threads;
    return sizeof(uint32_t) * (size_t)(tensor_volume(&l->in[0], 0, 2) * l->in[1].size[1]);
}

const KernelDef select_keys_cuda[] = {
    { "select_keys", "cuda", "any any any>i32", KERNEL_PLAIN, run, scratch, cuda_floats_fit },
    { "select_keys", "cuda", "any any any i32 i32>i32", KERNEL_PLAIN, run, scratch,
      cuda_floats_fit },
    { 0 },
};
