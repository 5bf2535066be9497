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

/* PANEL_ROWS columns of B, [steps][PANEL_ROWS], likewise. */
INLINE void pack_amx_columns(const PackFrom *s, int64_t row, int64_t rows, int64_t step,
                             int64_t steps, Word *to)
{
    pack_columns(s, row, rows, step, steps, PANEL_ROWS, to);
    memset(to + steps * PANEL_ROWS, 0,
           sizeof(Word) * (size_t)((amx_up(steps) - steps) * PANEL_ROWS));
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

/* Asks for what the next tile of steps is made from: a line of each row holds two tiles' columns.
 */
INLINE void pack_amx_fetch(const PackFrom *s, int64_t row, int64_t step)
{
    const int64_t size = (int64_t)dtype_size(s->f.dtype), apart = size * s->f.stride;
    const char *at = (const char *)s->f.data + 2 * step * apart + row * size;
#pragma GCC unroll 8
    for (int k = 0; k < 2 * LANES; k++, at += apart) __builtin_prefetch(at);
}

/* Rows [row, row + rows) of A tile by tile: all tiles of 16 rows, then those of the next. */
INLINE void pack_amx_rows(const PackFrom *s, int64_t row, int64_t rows, int64_t step, int64_t steps,
                          Word *to)
{
    if (!s->f.k_inner) {
        const int64_t beside = amx_up(steps) * MR;
        for (int64_t i = 0; i < rows; i += 2 * MR, to += 2 * beside)
            for (int64_t k = 0; k < steps; k += AMX_STEPS) {
                pack_amx_fetch(s, row + i, step + k + AMX_STEPS);
                pack_amx_turned(s, row + i, rows - i, step + k, steps - k, to + k * MR);
                if (rows - i > MR)
                    pack_amx_turned(s, row + i + MR, rows - i - MR, step + k, steps - k,
                                    to + beside + k * MR);
            }
        return;
    }
    for (int64_t i = 0; i < rows; i += MR)
        for (int64_t k = 0; k < steps; k += AMX_STEPS, to += AMX_TILE_WORDS) {
            int64_t n = steps - k < AMX_STEPS ? steps - k : AMX_STEPS;
            for (int64_t r = 0; r < MR; r++)
                vec_store(to + r * AMX_STEPS,
                          i + r < rows ? pack_along_k(s, row + i + r, step + k, n) : vec_set(0));
        }
}

#endif
