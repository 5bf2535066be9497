/* match_size_cuda.c - starts the kernels of match_size.cu. */
#include "device/cuda/cuda.h"
#include "ops/kernels.h"
#include "ops/match_size.h"

static int run(const Launch *l, const char *kernel)
{
    const int64_t rows = tensor_count(&l->in[0]) / l->in[0].size[l->in[0].n_dims - 1];
    return cuda_run(l, kernel, sizeof(MatchSize), cuda_blocks(l, rows, 1), 256);
}

static int run_forward(const Launch *l)
{
    return run(l, "match_size_kernel");
}

static int run_grad(const Launch *l)
{
    return run(l, "match_size_grad_kernel");
}

const KernelDef match_size_cuda[] = {
    { "match_size", "cuda", "any any>any", CPU_SCALAR, run_forward, NULL, cuda_floats_fit },
    { "match_size_grad", "cuda", "any any any>any any", CPU_SCALAR, run_grad, NULL,
      cuda_floats_fit },
    { 0 },
};
