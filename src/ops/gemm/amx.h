/* amx.h - the innermost product in tiles of AMX: 32 rows of A times 32 columns of B, or 16
 * times 64.
 *
 * A tile holds 16 rows of 16 words, and one instruction multiplies two of them into a third:
 * 16 x 32 bf16 of A, 32 x 16 of B, 16 x 16 sums. Of the eight tiles a thread has, four are sums. A
 * panel of B, [steps][columns] words, is what the instruction wants as it is; a row of A is any run
 * of words along k. Tiles read whole: steps are multiples of 16, and what is not there is 0 on both
 * sides. What is read once is loaded as a stream: see README.md. */
#ifndef OPS_GEMM_AMX_H
#define OPS_GEMM_AMX_H
#include "base/tile_shapes.h"
#include "ops/gemm/ahead.h"
#include "ops/gemm/micro.h"

enum {
    AMX_STEPS = 16, /* words along k of a tile */
    AMX_TILE_WORDS = MR * AMX_STEPS,
    AMX_SUM_BYTES = NR * 4, /* between its rows where it lies alone */
    AMX_PARTS = 3,         /* of f32, whose sum is the whole: bf16 with eight of its 24 bits each */
    AMX_SLICE_STEPS = 128, /* words along k for which a panel stays in the first level cache */
};

/* Where 16 rows of A lie: the next tile along k is `next` bytes further. */
typedef struct AmxRows {
    const char *at;
    int64_t row_bytes, next;
} AmxRows;

/* Two factors that lie apart: words from one row to the next, and of A from one tile to the next
 * along k and to the 16 rows below. `a_part`, `b_part`: of f32, words from one part to the next. */
typedef struct AmxFactors {
    const Word *a, *b;
    int64_t a_row, a_next, a_below, b_row, a_part, b_part;
} AmxFactors;

INLINE int64_t amx_up(int64_t x)
{
    return (x + AMX_STEPS - 1) / AMX_STEPS * AMX_STEPS;
}

/* Rows of A as they lie. */
INLINE AmxFactors amx_factors(const Word *a, int64_t a_row, const Word *b, int64_t b_row)
{
    return (AmxFactors){ a, b, a_row, AMX_STEPS, MR * a_row, b_row, 0, 0 };
}

/* Without AMX nobody calls these. */
#if defined(__AMX_BF16__)
/* A thread's tiles are ready between these two; whatever else it does then costs the system more to
 * save. */
INLINE void amx_begin(void)
{
    _tile_loadconfig(&whole_tiles);
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

/* Sums from 16 rows of NR floats. */
INLINE void amx_load(const float *from, int64_t row_bytes)
{
    __asm__ volatile("" ::: "memory"); /* compilers do not see what tiles read */
    _tile_stream_loadd(0, from, row_bytes);
    _tile_stream_loadd(1, from + 16, row_bytes);
    _tile_stream_loadd(2, from + 32, row_bytes);
    _tile_stream_loadd(3, from + 48, row_bytes);
}

INLINE void amx_store(float *to, int64_t row_bytes)
{
    _tile_stored(0, to, row_bytes);
    _tile_stored(1, to + 16, row_bytes);
    _tile_stored(2, to + 32, row_bytes);
    _tile_stored(3, to + 48, row_bytes);
}

/* sums += A B over `steps` words. */
INLINE void amx_product(int64_t steps, AmxRows a, const Word *b)
{
    const int64_t row_bytes = NR * (int64_t)sizeof(Word);
    __asm__ volatile("" ::: "memory");
    for (int64_t k = 0; k < steps; k += AMX_STEPS) {
        _tile_stream_loadd(4, a.at, a.row_bytes);
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

/* One or two tiles of rows, and of columns, are multiplied together: each tile of a factor is used
 * for both of the other. */
INLINE void amx_square_load(const int rows, const int columns, const float *c, int64_t c_row)
{
    const int64_t bytes = c_row * (int64_t)sizeof *c;
    const float *below = c + MR * c_row;
    __asm__ volatile("" ::: "memory");
    _tile_stream_loadd(0, c, bytes);
    if (columns > 1) _tile_stream_loadd(1, c + LANES, bytes);
    if (rows > 1) _tile_stream_loadd(2, below, bytes);
    if (rows > 1 && columns > 1) _tile_stream_loadd(3, below + LANES, bytes);
}

INLINE void amx_square_store(const int rows, const int columns, float *c, int64_t c_row)
{
    const int64_t bytes = c_row * (int64_t)sizeof *c;
    float *below = c + MR * c_row;
    _tile_stored(0, c, bytes);
    if (columns > 1) _tile_stored(1, c + LANES, bytes);
    if (rows > 1) _tile_stored(2, below, bytes);
    if (rows > 1 && columns > 1) _tile_stored(3, below + LANES, bytes);
}

/* sums += A B; asks for some of what is `ahead`, and of `more`, at every step. NULL, each: for
 * nothing. */
INLINE void amx_square_add(const int rows, const int columns, const AmxFactors *f, int64_t steps,
                           Ahead *ahead, Ahead *more)
{
    const int64_t a_bytes = f->a_row * (int64_t)sizeof(Word),
                  b_bytes = f->b_row * (int64_t)sizeof(Word);
    const Word *a = f->a, *b = f->b;
    __asm__ volatile("" ::: "memory");
    for (int64_t k = 0; k < steps; k += AMX_STEPS) {
        if (ahead) ahead_step(ahead);
        if (more) ahead_step(more);
        _tile_stream_loadd(4, a, a_bytes);
        _tile_loadd(6, b, b_bytes);
        _tile_dpbf16ps(0, 4, 6);
        if (columns > 1) _tile_loadd(7, b + LANES, b_bytes);
        if (columns > 1) _tile_dpbf16ps(1, 4, 7);
        if (rows > 1) {
            _tile_stream_loadd(5, a + f->a_below, a_bytes);
            _tile_dpbf16ps(2, 5, 6);
            if (columns > 1) _tile_dpbf16ps(3, 5, 7);
        }
        a += f->a_next;
        b += AMX_STEPS * f->b_row;
    }
}

INLINE void amx_take_a(const int rows, const AmxFactors *f, const Word *a)
{
    const int64_t bytes = f->a_row * (int64_t)sizeof(Word);
    _tile_stream_loadd(4, a, bytes);
    if (rows > 1) _tile_stream_loadd(5, a + f->a_below, bytes);
}

INLINE void amx_take_b(const AmxFactors *f, const Word *b)
{
    const int64_t bytes = f->b_row * (int64_t)sizeof(Word);
    _tile_loadd(6, b, bytes);
    _tile_loadd(7, b + LANES, bytes);
}

INLINE void amx_multiply(const int rows)
{
    _tile_dpbf16ps(0, 4, 6);
    _tile_dpbf16ps(1, 4, 7);
    if (rows > 1) _tile_dpbf16ps(2, 5, 6);
    if (rows > 1) _tile_dpbf16ps(3, 5, 7);
}

/* The same with two tiles of columns of f32, whose factors are three parts each. Products of parts
 * whose places add up to more than two are below 2^-24 of the whole and left out. */
INLINE void amx_parts_add(const int rows, const AmxFactors *f, int64_t steps, Ahead *ahead,
                          Ahead *more)
{
    const Word *a = f->a, *b = f->b;
    __asm__ volatile("" ::: "memory");
    for (int64_t k = 0; k < steps; k += AMX_STEPS) {
        if (ahead) ahead_step(ahead);
        if (more) ahead_step(more);
        amx_take_b(f, b);
        amx_take_a(rows, f, a + 2 * f->a_part);
        amx_multiply(rows);
        amx_take_a(rows, f, a + f->a_part);
        amx_multiply(rows);
        amx_take_b(f, b + f->b_part);
        amx_multiply(rows);
        amx_take_a(rows, f, a);
        amx_multiply(rows);
        amx_take_b(f, b + 2 * f->b_part);
        amx_multiply(rows);
        amx_take_b(f, b);
        amx_multiply(rows);
        a += f->a_next;
        b += AMX_STEPS * f->b_row;
    }
}
#else
INLINE void amx_begin(void) {}
INLINE void amx_end(void) {}
INLINE void amx_clear(void) {}
INLINE void amx_load(const float *from, int64_t row_bytes)
{
    (void)from, (void)row_bytes;
}
INLINE void amx_store(float *to, int64_t row_bytes)
{
    (void)to, (void)row_bytes;
}
INLINE void amx_product(int64_t steps, AmxRows a, const Word *b)
{
    (void)steps, (void)a, (void)b;
}
INLINE void amx_square_load(const int rows, const int columns, const float *c, int64_t c_row)
{
    (void)rows, (void)columns, (void)c, (void)c_row;
}
INLINE void amx_square_store(const int rows, const int columns, float *c, int64_t c_row)
{
    (void)rows, (void)columns, (void)c, (void)c_row;
}
INLINE void amx_square_add(const int rows, const int columns, const AmxFactors *f, int64_t steps,
                           Ahead *ahead, Ahead *more)
{
    (void)rows, (void)columns, (void)f, (void)steps, (void)ahead, (void)more;
}
INLINE void amx_parts_add(const int rows, const AmxFactors *f, int64_t steps, Ahead *ahead,
                          Ahead *more)
{
    (void)rows, (void)f, (void)steps, (void)ahead, (void)more;
}
#endif

INLINE void amx_square(const int rows, const int columns, const AmxFactors *f, int64_t steps,
                       bool add, float *c, int64_t c_row)
{
    if (add)
        amx_square_load(rows, columns, c, c_row);
    else
        amx_clear();
    amx_square_add(rows, columns, f, steps, NULL, NULL);
    amx_square_store(rows, columns, c, c_row);
}

/* c (+)= A B for whole tiles of rows, columns and steps. */
INLINE void amx_small(int64_t rows, int64_t columns, const AmxFactors *f, int64_t steps, bool add,
                      float *c, int64_t c_row)
{
    for (int64_t i = 0; i < rows; i += 2 * MR)
        for (int64_t j = 0; j < columns; j += 2 * LANES) {
            AmxFactors part = *f;
            float *to = c + i * c_row + j;
            part.a += i * f->a_row;
            part.b += j;
            if (rows - i <= MR && columns - j <= LANES)
                amx_square(1, 1, &part, steps, add, to, c_row);
            else if (rows - i <= MR)
                amx_square(1, 2, &part, steps, add, to, c_row);
            else if (columns - j <= LANES)
                amx_square(2, 1, &part, steps, add, to, c_row);
            else
                amx_square(2, 2, &part, steps, add, to, c_row);
        }
}

/* A whole tile of C in F32: to be stored, or added to. */
INLINE void amx_tile(int64_t steps, const void *a, int64_t row_bytes, const Word *b, TileEnd end,
                     float *c, int64_t stride)
{
    const int64_t c_bytes = stride * (int64_t)sizeof(float);
    if (end == TILE_ADD)
        amx_load(c, c_bytes);
    else
        amx_clear();
    amx_product(steps, (AmxRows){ a, row_bytes, AMX_STEPS * (int64_t)sizeof(Word) }, b);
    amx_store(c, c_bytes);
}

#endif
