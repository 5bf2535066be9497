/* selective_scan_cuda.h - what the kernels of the selective scan and who starts them share. Also
 * compiles as CUDA. */
#ifndef OPS_SELECTIVE_SCAN_CUDA_H
#define OPS_SELECTIVE_SCAN_CUDA_H
#include <stdint.h>

/* Lanes that share the numbers of a feature; features of a block, and its threads; tokens that it
 * loads at once, behind which the backward pass keeps states; the widest state. */
enum {
    SCAN_LANES = 16,
    SCAN_FEATURES = 32,
    SCAN_THREADS = SCAN_LANES * SCAN_FEATURES,
    SCAN_TOKENS = 16,
    SCAN_MOST = 128
};

#ifdef __CUDACC__
#define SCAN_BOTH __host__ __device__ static inline
#else
#define SCAN_BOTH static inline
#endif

/* Blocks of a text. */
SCAN_BOTH int64_t scan_blocks(int64_t c)
{
    return (c + SCAN_FEATURES - 1) / SCAN_FEATURES;
}

/* Numbers of a lane: 1, 4 or 8. */
SCAN_BOTH int scan_count(int64_t n)
{
    return n <= SCAN_LANES ? 1 : n <= 4 * SCAN_LANES ? 4 : 8;
}

/* Floats of a text and block of the backward pass: states in front of each stretch of tokens, and
 * behind it those within one, which lanes with one number have in registers. */
SCAN_BOTH int64_t scan_starts(int64_t length, int64_t n)
{
    return ((length + SCAN_TOKENS - 1) / SCAN_TOKENS) * SCAN_FEATURES * n;
}

SCAN_BOTH int64_t scan_states(int64_t length, int64_t n)
{
    const int64_t count = scan_count(n), within = (SCAN_TOKENS + 1) * SCAN_THREADS;
    return scan_starts(length, n) + (count > 1 ? within * count : 0);
}

/* Sums over its features of the gradients of what these share, [length][2][n]. */

SCAN_BOTH int64_t scan_sums(int64_t length, int64_t n)
{
    return length * 2 * n;
}
#undef SCAN_BOTH
#endif
