/* column_sums_cuda.h - gradients of vectors along the last dimension: sums of pieces of rows, which
 * are then added up in order. */
#ifndef OPS_COLUMN_SUMS_CUDA_H
#define OPS_COLUMN_SUMS_CUDA_H
#include "device/cuda/cuda.h"
#include "ops/kernels.h"

/* Adds up [n_pieces][results from `first` on][columns], which are in scratch. */
static inline int column_sums_join(const Launch *l, Call *c, int64_t n_pieces, int64_t first)
{
    enum { COLUMNS_OF_BLOCK = 16, THREADS = 256 }; /* as join_sums_kernel has them (bias.cu) */
    const int64_t n = c->out[first].count * (l->n_out - first);
    c->number[0] = n_pieces;
    c->number[1] = first;
    return cuda_start(l, "join_sums_kernel", c, (n + COLUMNS_OF_BLOCK - 1) / COLUMNS_OF_BLOCK,
                      THREADS, 0);
}
#endif
