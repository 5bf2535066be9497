/* xielu_cuda.c - starts the kernels of xielu.cu. */
#include "device/cuda/cuda.h"
#include "ops/kernels.h"

enum { MOST_BLOCKS = 4096 };

static int64_t blocks_of(const Launch *l)
{
    const int64_t n = cuda_blocks(l, tensor_count(&l->in[0]), 256);
    return n < MOST_BLOCKS ? n : MOST_BLOCKS;
}

static int run_xielu(const Launch *l)
{
    return cuda_run(l, "xielu_kernel", 0, blocks_of(l), 256);
}

static int run_grad(const Launch *l)
{
    Call c = cuda_call(l);
    c.number[0] = blocks_of(l);
    const int status = cuda_start(l, "xielu_grad_kernel", &c, c.number[0], 256, 0);
    return status ? status : cuda_start(l, "xielu_grad_join_kernel", &c, 1, 256, 0);
}

static size_t grad_scratch(const Launch *l, int n_threads)
{
    (void)l, (void)n_threads;
    return 2 * sizeof(float) * MOST_BLOCKS;
}

const KernelDef xielu_cuda[] = {
    { "xielu", "cuda", "any any any>any", CPU_SCALAR, run_xielu, NULL, cuda_floats_fit },
    { "xielu_grad", "cuda", "any any any any>any any any", CPU_SCALAR, run_grad, grad_scratch,
      cuda_floats_fit },
    { 0 },
};
