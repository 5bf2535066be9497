/* index_loss_cuda.c - starts the kernels of index_loss.cu. */
#include "device/cuda/cuda.h"
#include "ops/index_loss.h"
#include "ops/kernels.h"

enum { WIDEST = 640, THREADS = 256, WARP = 32 }; /* as in selected_rows_cuda.h */

static bool serves(const Launch *l)
{
    return cuda_floats_fit(l) && l->in[0].size[3] <= WIDEST;
}

static int64_t all_queries(const Launch *l)
{
    return tensor_volume(&l->in[0], 0, 2);
}

static int forward(const Launch *l)
{
    const int status = cuda_run(l, "index_loss_kernel", sizeof(IndexLoss), all_queries(l), THREADS);
    return status ? status : cuda_run(l, "index_loss_sum_kernel", 0, 1, THREADS);
}

/* A number for each query. */
static size_t scratch(const Launch *l, int n_threads)
{
    (void)n_threads;
    return sizeof(double) * (size_t)all_queries(l);
}

static int backward(const Launch *l)
{
    enum { KEYS = THREADS / WARP }; /* of a block */
    const int64_t keys = tensor_volume(&l->in[1], 0, 2);
    const int status =
        cuda_run(l, "index_query_grad_kernel", sizeof(IndexLoss), all_queries(l), THREADS);
    if (status) return status;
    return cuda_run(l, "index_key_grad_kernel", sizeof(IndexLoss), (keys + KEYS - 1) / KEYS,
                    THREADS);
}

/* A number for each key of each list. */
static size_t backward_scratch(const Launch *l, int n_threads)
{
    (void)n_threads;
    return sizeof(float) * (size_t)tensor_count(&l->in[3]);
}

const KernelDef index_loss_cuda[] = {
    { "index_loss", "cuda", "any any any i32 f32>f32", KERNEL_PLAIN, forward, scratch, serves },
    { "index_loss_grad", "cuda", "any any any i32 f32 f32>any any any", KERNEL_PLAIN, backward,
      backward_scratch, serves },
    { 0 },
};
