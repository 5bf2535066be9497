/* exp_dot_cuda.c - starts the kernels of exp_dot.cu. */
#include "device/cuda/cuda.h"
#include "ops/kernels.h"

static int run(const Launch *l)
{
    return cuda_run(l, "exp_dot_kernel", 0, 1, 256);
}

static int run_grad(const Launch *l)
{
    const int64_t blocks = cuda_blocks(l, tensor_count(&l->in[2]), 256);
    return cuda_run(l, "exp_dot_grad_kernel", 0, blocks, 256);
}

const KernelDef exp_dot_cuda[] = {
    { "exp_dot", "cuda", "any any>any", CPU_SCALAR, run, NULL, cuda_floats_fit },
    { "exp_dot_grad", "cuda", "any any any any>any any", CPU_SCALAR, run_grad, NULL,
      cuda_floats_fit },
    { 0 },
};
