/* cross_entropy_cuda.c - starts the kernels of cross_entropy.cu. */
#include "ops/token_loss_cuda.h"
#include "ops/vocabulary_cuda.h"

/* The last dimension of the logits is the vocabulary. */
static int64_t tokens_of(const Launch *l)
{
    return tensor_count(&l->in[1]);
}

static int vocabulary_dim(const Launch *l)
{
    return l->in[0].n_dims - 1;
}

static bool is_split(const Launch *l)
{
    return l->in[0].part[vocabulary_dim(l)] != NULL;
}

static bool serves(const Launch *l)
{
    return !is_split(l) || split_loss_serves(&l->in[0], vocabulary_dim(l));
}

static size_t scratch(const Launch *l, int n_threads)
{
    (void)n_threads;
    return is_split(l) ? split_loss_bytes(tokens_of(l)) : 0;
}

static int forward(const Launch *l)
{
    const int64_t n = tokens_of(l);
    Call c = cuda_call(l);
    if (!is_split(l)) return token_loss_start(l, "token_loss_kernel", &c, n);
    const int status = split_loss_start(l, &c, n, &l->in[0], vocabulary_dim(l), l->scratch);
    if (status) return status;
    return cuda_move(l, l->out[1].data, split_loss_of(l->scratch, n).lse,
                     sizeof(double) * (size_t)n);
}

static int backward(const Launch *l)
{
    const int64_t n = tokens_of(l);
    Call c = cuda_call(l);
    if (!is_split(l)) return token_loss_start(l, "token_loss_grad_kernel", &c, n);
    c.in[2] = c.in[3];
    return split_grad_start(l, &c, n, &l->in[0], vocabulary_dim(l), l->in[2].data);
}

/* clang-format off */
const KernelDef cross_entropy_cuda[] = {
    { "cross_entropy", "cuda", "f32 i32>f32 f64", CPU_SCALAR, forward, scratch, serves },
    { "cross_entropy", "cuda", "bf16 i32>f32 f64", CPU_SCALAR, forward, scratch, serves },
    { "cross_entropy", "cuda", "f16 i32>f32 f64", CPU_SCALAR, forward, scratch, serves },
    { "cross_entropy_grad", "cuda", "f32 i32 f64 f32>f32", CPU_SCALAR, backward, NULL, serves },
    { "cross_entropy_grad", "cuda", "bf16 i32 f64 f32>bf16", CPU_SCALAR, backward, NULL, serves },
    { "cross_entropy_grad", "cuda", "f16 i32 f64 f32>f16", CPU_SCALAR, backward, NULL, serves },
    { "cross_entropy_grad", "cuda", "bf16 i32 f64 f32>f32", CPU_SCALAR, backward, NULL, serves },
    { "cross_entropy_grad", "cuda", "f16 i32 f64 f32>f32", CPU_SCALAR, backward, NULL, serves },
    { 0 },
};
/* clang-format on */
