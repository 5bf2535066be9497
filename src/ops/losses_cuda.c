/* losses_cuda.c - starts the kernels of mean_valid.cu. */
#include "device/cuda/cuda.h"
#include "ops/kernels.h"

static int run_count_valid(const Launch *l)
{
    return cuda_run(l, "count_valid_kernel", 0, 1, 1024);
}

static int run_mean_valid(const Launch *l)
{
    return cuda_run(l, "mean_valid_kernel", 0, 1, 1024);
}

static int run_sum_valid(const Launch *l)
{
    return cuda_run(l, "sum_valid_kernel", 0, 1, 1024);
}

static int spread(const Launch *l, const char *kernel)
{
    return cuda_run(l, kernel, 0, cuda_blocks(l, tensor_count(&l->out[0]), 256), 256);
}

static int run_mean_valid_grad(const Launch *l)
{
    return spread(l, "mean_valid_grad_kernel");
}

static int run_sum_valid_grad(const Launch *l)
{
    return spread(l, "sum_valid_grad_kernel");
}

/* clang-format off */
const KernelDef losses_cuda[] = {
    { "count_valid", "cuda", "i32>f64", CPU_SCALAR, run_count_valid, NULL, NULL },
    { "mean_valid", "cuda", "any i32 f64>any", CPU_SCALAR, run_mean_valid, NULL, NULL },
    { "mean_valid_grad", "cuda", "i32 f64 any>any", CPU_SCALAR, run_mean_valid_grad, NULL, NULL },
    { "sum_valid", "cuda", "any i32>any", CPU_SCALAR, run_sum_valid, NULL, NULL },
    { "sum_valid_grad", "cuda", "i32 any>any", CPU_SCALAR, run_sum_valid_grad, NULL, NULL },
    { 0 },
};
/* clang-format on */
