/* tiles.h - functions that compute one whole tile of C, by how A lies and what a word is. */
#ifndef OPS_GEMM_TILES_H
#define OPS_GEMM_TILES_H
#include "ops/gemm/micro.h"

NOINLINE void rows_tile(int64_t steps, const void *a, int64_t row_bytes, const Word *b, TileEnd end,
                        void *c, int64_t stride)
{
    Vec sum[MR][NV];
    tile_product(sum, false, ROWS_APART, steps, a, row_bytes, b);
    tile_finish(sum, end, c, stride);
}

NOINLINE void packed_tile(int64_t steps, const void *a, int64_t row_bytes, const Word *b,
                          TileEnd end, void *c, int64_t stride)
{
    Vec sum[MR][NV];
    tile_product(sum, false, ROWS_PACKED, steps, a, row_bytes, b);
    tile_finish(sum, end, c, stride);
}

NOINLINE void rows_pairs_tile(int64_t steps, const void *a, int64_t row_bytes, const Word *b,
                              TileEnd end, void *c, int64_t stride)
{
    Vec sum[MR][NV];
    tile_product(sum, true, ROWS_APART, steps, a, row_bytes, b);
    tile_finish(sum, end, c, stride);
}

NOINLINE void packed_pairs_tile(int64_t steps, const void *a, int64_t row_bytes, const Word *b,
                                TileEnd end, void *c, int64_t stride)
{
    Vec sum[MR][NV];
    tile_product(sum, true, ROWS_PACKED, steps, a, row_bytes, b);
    tile_finish(sum, end, c, stride);
}

NOINLINE void steps_tile(int64_t steps, const void *a, int64_t step_bytes, const Word *b,
                         TileEnd end, void *c, int64_t stride)
{
    Vec sum[MR][NV];
    tile_product(sum, false, STEPS_APART, steps, a, step_bytes, b);
    tile_finish(sum, end, c, stride);
}

NOINLINE void steps_pairs_tile(int64_t steps, const void *a, int64_t step_bytes, const Word *b,
                               TileEnd end, void *c, int64_t stride)
{
    Vec sum[MR][NV];
    tile_product(sum, true, STEPS_APART, steps, a, step_bytes, b);
    tile_finish(sum, end, c, stride);
}

typedef void TileKernel(int64_t steps, const void *a, int64_t row_bytes, const Word *b, TileEnd end,
                        void *c, int64_t stride);
/* By whether words are pairs, and TileRows. */
static TileKernel *const tile_kernels[2][3] = {
    { rows_tile, packed_tile, steps_tile }, { rows_pairs_tile, packed_pairs_tile, steps_pairs_tile }
};

/* A tile that reaches over the edge of C: computed whole, copied in part. */
static inline void edge_tile(TileKernel *kernel, int64_t rows, int64_t columns, int64_t steps,
                             const void *a, int64_t row_bytes, const Word *b, TileEnd end, void *c,
                             int64_t stride)
{
    float tile[MR * NR] __attribute__((aligned(64)));
    kernel(steps, a, row_bytes, b, TILE_STORE, tile, NR);
    for (int64_t i = 0; i < rows; i++)
        for (int64_t j = 0; j < columns; j += LANES) {
            int64_t n = columns - j < LANES ? columns - j : LANES, at = i * stride + j;
            Vec v = vec_load(tile + i * NR + j);
            if (end == TILE_ADD) v = v + vec_get(F32, c, at, n);
            vec_put(end == TILE_ROUND ? BF16 : F32, c, at, n, v);
        }
}

#endif
