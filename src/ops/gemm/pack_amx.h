/* pack_amx.h - copies parts of factors into what tiles of AMX read: whole tiles, with zeros where
 * there are no rows or steps. */
#ifndef OPS_GEMM_PACK_AMX_H
#define OPS_GEMM_PACK_AMX_H
#include "ops/gemm/amx.h"
#include "ops/gemm/pack.h"

/* A panel of B as pack_panel makes it, with steps up to a whole tile. */
INLINE void pack_amx_panel(const PackFrom *s, int64_t row, int64_t rows, int64_t step,
                           int64_t steps, Word *to)
{
    pack_panel(s, row, rows, step, steps, to);
    memset(to + steps * NR, 0, sizeof(Word) * (size_t)((amx_up(steps) - steps) * NR));
}

/* Rows of A without k_inner: one tile. */
INLINE void pack_amx_turned(const PackFrom *s, int64_t row, int64_t rows, int64_t step,
                            int64_t steps, Word *to)
{
    Vec tile[LANES];
    if (rows >= LANES && steps >= LANES) {
#pragma GCC unroll 16
        for (int k = 0; k < LANES; k++) tile[k] = pack_along_rows(s, row, step + k, LANES);
    } else {
        for (int k = 0; k < LANES; k++)
            tile[k] = k < steps ? pack_along_rows(s, row, step + k, rows < LANES ? rows : LANES)
                                : vec_set(0);
    }
    vec_transpose(tile);
#pragma GCC unroll 16
    for (int i = 0; i < LANES; i++) vec_store(to + i * AMX_STEPS, tile[i]);
}

/* Rows [row, row + rows) of A tile by tile: all tiles of 16 rows, then those of the next. */
INLINE void pack_amx_rows(const PackFrom *s, int64_t row, int64_t rows, int64_t step, int64_t steps,
                          Word *to)
{
    for (int64_t i = 0; i < rows; i += MR)
        for (int64_t k = 0; k < steps; k += AMX_STEPS, to += AMX_TILE_WORDS) {
            if (!s->f.k_inner) {
                pack_amx_turned(s, row + i, rows - i, step + k, steps - k, to);
                continue;
            }
            int64_t n = steps - k < AMX_STEPS ? steps - k : AMX_STEPS;
            for (int64_t r = 0; r < MR; r++)
                vec_store(to + r * AMX_STEPS,
                          i + r < rows ? pack_along_k(s, row + i + r, step + k, n) : vec_set(0));
        }
}

#endif
