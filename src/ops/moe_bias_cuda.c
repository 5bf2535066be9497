/* moe_bias_cuda.c - starts the kernels of moe_bias.cu. */
#include "device/cuda/cuda.h"
#include "ops/kernels.h"
#include "ops/moe_bias.h"

static int run_count(const Launch *l)
{
    return cuda_run(l, "moe_count_kernel", 0, tensor_count(&l->out[0]), 256);
}

static int run_load(const Launch *l)
{
    return cuda_run(l, "moe_load_kernel", 0, cuda_blocks(l, tensor_count(&l->in[0]), 256), 256);
}

static int run_even(const Launch *l)
{
    return cuda_run(l, "moe_even_kernel", sizeof(MoeEven), 1, 256);
}

static int run_shift(const Launch *l)
{
    return cuda_run(l, "moe_shift_kernel", 0, cuda_blocks(l, tensor_count(&l->out[0]), 256), 256);
}

/* clang-format off */
const KernelDef moe_bias_cuda[] = {
    { "moe_count", "cuda", "i32>f32", CPU_SCALAR, run_count, NULL, NULL },
    { "moe_load", "cuda", "f32>f32", CPU_SCALAR, run_load, NULL, NULL },
    { "moe_even", "cuda", "f32>f32 f32", CPU_SCALAR, run_even, NULL, NULL },
    { "moe_shift", "cuda", "any any>any", CPU_SCALAR, run_shift, NULL, cuda_floats_fit },
    { 0 },
};
/* clang-format on */
