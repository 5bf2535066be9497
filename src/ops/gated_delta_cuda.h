/* gated_delta_cuda.h - what the kernels of the gated delta rule and who starts them share. Also
 * compiles as CUDA. */
#ifndef OPS_GATED_DELTA_CUDA_H
#define OPS_GATED_DELTA_CUDA_H
#include "ops/gated_delta.h"

/* Threads of a block; the widest keys, and values in the backward pass; tokens behind which the
 * backward pass keeps S. */
enum {
    GATED_DELTA_WARPS = 8,
    GATED_DELTA_THREADS = 32 * GATED_DELTA_WARPS,
    GATED_DELTA_MOST = 256,
    GATED_DELTA_TOKENS = 32
};

/* Numbers that a block of the backward pass needs: S in front of each stretch of tokens, S behind
 * each of its tokens and in front of the first, their corrections, the gradient of S, and those of
 * the queries and keys. */
#ifdef __CUDACC__
__host__ __device__
#endif
    static inline int64_t
    gated_delta_floats(int64_t length, int64_t d, int64_t e)
{
    return (length / GATED_DELTA_TOKENS + 1 + GATED_DELTA_TOKENS + 1 + 1) * d * e +
           GATED_DELTA_TOKENS * e + 2 * length * d;
}
#endif
