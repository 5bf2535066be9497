/* embed_cuda.c - starts the kernels of embed.cu. */
#include "device/cuda/cuda.h"
#include "ops/kernels.h"

static int run_embed(const Launch *l)
{
    return cuda_run(l, "embed_kernel", 0, cuda_blocks(l, tensor_count(&l->out[0]), 256), 256);
}

/* Where the tokens of a row begin, and the tokens by row. */
static size_t start_bytes(const Launch *l)
{
    return sizeof(int32_t) * (size_t)(l->out[0].size[0] + 1);
}

static size_t scratch(const Launch *l, int n_threads)
{
    (void)n_threads;
    return start_bytes(l) + sizeof(int32_t) * (size_t)tensor_count(&l->in[0]);
}

static int run_embed_grad(const Launch *l)
{
    const Call c = cuda_call(l);
    const int64_t n = c.in[0].count, rows = l->out[0].size[0];
    int status = cuda_clear(l, l->scratch, start_bytes(l));
    if (!status) status = cuda_start(l, "embed_count_kernel", &c, cuda_blocks(l, n, 256), 256, 0);
    if (!status) status = cuda_start(l, "embed_start_kernel", &c, 1, 1024, 0);
    if (!status)
        status = cuda_start(l, "embed_list_kernel", &c, cuda_blocks(l, 32 * rows, 256), 256, 0);
    if (!status)
        status = cuda_start(l, "embed_grad_kernel", &c, cuda_blocks(l, 32 * rows, 256), 256, 0);
    return status;
}

const KernelDef embed_cuda[] = {
    { "embed", "cuda", "any any>any", CPU_SCALAR, run_embed, NULL, cuda_floats_fit },
    { "embed_grad", "cuda", "any any>any", CPU_SCALAR, run_embed_grad, scratch, cuda_floats_fit },
    { 0 },
};
