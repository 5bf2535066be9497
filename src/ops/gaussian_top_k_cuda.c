/* gaussian_top_k_cuda.c - starts the kernels of gaussian_top_k.cu. */
#include "device/cuda/cuda.h"
#include "ops/gaussian_top_k.h"
#include "ops/kernels.h"

static int run(const Launch *l, const char *kernel)
{
    const int64_t rows = tensor_count(&l->in[0]) / l->in[0].size[l->in[0].n_dims - 1];
    return cuda_run(l, kernel, sizeof(GaussianTopK), cuda_blocks(l, rows, 1), 256);
}

static int run_forward(const Launch *l)
{
    return run(l, "gaussian_top_k_kernel");
}

static int run_grad(const Launch *l)
{
    return run(l, "gaussian_top_k_grad_kernel");
}

const KernelDef gaussian_top_k_cuda[] = {
    { "gaussian_top_k", "cuda", "any>any", CPU_SCALAR, run_forward, NULL, cuda_floats_fit },
    { "gaussian_top_k_grad", "cuda", "any any>any", CPU_SCALAR, run_grad, NULL, cuda_floats_fit },
    { 0 },
};
