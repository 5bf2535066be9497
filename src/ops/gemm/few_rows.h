/* few_rows.h - products with so few rows of A that packing B would cost more than it saves.
 *
 * Generating text multiplies one token of each text with every weight matrix: the time is that of
 * reading B once. Each element of C is one dot product along k, summed in the same order however
 * many rows there are, so texts that are continued together get the numbers of one alone. */
#ifndef OPS_GEMM_FEW_ROWS_H
#define OPS_GEMM_FEW_ROWS_H
#include "base/thread.h"
#include "ops/gemm/pack.h"

enum {
    FEW_ROWS = 16,
    FEW_COLUMNS = 4,
    FEW_TILE_ROWS = PANEL_VECTORS == 4 ? 4 : 2, /* sums of a tile stay in registers */
    FEW_COLUMNS_PER_TASK = 128,
};

INLINE bool few_rows_serves(const Product *p)
{
    return p->m <= FEW_ROWS && p->a.k_inner && p->b.k_inner;
}

typedef Vec FewSums[FEW_TILE_ROWS][FEW_COLUMNS];

/* The vectors of A and B from element k on, multiplied and added. */
INLINE void few_rows_step(FewSums sum, const PackFrom *a, const PackFrom *b, int64_t i,
                          int64_t rows, int64_t j, int64_t columns, int64_t step, int64_t steps)
{
    Vec left[FEW_TILE_ROWS];
#pragma GCC unroll 4
    for (int r = 0; r < rows; r++) left[r] = pack_along_k(a, i + r, step, steps);
#pragma GCC unroll 4
    for (int q = 0; q < columns; q++) {
        const Vec right = pack_along_k(b, j + q, step, steps);
#pragma GCC unroll 4
        for (int r = 0; r < rows; r++)
            sum[r][q] = a->pairs ? vec_dot_pairs(left[r], right, sum[r][q])
                                 : vec_fma(left[r], right, sum[r][q]);
    }
}

/* Short rows of B are over before the hardware has seen where they lead: with one row of A, which
 * has nothing else to wait for, those of the next columns are asked for while these are read. */
enum { SHORT_ROW_BYTES = 2048 };

INLINE bool few_rows_fetches(const Product *p)
{
    return p->m == 1 && dtype_size(p->b.dtype) * (size_t)p->b.stride <= SHORT_ROW_BYTES;
}

INLINE void few_rows_fetch(const PackFrom *b, int64_t j, int64_t columns, int64_t step)
{
    const size_t word = b->pairs ? 2 * sizeof(bf16) : dtype_size(b->f.dtype),
                 row = dtype_size(b->f.dtype) * (size_t)b->f.stride;
    const char *at = (const char *)b->f.data + row * (size_t)(j + columns) + word * (size_t)step;
#pragma GCC unroll 4
    for (int q = 0; q < columns; q++) __builtin_prefetch(at + (size_t)q * row);
}

/* Rows [i, i + rows) of A with the columns [j, j + columns) of C. `fetches` is known to the
 * compiler. */
INLINE void few_rows_tile(const Product *p, const PackFrom *a, const PackFrom *b, int64_t i,
                          int64_t rows, int64_t j, int64_t columns, bool fetches)
{
    FewSums sum;
    const int64_t steps = a->pairs ? (p->k + 1) / 2 : p->k, whole = a->pairs ? p->k / 2 : p->k;
    int64_t step = 0;
    for (int r = 0; r < rows; r++)
        for (int q = 0; q < columns; q++) sum[r][q] = vec_set(0);
    for (; step + LANES <= whole; step += LANES) {
        if (fetches) few_rows_fetch(b, j, columns, step);
        few_rows_step(sum, a, b, i, rows, j, columns, step, LANES);
    }
    if (step < steps) few_rows_step(sum, a, b, i, rows, j, columns, step, steps - step);
    for (int r = 0; r < rows; r++)
        for (int q = 0; q < columns; q++) {
            const int64_t at = (i + r) * p->c_stride + j + q;
            const float x = vec_sum(sum[r][q]);
            if (p->c_dtype == BF16)
                ((bf16 *)p->c)[at] = bf16_of_float(x);
            else
                ((float *)p->c)[at] = p->add ? ((float *)p->c)[at] + x : x;
        }
}

/* All rows with the columns [j, j + columns). */
INLINE void few_rows_columns(const Product *p, const PackFrom *a, const PackFrom *b, int64_t j,
                             int64_t columns)
{
    int64_t i = 0;
    for (; i + FEW_TILE_ROWS <= p->m; i += FEW_TILE_ROWS)
        few_rows_tile(p, a, b, i, FEW_TILE_ROWS, j, columns, false);
    for (; i < p->m; i++) few_rows_tile(p, a, b, i, 1, j, columns, false);
}

/* The columns [from, to), with dtypes that the compiler knows. */
INLINE void few_rows_range(const Product *p, Dtype of_a, Dtype of_b, bool pairs, int64_t from,
                           int64_t to)
{
    PackFrom a = { p->a, p->m, p->k, pairs }, b = { p->b, p->n, p->k, pairs };
    a.f.dtype = of_a, b.f.dtype = of_b;
    int64_t j = from;
    if (few_rows_fetches(p))
        for (; j + FEW_COLUMNS <= to; j += FEW_COLUMNS)
            few_rows_tile(p, &a, &b, 0, 1, j, FEW_COLUMNS, true);
    for (; j + FEW_COLUMNS <= to; j += FEW_COLUMNS) few_rows_columns(p, &a, &b, j, FEW_COLUMNS);
    for (; j < to; j++) few_rows_columns(p, &a, &b, j, 1);
}

static void few_rows_task(void *arg, int64_t task, int thread)
{
    (void)thread;
    const Product *p = arg;
    const int64_t from = task * FEW_COLUMNS_PER_TASK;
    const int64_t to = from + FEW_COLUMNS_PER_TASK < p->n ? from + FEW_COLUMNS_PER_TASK : p->n;
    if (p->a.dtype == F32 && p->b.dtype == F32)
        few_rows_range(p, F32, F32, false, from, to);
    else if (p->a.dtype == BF16 && p->b.dtype == BF16)
        few_rows_range(p, BF16, BF16, DOT_PAIRS, from, to);
    else
        few_rows_range(p, p->a.dtype, p->b.dtype, false, from, to);
}

INLINE void few_rows_multiply(const Product *p, struct Pool *pool)
{
    Product copy = *p;
    pool_run(pool, (p->n + FEW_COLUMNS_PER_TASK - 1) / FEW_COLUMNS_PER_TASK, few_rows_task, &copy);
}

#endif
