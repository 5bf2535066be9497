/* cross_entropy_cuda.c - starts the kernels of cross_entropy.cu for whole logits. */
#include "ops/token_loss_cuda.h"

/* The last dimension of the logits is the vocabulary. */
static int64_t tokens_of(const Launch *l)
{
    return tensor_count(&l->in[1]);
}

static bool serves(const Launch *l)
{
    return l->in[0].part[l->in[0].n_dims - 1] == NULL; /* the vocabulary is whole */
}

static int forward(const Launch *l)
{
    const Call c = cuda_call(l);
    return token_loss_start(l, "token_loss_kernel", &c, tokens_of(l));
}

static int backward(const Launch *l)
{
    const Call c = cuda_call(l);
    return token_loss_start(l, "token_loss_grad_kernel", &c, tokens_of(l));
}

/* clang-format off */
const KernelDef cross_entropy_cuda[] = {
    { "cross_entropy", "cuda", "f32 i32>f32 f64", CPU_SCALAR, forward, NULL, serves },
    { "cross_entropy", "cuda", "bf16 i32>f32 f64", CPU_SCALAR, forward, NULL, serves },
    { "cross_entropy_grad", "cuda", "f32 i32 f64 f32>f32", CPU_SCALAR, backward, NULL, serves },
    { "cross_entropy_grad", "cuda", "bf16 i32 f64 f32>bf16", CPU_SCALAR, backward, NULL, serves },
    { "cross_entropy_grad", "cuda", "bf16 i32 f64 f32>f32", CPU_SCALAR, backward, NULL, serves },
    { 0 },
};
/* clang-format on */
