/* column_sums.h - sums over rows, such as the gradients of biases and norm weights.
 *
 * Rows are cut into at most 64 blocks by their number alone; each block has its own sums in
 * scratch, added in order at the end: the result does not depend on the number of threads. */
#ifndef OPS_COLUMN_SUMS_H
#define OPS_COLUMN_SUMS_H
#include "ops/vector/chunks.h"

enum { SUM_BLOCKS = 64, SUM_MIN_ROWS = 16, SUM_COLUMNS = 256 };

/* Rows of one block. */
INLINE int64_t sum_block_rows(int64_t n_rows)
{
    int64_t rows = (n_rows + SUM_BLOCKS - 1) / SUM_BLOCKS;
    return rows < SUM_MIN_ROWS ? SUM_MIN_ROWS : rows;
}

INLINE int64_t sum_blocks(int64_t n_rows)
{
    return chunk_count(n_rows, sum_block_rows(n_rows));
}

/* Distance of one block's sums to the next, in floats. */
INLINE int64_t sum_stride(int64_t width)
{
    return (width + LANES - 1) / LANES * LANES;
}

INLINE size_t sum_scratch(int64_t n_rows, int64_t width)
{
    return sizeof(float) * (size_t)(sum_blocks(n_rows) * sum_stride(width));
}

typedef struct SumTotal {
    const Launch *l;
    int result; /* which */
    const float *sums;
    int64_t n_blocks, width;
} SumTotal;

static void sum_total_task(void *arg, int64_t i, int thread)
{
    (void)thread;
    const SumTotal *t = arg;
    const Tensor *out = &t->l->out[t->result];
    Range r = chunk(t->width, SUM_COLUMNS, i);
    for (int64_t j = r.from; j < r.to; j += LANES) {
        int64_t n = r.to - j < LANES ? r.to - j : LANES;
        Vec sum = vec_set(0);
        for (int64_t b = 0; b < t->n_blocks; b++)
            sum += vec_load(t->sums + b * sum_stride(t->width) + j);
        vec_put(out->dtype, out->data, j, n, sum + vec_before(t->l, t->result, j, n));
    }
}

/* Writes (or adds) the sum of all blocks to a result. */
INLINE void sum_total(const Launch *l, int result, const float *sums, int64_t n_rows, int64_t width)
{
    SumTotal t = { l, result, sums, sum_blocks(n_rows), width };
    pool_run(l->stream->pool, chunk_count(width, SUM_COLUMNS), sum_total_task, &t);
}

#endif
