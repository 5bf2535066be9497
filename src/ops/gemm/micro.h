/* micro.h - the innermost product: MR rows of A times a panel of NR columns of B, in registers.
 *
 * All memory is in words of 32 bits: a float, or (`pairs`) two bf16 with neighbouring k. A panel of
 * B is [steps][NR] words; how A lies is a TileRows. MR * NV accumulators, NV vectors of B and one
 * element of A fill the registers; each vector of B is used MR times, each element of A NV times.
 */
#ifndef OPS_GEMM_MICRO_H
#define OPS_GEMM_MICRO_H
#include "ops/panels.h"
#include "ops/vector/vector.h"

/* TILES: bf16 are multiplied in tiles of AMX (amx.h), and a tile of C has as many rows. */
#if defined(__AMX_BF16__)
enum { TILES = 1, MR = 16 };
#else
enum { TILES = 0, MR = 6 };
#endif
enum { NV = PANEL_VECTORS, NR = NV * LANES };

/* What becomes of a finished tile: written, added to the floats there, or rounded to bf16. */
typedef enum TileEnd { TILE_STORE, TILE_ADD, TILE_ROUND } TileEnd;

/* A is read in place, MR rows `row_bytes` apart; or is a panel [steps][MR]; or is read in place
 * with its rows next to each other and steps `row_bytes` apart. */
typedef enum TileRows { ROWS_APART, ROWS_PACKED, STEPS_APART } TileRows;

/* NR columns of B: packed, [steps][NR]; or in panels of weights, where they are (ops/panels.h). */
typedef enum TileColumns { COLUMNS_PACKED, COLUMNS_IN_PANELS } TileColumns;

enum {
    TILE_UNROLL = 4,
    TILE_PANELS = (int)NR > (int)PANEL_ROWS ? NR / PANEL_ROWS : 1, /* whose columns a tile has */
};

/* `next`: words from a panel of weights to the one after it. What is `ahead`, and as far in the
 * panel after it, is asked for meanwhile, `ahead_step` bytes further every TILE_UNROLL steps. */
typedef struct TileB {
    const Word *at;
    int64_t next;
    const char *ahead;
    int64_t ahead_step;
} TileB;

INLINE int64_t tile_step_words(TileColumns kind)
{
    return kind == COLUMNS_PACKED ? NR : PANEL_ROWS;
}

INLINE void tile_columns(TileColumns kind, const Word *b, int64_t next, Vec row[NV])
{
#pragma GCC unroll 4
    for (int j = 0; j < NR; j += LANES)
        row[j / LANES] =
            vec_load(b + (kind == COLUMNS_PACKED ? j : j % PANEL_ROWS + j / PANEL_ROWS * next));
}

INLINE void tile_step(Vec c[MR][NV], bool pairs, const char *a, int64_t near, const char *far,
                      const Vec row[NV])
{
#pragma GCC unroll 6
    for (int i = 0; i < MR; i++) {
        /* two base pointers, so that all six addresses are base + index * 1 or 2 */
        Vec x = vec_set(*(const Word *)(i < 3 ? a + i * near : far + (i - 3) * near));
#pragma GCC unroll 4
        for (int j = 0; j < NV; j++)
            if (pairs)
                c[i][j] = vec_dot_pairs(x, row[j], c[i][j]);
            else
                vec_add_product(&c[i][j], x, row[j]);
    }
}

/* c = A B over `steps` words of A. */
INLINE void tile_product_of(TileColumns kind, Vec c[MR][NV], bool pairs, TileRows rows,
                            int64_t steps, const void *a, int64_t row_bytes, const TileB *columns)
{
    const int64_t word = sizeof(Word), near = rows == ROWS_APART ? row_bytes : word;
    const int64_t next = rows == ROWS_APART ? word : rows == ROWS_PACKED ? MR * word : row_bytes;
    const char *first = a, *far = first + 3 * near, *ahead = columns->ahead;
    const Word *b = columns->at;
    Vec row[NV];
#pragma GCC unroll 6
    for (int i = 0; i < MR; i++)
#pragma GCC unroll 4
        for (int j = 0; j < NV; j++) c[i][j] = vec_set(0);
    for (int64_t q = steps / TILE_UNROLL; q > 0; q--) {
        if (kind != COLUMNS_PACKED) {
            __builtin_prefetch(ahead, 0, 2);
            if (TILE_PANELS > 1) __builtin_prefetch((const Word *)ahead + columns->next, 0, 2);
            ahead += columns->ahead_step;
        }
#pragma GCC unroll 4
        for (int u = 0; u < TILE_UNROLL; u++) {
            tile_columns(kind, b, columns->next, row);
            tile_step(c, pairs, first, near, far, row);
            first += next;
            far += next;
            b += tile_step_words(kind);
        }
    }
#pragma GCC unroll 1
    for (int64_t k = steps % TILE_UNROLL; k > 0; k--) {
        tile_columns(kind, b, columns->next, row);
        tile_step(c, pairs, first, near, far, row);
        first += next;
        far += next;
        b += tile_step_words(kind);
    }
}

/* With packed columns. */
INLINE void tile_product(Vec c[MR][NV], bool pairs, TileRows rows, int64_t steps, const void *a,
                         int64_t row_bytes, const Word *b)
{
    tile_product_of(COLUMNS_PACKED, c, pairs, rows, steps, a, row_bytes, &(TileB){ .at = b });
}

INLINE void tile_finish(Vec (*c)[NV], int rows, TileEnd end, void *out, int64_t stride)
{
    if (end == TILE_ROUND) {
#pragma GCC unroll 6
        for (int i = 0; i < rows; i++)
#pragma GCC unroll 4
            for (int j = 0; j < NV; j++)
                vec_store_bf16((bf16 *)out + i * stride + j * LANES, c[i][j]);
        return;
    }
#pragma GCC unroll 6
    for (int i = 0; i < rows; i++)
#pragma GCC unroll 4
        for (int j = 0; j < NV; j++) {
            float *to = (float *)out + i * stride + j * LANES;
            if (end == TILE_ADD) c[i][j] += vec_load(to);
            vec_store(to, c[i][j]);
        }
}

/* Asks for the lines of a tile of C while its product is computed. */
INLINE void tile_prefetch(const void *out, int64_t stride_bytes)
{
    for (int i = 0; i < MR; i++)
        for (int j = 0; j < NR * 4; j += 64)
            __builtin_prefetch((const char *)out + i * stride_bytes + j, 1);
}

#endif
