/* few_rows.h - products with so few rows of A that packing B would cost more than it saves.
 *
 * Generating text multiplies one token with every weight matrix: the time is that of reading B
 * once. Each element of C is a dot product along k, four columns at a time. */
#ifndef OPS_GEMM_FEW_ROWS_H
#define OPS_GEMM_FEW_ROWS_H
#include "base/thread.h"
#include "ops/gemm/product.h"
#include "ops/vector/vector.h"

enum { FEW_ROWS = 4, FEW_COLUMNS = 4, FEW_COLUMNS_PER_TASK = 256 };

INLINE bool few_rows_serves(const Product *p)
{
    return p->m <= FEW_ROWS && p->a.k_inner && p->b.k_inner;
}

/* Dot products of row i of A with the columns [j, j + n) of C, n <= FEW_COLUMNS. */
INLINE void few_rows_dot(const Product *p, int64_t i, int64_t j, int64_t n)
{
    Vec sum[FEW_COLUMNS] = { { 0 } };
    for (int64_t k = 0; k < p->k; k += LANES) {
        int64_t width = p->k - k < LANES ? p->k - k : LANES;
        Vec a = vec_get(p->a.dtype, p->a.data, i * p->a.stride + k, width);
        for (int64_t q = 0; q < n; q++) {
            Vec b = vec_get(p->b.dtype, p->b.data, (j + q) * p->b.stride + k, width);
            sum[q] = vec_fma(a, b, sum[q]);
        }
    }
    for (int64_t q = 0; q < n; q++) {
        int64_t at = i * p->c_stride + j + q;
        float x = vec_sum(sum[q]);
        if (p->c_dtype == BF16)
            ((bf16 *)p->c)[at] = bf16_of_float(x);
        else
            ((float *)p->c)[at] = p->add ? ((float *)p->c)[at] + x : x;
    }
}

static void few_rows_task(void *arg, int64_t task, int thread)
{
    (void)thread;
    const Product *p = arg;
    int64_t from = task * FEW_COLUMNS_PER_TASK, to = from + FEW_COLUMNS_PER_TASK;
    if (to > p->n) to = p->n;
    for (int64_t j = from; j < to; j += FEW_COLUMNS)
        for (int64_t i = 0; i < p->m; i++) {
            if (to - j >= FEW_COLUMNS)
                few_rows_dot(p, i, j, FEW_COLUMNS);
            else
                few_rows_dot(p, i, j, to - j);
        }
}

INLINE void few_rows_multiply(const Product *p, struct Pool *pool)
{
    Product copy = *p;
    pool_run(pool, (p->n + FEW_COLUMNS_PER_TASK - 1) / FEW_COLUMNS_PER_TASK, few_rows_task, &copy);
}

#endif
