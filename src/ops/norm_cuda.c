/* norm_cuda.c - starts the kernels of norm.cu. */
#include "ops/column_sums_cuda.h"
#include "ops/norm.h"
#include <string.h>

/* Threads for a row of d elements: whole warps. */
static int threads_for(const Launch *l)
{
    const int64_t d = l->in[0].size[l->in[0].n_dims - 1];
    return d <= 128 ? 32 : d <= 512 ? 64 : d <= 1024 ? 128 : 256;
}

static int64_t rows_of(const Launch *l)
{
    const int64_t d = l->in[0].size[l->in[0].n_dims - 1];
    return d ? tensor_count(&l->in[0]) / d : 0;
}

static int forward(const Launch *l, const char *kernel)
{
    const int64_t rows = rows_of(l), most = (int64_t)64 * cuda_multiprocessors(l);
    return cuda_run(l, kernel, sizeof(NormAttrs), rows < most ? rows : most, threads_for(l));
}

static size_t scratch(const Launch *l, int n_threads)
{
    size_t columns = 0;
    (void)n_threads;
    for (int k = 1; k < l->n_out; k++) columns += (size_t)tensor_count(&l->out[k]);
    return sizeof(float) * columns * (size_t)column_pieces(rows_of(l));
}

static int backward(const Launch *l, const char *kernel)
{
    Call c = cuda_call(l);
    memcpy(c.attrs, l->attrs, sizeof(NormAttrs));
    c.number[0] = column_pieces(rows_of(l));
    if (rows_of(l) == 0) return KERNEL_OK;
    const int64_t most = rows_of(l);
    const int64_t blocks = l->n_out > 1 ? c.number[0] : most;
    const int status = cuda_start(l, kernel, &c, blocks, threads_for(l), 0);
    return status || l->n_out == 1 ? status : column_sums_join(l, &c, 1);
}

static int run_rms_norm(const Launch *l)
{
    return forward(l, "rms_norm_kernel");
}

static int run_layer_norm(const Launch *l)
{
    return forward(l, "layer_norm_kernel");
}

static int run_rms_norm_grad(const Launch *l)
{
    return backward(l, "rms_norm_grad_kernel");
}

static int run_layer_norm_grad(const Launch *l)
{
    return backward(l, "layer_norm_grad_kernel");
}

/* clang-format off */
const KernelDef norm_cuda[] = {
    { "rms_norm", "cuda", "any>any", CPU_SCALAR, run_rms_norm, NULL, cuda_floats_fit },
    { "rms_norm", "cuda", "any any>any", CPU_SCALAR, run_rms_norm, NULL, cuda_floats_fit },
    { "rms_norm", "cuda", "any any any>any", CPU_SCALAR, run_rms_norm, NULL, cuda_floats_fit },
    { "rms_norm_grad", "cuda", "any any>any", CPU_SCALAR, run_rms_norm_grad, scratch, cuda_floats_fit },
    { "rms_norm_grad", "cuda", "any any any>any any", CPU_SCALAR, run_rms_norm_grad, scratch, cuda_floats_fit },
    { "rms_norm_grad", "cuda", "any any any>any any any", CPU_SCALAR, run_rms_norm_grad, scratch, cuda_floats_fit },
    { "layer_norm", "cuda", "any>any", CPU_SCALAR, run_layer_norm, NULL, cuda_floats_fit },
    { "layer_norm", "cuda", "any any>any", CPU_SCALAR, run_layer_norm, NULL, cuda_floats_fit },
    { "layer_norm", "cuda", "any any any>any", CPU_SCALAR, run_layer_norm, NULL, cuda_floats_fit },
    { "layer_norm_grad", "cuda", "any any>any", CPU_SCALAR, run_layer_norm_grad, scratch, cuda_floats_fit },
    { "layer_norm_grad", "cuda", "any any>any any", CPU_SCALAR, run_layer_norm_grad, scratch, cuda_floats_fit },
    { "layer_norm_grad", "cuda", "any any any>any any", CPU_SCALAR, run_layer_norm_grad, scratch, cuda_floats_fit },
    { "layer_norm_grad", "cuda", "any any any>any any any", CPU_SCALAR, run_layer_norm_grad, scratch, cuda_floats_fit },
    { 0 },
};
/* clang-format on */
