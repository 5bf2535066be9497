/* hyper_cuda.c - starts the kernels of hyper.cu. */
#include "device/cuda/cuda.h"
#include "ops/hyper_sinkhorn.h"
#include "ops/kernels.h"
#include <string.h>

enum { TOKENS = 32, MOST_BLOCKS = 1024 }; /* threads of a block; blocks that have scratch */

static int64_t tokens_of(const Launch *l)
{
    return tensor_count(&l->in[0]) / hyper_width(l->attrs);
}

static int64_t blocks_of(const Launch *l)
{
    const int64_t n = (tokens_of(l) + TOKENS - 1) / TOKENS;
    return n < 1 ? 1 : n < MOST_BLOCKS ? n : MOST_BLOCKS;
}

/* Weights, their gradients and divisors. */
static int64_t thread_numbers(const Launch *l)
{
    return 2 * hyper_width(l->attrs) + hyper_divisors(l->attrs);
}

static size_t scratch(const Launch *l, int n_threads)
{
    (void)n_threads;
    return sizeof(double) * (size_t)(blocks_of(l) * TOKENS * thread_numbers(l));
}

static size_t grad_scratch(const Launch *l, int n_threads)
{
    return scratch(l, n_threads) + sizeof(float) * (size_t)tensor_count(&l->in[0]);
}

static Call call_of(const Launch *l)
{
    Call c = cuda_call(l);
    memcpy(c.attrs, l->attrs, sizeof(HyperWeights));
    c.number[0] = thread_numbers(l);
    c.number[1] = blocks_of(l) * TOKENS * thread_numbers(l);
    return c;
}

static int run_weights(const Launch *l)
{
    Call c = call_of(l);
    return cuda_start(l, "hyper_weights_kernel", &c, blocks_of(l), TOKENS, 0);
}

static int run_weights_grad(const Launch *l)
{
    Call c = call_of(l);
    const int64_t sums = hyper_width(l->attrs) + l->out[2].size[0];
    const int status = cuda_start(l, "hyper_weights_grad_kernel", &c, blocks_of(l), TOKENS, 0);
    return status ? status : cuda_start(l, "hyper_sums_kernel", &c, sums, 256, 0);
}

static int run_streams(const Launch *l, const char *kernel)
{
    const Tensor *x = &l->in[0];
    return cuda_run(l, kernel, 0, cuda_blocks(l, tensor_volume(x, 0, x->n_dims - 2), 1), 256);
}

static int run_read(const Launch *l)
{
    return run_streams(l, "hyper_read_kernel");
}

static int run_read_grad(const Launch *l)
{
    return run_streams(l, "hyper_read_grad_kernel");
}

static int run_write(const Launch *l)
{
    return run_streams(l, "hyper_write_kernel");
}

static int run_write_grad(const Launch *l)
{
    return run_streams(l, "hyper_write_grad_kernel");
}

const KernelDef hyper_cuda[] = {
    { "hyper_weights", "cuda", "any any any>any", CPU_SCALAR, run_weights, scratch,
      cuda_floats_fit },
    { "hyper_weights_grad", "cuda", "any any any any>any any any", CPU_SCALAR, run_weights_grad,
      grad_scratch, cuda_floats_fit },
    { "hyper_read", "cuda", "any any>any", CPU_SCALAR, run_read, NULL, cuda_floats_fit },
    { "hyper_read_grad", "cuda", "any any any>any any", CPU_SCALAR, run_read_grad, NULL,
      cuda_floats_fit },
    { "hyper_write", "cuda", "any any any>any", CPU_SCALAR, run_write, NULL, cuda_floats_fit },
    { "hyper_write_grad", "cuda", "any any any any>any any any", CPU_SCALAR, run_write_grad, NULL,
      cuda_floats_fit },
    { 0 },
};
