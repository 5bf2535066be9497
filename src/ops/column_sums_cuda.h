/* column_sums_cuda.h - gradients of vectors along the last dimension: sums of pieces of rows, which
 * are then added up in order. */
#ifndef OPS_COLUMN_SUMS_CUDA_H
#define OPS_COLUMN_SUMS_CUDA_H
#include "device/cuda/cuda.h"
#include "ops/kernels.h"

/* Into how many pieces rows are divided: by their number alone, so that every GPU gives the same
 * bits. */
static inline int64_t column_pieces(int64_t n_rows)
{
    enum { ROWS_PER_PIECE = 32, MOST_PIECES = 256 };
    const int64_t n = (n_rows + ROWS_PER_PIECE - 1) / ROWS_PER_PIECE;
    return n < 1 ? 1 : n < MOST_PIECES ? n : MOST_PIECES;
}

/* Adds up the pieces [number[0]][results from `first` on][columns] that are in scratch. */
static inline int column_sums_join(const Launch *l, Call *c, int64_t first)
{
    c->number[1] = first;
    const int64_t n = c->out[first].count * (l->n_out - first);
    return cuda_start(l, "join_sums_kernel", c, cuda_blocks(l, n, 256), 256, 0);
}
#endif
