/* gated_recurrence_cuda.c - starts the kernels of gated_recurrence.cu. */
#include "device/cuda/cuda.h"
#include "ops/gated_recurrence_gates.h"
#include "ops/kernels.h"

/* Of x [b s c]. */
static int64_t blocks_of(const Tensor *x)
{
    return x->size[0] * ((x->size[2] + RECURRENCE_FEATURES - 1) / RECURRENCE_FEATURES);
}

static int forward(const Launch *l)
{
    return cuda_run(l, "gated_recurrence_kernel", 0, blocks_of(&l->in[0]), RECURRENCE_THREADS);
}

static int cached(const Launch *l)
{
    return cuda_run(l, "gated_recurrence_cached_kernel", 0, blocks_of(&l->in[1]),
                    RECURRENCE_THREADS);
}

static int backward(const Launch *l)
{
    enum { THREADS = 256 };
    const int status =
        cuda_run(l, "gated_recurrence_grad_kernel", 0, blocks_of(&l->in[0]), RECURRENCE_THREADS);
    const int64_t blocks = cuda_blocks(l, tensor_count(&l->out[3]), THREADS);
    return status != KERNEL_OK ? status
                               : cuda_run(l, "gated_recurrence_sums_kernel", 0, blocks, THREADS);
}

static size_t backward_scratch(const Launch *l, int n_threads)
{
    const Tensor *x = &l->in[0];
    (void)n_threads;
    return sizeof(float) * (size_t)(x->size[0] * x->size[2]);
}

/* clang-format off */
const KernelDef gated_recurrence_cuda[] = {
    { "gated_recurrence", "cuda", "any any any any>any", CPU_SCALAR, forward, NULL, cuda_floats_fit },
    { "gated_recurrence", "cuda", "any any any any i32>any", CPU_SCALAR, forward, NULL, cuda_floats_fit },
    { "gated_recurrence_grad", "cuda", "any any any any any any any>any any any any", CPU_SCALAR, backward, backward_scratch, cuda_floats_fit },
    { "gated_recurrence_grad", "cuda", "any any any any i32 any any any>any any any any", CPU_SCALAR, backward, backward_scratch, cuda_floats_fit },
    { "gated_recurrence_cached", "cuda", "f32 any any any any>f32 any", CPU_SCALAR, cached, NULL, cuda_floats_fit },
    { 0 },
};
/* clang-format on */
