/* causal_conv_cuda.c - starts the kernels of causal_conv.cu. */
#include "device/cuda/cuda.h"
#include "ops/kernels.h"

static int conv(const Launch *l)
{
    return cuda_run(l, "causal_conv_kernel", 0, cuda_blocks(l, tensor_count(&l->out[0]), 256), 256);
}

static int x_grad(const Launch *l)
{
    return cuda_run(l, "causal_conv_x_grad_kernel", 0,
                    cuda_blocks(l, tensor_count(&l->out[0]), 256), 256);
}

static int weight_grad(const Launch *l)
{
    enum { FEATURES = 32 }; /* of a block */
    const int64_t n = l->out[0].size[0], width = l->out[0].size[1];
    return cuda_run(l, "causal_conv_weight_grad_kernel", 0, (n + FEATURES - 1) / FEATURES * width,
                    256);
}

static int cached(const Launch *l)
{
    const int64_t n = l->in[1].size[0] * l->in[1].size[2];
    return cuda_run(l, "causal_conv_cached_kernel", 0, cuda_blocks(l, n, 256), 256);
}

/* clang-format off */
const KernelDef causal_conv_cuda[] = {
    { "causal_conv", "cuda", "any any any>any", CPU_SCALAR, conv, NULL, cuda_floats_fit },
    { "causal_conv", "cuda", "any any any i32>any", CPU_SCALAR, conv, NULL, cuda_floats_fit },
    { "causal_conv_x_grad", "cuda", "any any>any", CPU_SCALAR, x_grad, NULL, cuda_floats_fit },
    { "causal_conv_x_grad", "cuda", "any i32 any>any", CPU_SCALAR, x_grad, NULL, cuda_floats_fit },
    { "causal_conv_weight_grad", "cuda", "any any>any", CPU_SCALAR, weight_grad, NULL, cuda_floats_fit },
    { "causal_conv_weight_grad", "cuda", "any i32 any>any", CPU_SCALAR, weight_grad, NULL, cuda_floats_fit },
    { "causal_conv_cached", "cuda", "any any any>any any", CPU_SCALAR, cached, NULL, cuda_floats_fit },
    { 0 },
};
/* clang-format on */
