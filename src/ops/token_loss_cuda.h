/* token_loss_cuda.h - losses of tokens from their logits (cross_entropy.cu), for whole logits and
 * for chunks of them. */
#ifndef OPS_TOKEN_LOSS_CUDA_H
#define OPS_TOKEN_LOSS_CUDA_H
#include "device/cuda/cuda.h"
#include "ops/kernels.h"

/* A block per token. */
static inline int token_loss_start(const Launch *l, const char *kernel, const Call *c, int64_t n)
{
    const int64_t v = c->in[0].size[c->in[0].n_dims - 1], most = 65536;
    const int threads = v <= 256 ? 64 : v <= 2048 ? 256 : 512;
    return cuda_start(l, kernel, c, n < most ? n : most, threads, 0);
}
#endif
