/* scale_heads_cuda.c - starts the kernels of scale_heads.cu. */
#include "device/cuda/cuda.h"
#include "ops/kernels.h"

static int run(const Launch *l, const char *kernel, int64_t blocks)
{
    Call c = cuda_call(l);
    c.number[0] = l->in[0].size[3];
    return cuda_start(l, kernel, &c, blocks, 256, 0);
}

static int run_scale(const Launch *l)
{
    return run(l, "scale_heads_kernel", cuda_blocks(l, tensor_count(&l->in[0]), 256));
}

static int run_grad(const Launch *l)
{
    return run(l, "scale_heads_grad_kernel", l->in[0].size[2]);
}

const KernelDef scale_heads_cuda[] = {
    { "scale_heads", "cuda", "any any>any", CPU_SCALAR, run_scale, NULL, cuda_floats_fit },
    { "scale_heads_grad", "cuda", "any any any>any any", CPU_SCALAR, run_grad, NULL,
      cuda_floats_fit },
    { 0 },
};
