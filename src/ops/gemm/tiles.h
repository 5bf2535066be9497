/* tiles.h - functions that compute one whole tile of C, by how A lies and what a word is. */
#ifndef OPS_GEMM_TILES_H
#define OPS_GEMM_TILES_H
#include "ops/gemm/micro.h"

/* `a_bytes`: between rows of A, or between its steps. */
#define TILE(name, is_pairs, rows)                                                                 \
    NOINLINE void name(int64_t steps, const void *a, int64_t a_bytes, const Word *b, TileEnd end,  \
                       void *c, int64_t stride)                                                    \
    {                                                                                              \
        Vec sum[MR][NV];                                                                           \
        tile_product(sum, is_pairs, rows, steps, a, a_bytes, b);                                   \
        tile_finish(sum, MR, end, c, stride);                                                      \
    }
TILE(rows_tile, false, ROWS_APART)
TILE(packed_tile, false, ROWS_PACKED)
TILE(steps_tile, false, STEPS_APART)
TILE(rows_pairs_tile, true, ROWS_APART)
TILE(packed_pairs_tile, true, ROWS_PACKED)
TILE(steps_pairs_tile, true, STEPS_APART)
#undef TILE

/* With columns in panels of weights, and rows of A apart. */
#define PANEL_TILE(name, is_pairs)                                                                 \
    NOINLINE void name(int64_t steps, const void *a, int64_t a_bytes, const TileB *b, TileEnd end, \
                       void *c, int64_t stride)                                                    \
    {                                                                                              \
        Vec sum[MR][NV];                                                                           \
        tile_product_of(COLUMNS_IN_PANELS, sum, is_pairs, ROWS_APART, steps, a, a_bytes, b);       \
        tile_finish(sum, MR, end, c, stride);                                                      \
    }
PANEL_TILE(panels_tile, false)
PANEL_TILE(panels_pairs_tile, true)
#undef PANEL_TILE

typedef void TileKernel(int64_t steps, const void *a, int64_t row_bytes, const Word *b, TileEnd end,
                        void *c, int64_t stride);
/* By whether words are pairs, and TileRows. */
static TileKernel *const tile_kernels[2][3] = {
    { rows_tile, packed_tile, steps_tile }, { rows_pairs_tile, packed_pairs_tile, steps_pairs_tile }
};

typedef void PanelTileKernel(int64_t steps, const void *a, int64_t row_bytes, const TileB *b,
                             TileEnd end, void *c, int64_t stride);

/* The part of a whole tile that is within C. */
static void edge_put(const float *tile, int64_t rows, int64_t columns, TileEnd end, void *c,
                     int64_t stride)
{
    for (int64_t i = 0; i < rows; i++)
        for (int64_t j = 0; j < columns; j += LANES) {
            int64_t n = columns - j < LANES ? columns - j : LANES, at = i * stride + j;
            Vec v = vec_load(tile + i * NR + j);
            if (end == TILE_ADD) v = v + vec_get(F32, c, at, n);
            vec_put(end == TILE_ROUND ? BF16 : F32, c, at, n, v);
        }
}

/* A tile that reaches over the edge of C: computed whole, copied in part. */
static inline void edge_tile(TileKernel *kernel, int64_t rows, int64_t columns, int64_t steps,
                             const void *a, int64_t row_bytes, const Word *b, TileEnd end, void *c,
                             int64_t stride)
{
    float tile[MR * NR] __attribute__((aligned(64)));
    kernel(steps, a, row_bytes, b, TILE_STORE, tile, NR);
    edge_put(tile, rows, columns, end, c, stride);
}

#endif
