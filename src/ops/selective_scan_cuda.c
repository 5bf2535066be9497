/* selective_scan_cuda.c - starts the kernels of selective_scan.cu and
 * selective_scan_grad.cu. */
#include "ops/selective_scan_cuda.h"
#include "device/cuda/cuda.h"
#include "ops/kernels.h"

/* Of x [b s c]. */
static int64_t blocks_of(const Tensor *x)
{
    return x->size[0] * scan_blocks(x->size[2]);
}

static int forward(const Launch *l)
{
    return cuda_run(l, "selective_scan_kernel", 0, blocks_of(&l->in[1]), SCAN_THREADS);
}

static int cached(const Launch *l)
{
    return cuda_run(l, "selective_scan_cached_kernel", 0, blocks_of(&l->in[2]), SCAN_THREADS);
}

static int backward(const Launch *l)
{
    enum { THREADS = 256 };
    const int64_t n = tensor_count(&l->in[2]) + tensor_count(&l->in[3]);
    const int status =
        cuda_run(l, "selective_scan_grad_kernel", 0, blocks_of(&l->in[1]), SCAN_THREADS);
    return status != KERNEL_OK
               ? status
               : cuda_run(l, "selective_scan_sums_kernel", 0, cuda_blocks(l, n, THREADS), THREADS);
}

static size_t backward_scratch(const Launch *l, int n_threads)
{
    const Tensor *x = &l->in[1];
    const int64_t length = x->size[1], n = l->in[4].size[1];
    (void)n_threads;
    return sizeof(float) * (size_t)(blocks_of(x) * (scan_states(length, n) + scan_sums(length, n)) +
                                    x->size[0] * x->size[2] * (n + 2));
}

static bool serves(const Launch *l)
{
    return cuda_floats_fit(l) && l->in[4].size[1] <= SCAN_MOST;
}

static bool serves_cached(const Launch *l)
{
    return cuda_floats_fit(l) && l->in[5].size[1] <= SCAN_MOST;
}

/* clang-format off */
const KernelDef selective_scan_cuda[] = {
    { "selective_scan", "cuda", "any any any any any any any>any", CPU_SCALAR, forward, NULL, serves },
    { "selective_scan", "cuda", "any any any any any any any i32>any", CPU_SCALAR, forward, NULL, serves },
    { "selective_scan_grad", "cuda", "any any any any any any any any any>any any any any any any any", CPU_SCALAR, backward, backward_scratch, serves },
    { "selective_scan_grad", "cuda", "any any any any any any any i32 any any>any any any any any any any", CPU_SCALAR, backward, backward_scratch, serves },
    { "selective_scan_cached", "cuda", "f32 any any any any any any any>f32 any", CPU_SCALAR, cached, NULL, serves_cached },
    { 0 },
};
/* clang-format on */
