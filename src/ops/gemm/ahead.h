/* ahead.h - asks for a rectangle of memory little by little, while something else is computed. */
#ifndef OPS_GEMM_AHEAD_H
#define OPS_GEMM_AHEAD_H
#include "ops/vector/vector.h"

typedef struct Ahead {
    const char *row;
    int64_t stride, row_bytes, rows_left, at, per_call;
} Ahead;

INLINE Ahead ahead_of(const void *from, int64_t stride, int64_t row_bytes, int64_t rows,
                      int64_t n_calls)
{
    int64_t lines = (row_bytes + 63) / 64 * rows;
    return (Ahead){ from, stride, row_bytes, rows, 0, (lines + n_calls - 1) / n_calls };
}

INLINE void ahead_step(Ahead *h)
{
    for (int64_t i = h->per_call; i > 0 && h->rows_left > 0; i--) {
        __builtin_prefetch(h->row + h->at, 0, 2);
        h->at += 64;
        if (h->at < h->row_bytes) continue;
        h->at = 0;
        h->row += h->stride;
        h->rows_left--;
    }
}

#endif
