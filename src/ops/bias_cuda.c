/* bias_cuda.c - starts the kernels of bias.cu. */
#include "ops/column_sums_cuda.h"

static int run_add_bias(const Launch *l)
{
    return cuda_run_elements(l, "add_bias_kernel", 0);
}

static int64_t n_pieces(const Launch *l)
{
    const int64_t d = tensor_count(&l->out[0]);
    return column_pieces(d ? tensor_count(&l->in[0]) / d : 0);
}

static size_t scratch(const Launch *l, int n_threads)
{
    (void)n_threads;
    return sizeof(float) * (size_t)(n_pieces(l) * tensor_count(&l->out[0]));
}

static int run_add_bias_grad(const Launch *l)
{
    Call c = cuda_call(l);
    c.number[0] = n_pieces(l);
    const int64_t n = c.number[0] * c.out[0].count;
    const int status = cuda_start(l, "column_sums_kernel", &c, cuda_blocks(l, n, 256), 256, 0);
    return status ? status : column_sums_join(l, &c, 0);
}

const KernelDef bias_cuda[] = {
    { "add_bias", "cuda", "any any>any", CPU_SCALAR, run_add_bias, NULL, cuda_floats_fit },
    { "add_bias_grad", "cuda", "any>any", CPU_SCALAR, run_add_bias_grad, scratch, cuda_floats_fit },
    { 0 },
};
