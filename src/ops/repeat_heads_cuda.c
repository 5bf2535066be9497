/* repeat_heads_cuda.c - starts the kernels of repeat_heads.cu. */
#include "device/cuda/cuda.h"
#include "ops/kernels.h"

static int run(const Launch *l, const char *kernel)
{
    const Call c = cuda_call(l);
    return cuda_start(l, kernel, &c, cuda_blocks(l, tensor_count(&l->out[0]), 256), 256, 0);
}

static int run_repeat(const Launch *l)
{
    return run(l, "repeat_heads_kernel");
}

static int run_grad(const Launch *l)
{
    return run(l, "repeat_heads_grad_kernel");
}

const KernelDef repeat_heads_cuda[] = {
    { "repeat_heads", "cuda", "any>any", CPU_SCALAR, run_repeat, NULL, cuda_floats_fit },
    { "repeat_heads_grad", "cuda", "any>any", CPU_SCALAR, run_grad, NULL, cuda_floats_fit },
    { 0 },
};
