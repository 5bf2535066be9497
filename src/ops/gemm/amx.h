/* amx.h - the innermost product in tiles of AMX: 16 rows of A times a panel of 64 columns of B.
 *
 * A tile holds 16 rows of 16 words, and one instruction multiplies two of them into a third:
 * 16 x 32 bf16 of A, 32 x 16 of B, 16 x 16 sums. Of the eight tiles a thread has, four are sums, so
 * that each tile of A is used four times. A panel of B, [steps][64] words, is what the instruction
 * wants as it is; a row of A is any run of words along k. Tiles read whole: steps are multiples
 * of 16, and what is not there is 0 on both sides. */
#ifndef OPS_GEMM_AMX_H
#define OPS_GEMM_AMX_H
#include "base/tile_shapes.h"
#include "ops/gemm/micro.h"

enum {
    AMX_ROWS = 16,  /* of A and of the sums */
    AMX_STEPS = 16, /* words along k of a tile */
    AMX_TILE_WORDS = AMX_ROWS * AMX_STEPS,
    AMX_SUMS = AMX_ROWS * NR, /* floats of a tile of C */
};

/* A thread's tiles are ready between these two; whatever else it does then costs the system more to
 * save. */
INLINE void amx_begin(void)
{
    static const TileShapes shapes = TILE_SHAPES;
    _tile_loadconfig(&shapes);
}

INLINE void amx_end(void)
{
    _tile_release();
}

INLINE void amx_clear(void)
{
    _tile_zero(0);
    _tile_zero(1);
    _tile_zero(2);
    _tile_zero(3);
}

/* Sums from and to AMX_SUMS floats. */
INLINE void amx_load(const float *from)
{
    const int64_t row_bytes = NR * (int64_t)sizeof(float);
    _tile_loadd(0, from, row_bytes);
    _tile_loadd(1, from + 16, row_bytes);
    _tile_loadd(2, from + 32, row_bytes);
    _tile_loadd(3, from + 48, row_bytes);
}

INLINE void amx_store(float *to)
{
    const int64_t row_bytes = NR * (int64_t)sizeof(float);
    _tile_stored(0, to, row_bytes);
    _tile_stored(1, to + 16, row_bytes);
    _tile_stored(2, to + 32, row_bytes);
    _tile_stored(3, to + 48, row_bytes);
}

/* Where 16 rows of A lie: the next tile along k is `next` bytes further. */
typedef struct AmxRows {
    const char *at;
    int64_t row_bytes, next;
} AmxRows;

/* sums += A B over `steps` words. */
INLINE void amx_product(int64_t steps, AmxRows a, const Word *b)
{
    const int64_t row_bytes = NR * (int64_t)sizeof(Word);
    __asm__ volatile("" ::: "memory"); /* compilers do not see what tiles read */
    for (int64_t k = 0; k < steps; k += AMX_STEPS) {
        _tile_loadd(4, a.at, a.row_bytes);
        _tile_loadd(5, b, row_bytes);
        _tile_dpbf16ps(0, 4, 5);
        _tile_loadd(6, b + 16, row_bytes);
        _tile_dpbf16ps(1, 4, 6);
        _tile_loadd(5, b + 32, row_bytes);
        _tile_dpbf16ps(2, 4, 5);
        _tile_loadd(6, b + 48, row_bytes);
        _tile_dpbf16ps(3, 4, 6);
        a.at += a.next;
        b += AMX_STEPS * NR;
    }
}

INLINE int64_t amx_up(int64_t x)
{
    return (x + AMX_STEPS - 1) / AMX_STEPS * AMX_STEPS;
}

#endif
