/* gated_delta_cuda.c - starts the kernels of gated_delta.cu. */
#include "ops/gated_delta_cuda.h"
#include "device/cuda/cuda.h"
#include "ops/kernels.h"

/* Of heads [b s g r e]. */
static int64_t blocks_of(const Tensor *v)
{
    enum { COLUMNS = 32 }; /* of a block */
    return v->size[0] * v->size[2] * v->size[3] * ((v->size[4] + COLUMNS - 1) / COLUMNS);
}

static int forward(const Launch *l)
{
    return cuda_run(l, "gated_delta_kernel", sizeof(GatedDelta), blocks_of(&l->in[2]),
                    GATED_DELTA_THREADS);
}

static int cached(const Launch *l)
{
    return cuda_run(l, "gated_delta_cached_kernel", sizeof(GatedDelta), blocks_of(&l->in[3]),
                    GATED_DELTA_THREADS);
}

static int backward(const Launch *l)
{
    return cuda_run(l, "gated_delta_grad_kernel", sizeof(GatedDelta),
                    l->in[0].size[0] * l->in[0].size[2], GATED_DELTA_THREADS);
}

static size_t backward_scratch(const Launch *l, int n_threads)
{
    const Tensor *q = &l->in[0];
    (void)n_threads;
    return sizeof(float) * (size_t)(q->size[0] * q->size[2] *
                                    gated_delta_floats(q->size[1], q->size[3], l->in[2].size[4]));
}

static bool serves(const Launch *l)
{
    return cuda_floats_fit(l) && l->in[0].size[3] <= GATED_DELTA_MOST;
}

static bool serves_cached(const Launch *l)
{
    return cuda_floats_fit(l) && l->in[1].size[3] <= GATED_DELTA_MOST;
}

static bool serves_grad(const Launch *l)
{
    return serves(l) && l->in[2].size[4] <= GATED_DELTA_MOST;
}

/* clang-format off */
const KernelDef gated_delta_cuda[] = {
    { "gated_delta", "cuda", "any any any any any>any", KERNEL_PLAIN, forward, NULL, serves },
    { "gated_delta", "cuda", "any any any any any i32>any", KERNEL_PLAIN, forward, NULL, serves },
    { "gated_delta_grad", "cuda", "any any any any any any>any any any any any", KERNEL_PLAIN, backward, backward_scratch, serves_grad },
    { "gated_delta_grad", "cuda", "any any any any any i32 any>any any any any any", KERNEL_PLAIN, backward, backward_scratch, serves_grad },
    { "gated_delta_cached", "cuda", "f32 any any any any any>f32 any", KERNEL_PLAIN, cached, NULL, serves_cached },
    { 0 },
};
/* clang-format on */
