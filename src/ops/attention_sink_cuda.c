/* attention_sink_cuda.c - starts the kernels of attention_sink.cu. */
#include "device/cuda/cuda.h"
#include "ops/kernels.h"

static int run_sink(const Launch *l)
{
    return cuda_run(l, "attention_sink_kernel", 0,
                    cuda_blocks(l, 32 * tensor_count(&l->in[1]), 256), 256);
}

static int run_join(const Launch *l)
{
    return cuda_run(l, "attention_join_kernel", 0,
                    cuda_blocks(l, 32 * tensor_count(&l->in[1]), 256), 256);
}

static int run_grad(const Launch *l)
{
    return cuda_run(l, "attention_sink_grad_kernel", 0, tensor_count(&l->in[2]), 256);
}

const KernelDef attention_sink_cuda[] = {
    { "attention_sink", "cuda", "any f32 any>any f32", CPU_SCALAR, run_sink, NULL,
      cuda_floats_fit },
    { "attention_join", "cuda", "any f32 any f32>any f32", CPU_SCALAR, run_join, NULL,
      cuda_floats_fit },
    { "attention_sink_grad", "cuda", "any f32 any any>any", CPU_SCALAR, run_grad, NULL,
      cuda_floats_fit },
    { 0 },
};
