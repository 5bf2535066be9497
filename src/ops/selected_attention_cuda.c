/* selected_attention_cuda.c - starts the kernels of selected_attention.cu. */
#include "device/cuda/cuda.h"
#include "ops/kernels.h"
#include "ops/selected_attention.h"

enum { WIDEST = 640, THREADS = 256, WARP = 32 }; /* as in selected_attention.cu */

static bool serves(const Launch *l)
{
    return cuda_floats_fit(l) && l->in[0].size[4] <= WIDEST;
}

/* Of a warp for each row. */
static int64_t blocks(int64_t rows)
{
    return (rows + THREADS / WARP - 1) / (THREADS / WARP);
}

static int forward(const Launch *l)
{
    return cuda_run(l, "selected_attention_kernel", sizeof(SelectedAttention),
                    blocks(tensor_count(&l->out[1])), THREADS);
}

static int backward(const Launch *l)
{
    const int64_t rows = tensor_count(&l->in[5]), keys = tensor_volume(&l->in[1], 0, 3);
    int status =
        cuda_run(l, "attention_sums_kernel", 0, cuda_blocks(l, WARP * rows, THREADS), THREADS);
    if (!status)
        status = cuda_run(l, "selected_query_grad_kernel", sizeof(SelectedAttention), blocks(rows),
                          THREADS);
    if (!status)
        status = cuda_run(l, "selected_key_grad_kernel", sizeof(SelectedAttention), blocks(keys),
                          THREADS);
    return status;
}

/* A warp for each key of each list. */
static int shares(const Launch *l)
{
    return cuda_run(l, "selected_shares_kernel", sizeof(SelectedAttention),
                    blocks(tensor_count(&l->out[0])), THREADS);
}

/* A number per row of q. */
static size_t scratch(const Launch *l, int n_threads)
{
    (void)n_threads;
    return sizeof(float) * (size_t)tensor_count(&l->in[5]);
}

const KernelDef selected_attention_cuda[] = {
    { "selected_attention", "cuda", "any any any i32>any f32", KERNEL_PLAIN, forward, NULL,
      serves },
    { "selected_attention_grad", "cuda", "any any any i32 any f32 any>any any any", KERNEL_PLAIN,
      backward, scratch, serves },
    { "selected_shares", "cuda", "any any f32 i32>f32", KERNEL_PLAIN, shares, NULL, serves },
    { 0 },
};
