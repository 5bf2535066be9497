/* few_rows.h - products with so few rows of A that packing B would cost more than it saves.
 *
 * So it is for experts, weights that ranks divide, and whatever else of generating text does not
 * lie in panels (panel_rows.h): B comes from memory once, and each of its elements is multiplied m
 * times meanwhile. So B passes by in groups of a few columns; all rows of A are multiplied with a
 * group while it lies in the first level cache, and the group after it is asked for, little by
 * little, into the second level: the first has little room, and few requests of its own. Each
 * element of C is one dot product along k, summed in the same order however many rows there are, so
 * texts that are continued together get the numbers of one alone. */
#ifndef OPS_GEMM_FEW_ROWS_H
#define OPS_GEMM_FEW_ROWS_H
#include "base/thread.h"
#include "ops/gemm/pack.h"

enum {
    FEW_ROWS = 48,
    FEW_COLUMNS = 4,
    FEW_TILE_ROWS = LANES / FEW_COLUMNS, /* the sums of a tile stay in registers */
    FEW_TILES = FEW_ROWS / FEW_TILE_ROWS + FEW_TILE_ROWS - 1, /* single rows at the end */
    FEW_COLUMNS_PER_TASK = 128,
    FEW_PASS = 48, /* of k, for which a group is multiplied before the next */
};

INLINE bool few_rows_serves(const Product *p)
{
    return p->m <= FEW_ROWS && p->a.k_inner && p->b.k_inner;
}

/* Of a tile: that of row r and column q is number r * FEW_COLUMNS + q. */
typedef Vec FewSums[LANES];

/* A tile over some whole vectors along k. Columns of B lie `apart` bytes from each other; what is
 * `ahead` is asked for meanwhile, so many lines per vector. */
typedef struct FewTile {
    const Word *a; /* [vectors][rows][LANES] */
    const char *b, *ahead;
    int64_t apart, vectors, lines;
    bool one_row, one_column; /* else FEW_TILE_ROWS, FEW_COLUMNS */
    bool begins, ends;        /* from zero, not from what was kept; up to the end of k */
} FewTile;

/* How elements of B become words of A's kind; known to the compiler. */
typedef enum FewKind { FEW_FLOATS, FEW_PAIRS, FEW_WIDENED } FewKind;

/* sum += A * B. The kind and the size of the tile are known to the compiler. B has two base
 * pointers, so that all addresses are base + index. */
INLINE void few_rows_vectors(FewKind kind, int rows, int columns, const FewTile *t, FewSums sum)
{
    const int64_t apart = t->apart, lines = t->lines, next = (kind == FEW_WIDENED ? 2 : 4) * LANES;
    const char *b = t->b, *far = b + 2 * apart, *ahead = t->ahead;
    const Word *a = t->a;
    for (int64_t n = t->vectors; n > 0; n--) {
        Vec left[FEW_TILE_ROWS];
        __builtin_prefetch(ahead, 0, 2);
        if (lines > 1)
            for (int64_t i = 1; i < lines; i++) __builtin_prefetch(ahead + i * 64, 0, 2);
        ahead += lines * 64;
#pragma GCC unroll 4
        for (int r = 0; r < rows; r++) left[r] = vec_load(a + r * LANES);
#pragma GCC unroll 4
        for (int q = 0; q < columns; q++) {
            const char *at = q < 2 ? b + q * apart : far + (q - 2) * apart;
            const Vec right =
                kind == FEW_WIDENED ? vec_load_bf16((const bf16 *)at) : vec_load((const Word *)at);
#pragma GCC unroll 4
            for (int r = 0; r < rows; r++) {
                Vec *to = &sum[r * FEW_COLUMNS + q];
                if (kind == FEW_PAIRS)
                    *to = vec_dot_pairs(left[r], right, *to);
                else
                    vec_add_product(to, left[r], right);
            }
        }
        a += rows * LANES;
        b += next;
        far += next;
    }
}

/* Returns the sums over the lanes if the tile ends; else keeps them. */
INLINE Vec few_rows_tile(FewKind kind, const FewTile *t, FewSums kept)
{
    FewSums sum;
    if (t->begins)
#pragma GCC unroll 16
        for (int i = 0; i < LANES; i++) sum[i] = vec_set(0);
    else
#pragma GCC unroll 16
        for (int i = 0; i < LANES; i++) sum[i] = kept[i];
    if (t->one_row && t->one_column)
        few_rows_vectors(kind, 1, 1, t, sum);
    else if (t->one_row)
        few_rows_vectors(kind, 1, FEW_COLUMNS, t, sum);
    else if (t->one_column)
        few_rows_vectors(kind, FEW_TILE_ROWS, 1, t, sum);
    else
        few_rows_vectors(kind, FEW_TILE_ROWS, FEW_COLUMNS, t, sum);
    if (t->ends) return vec_sums(sum);
#pragma GCC unroll 16
    for (int i = 0; i < LANES; i++) kept[i] = sum[i];
    return sum[0];
}

NOINLINE Vec few_rows_pairs(const FewTile *t, FewSums kept)
{
    return few_rows_tile(FEW_PAIRS, t, kept);
}

NOINLINE Vec few_rows_floats(const FewTile *t, FewSums kept)
{
    return few_rows_tile(FEW_FLOATS, t, kept);
}

NOINLINE Vec few_rows_widened(const FewTile *t, FewSums kept)
{
    return few_rows_tile(FEW_WIDENED, t, kept);
}

/* One product, as its tiles see it. Steps along k are elements, or pairs of them. */
typedef struct FewRows {
    const Product *p;
    Vec (*kernel)(const FewTile *t, FewSums kept);
    PackFrom a, b;
    int64_t steps, vectors; /* along k: all, and how many vectors they fill */
    const Word *rows;       /* A, tile by tile, [vectors][rows of the tile][LANES] */
    const char *ahead;
    int64_t lines;
} FewRows;

static FewRows few_rows_of(const Product *p)
{
    const bool pairs = DOT_PAIRS && p->a.dtype == BF16 && p->b.dtype == BF16;
    const int64_t tiles = (p->m + FEW_TILE_ROWS - 1) / FEW_TILE_ROWS;
    return (FewRows){ .p = p,
                      .kernel = pairs                ? few_rows_pairs
                                : p->b.dtype == BF16 ? few_rows_widened
                                                     : few_rows_floats,
                      .a = { p->a, p->m, p->k, pairs },
                      .b = { p->b, p->n, p->k, pairs },
                      .steps = pairs ? (p->k + 1) / 2 : p->k,
                      .vectors = (pairs ? p->k / 2 : p->k) / LANES,
                      .lines = (FEW_COLUMNS + tiles - 1) / tiles };
}

/* What the threads share; each keeps A in the order in which tiles read it, from its first task on:
 * `thread_bytes` of scratch, the first of them whether that was done. */
typedef struct FewRun {
    FewRows f;
    char *threads;
    size_t thread_bytes;
} FewRun;

enum { FEW_HEAD_BYTES = 64 };

static size_t few_rows_thread_bytes(const Product *p)
{
    return FEW_HEAD_BYTES + (sizeof(Word) * (size_t)(p->m * p->k) + 63) / 64 * 64;
}

static size_t few_rows_scratch(const Product *p, int n_threads)
{
    return few_rows_thread_bytes(p) * (size_t)n_threads;
}

/* Rows of the tile that begins with row i. */
INLINE int64_t few_rows_in_tile(const FewRows *f, int64_t i)
{
    return i + FEW_TILE_ROWS <= f->p->m ? FEW_TILE_ROWS : 1;
}

/* Writes whole vectors of A in the order in which tiles read them. */
static void few_rows_pack(const FewRows *f, Word *to)
{
    for (int64_t i = 0, rows; i < f->p->m; i += rows) {
        rows = few_rows_in_tile(f, i);
        for (int64_t v = 0; v < f->vectors; v++)
            for (int64_t r = 0; r < rows; r++, to += LANES)
                vec_store(to, pack_along_k(&f->a, i + r, v * LANES, LANES));
    }
}

static const char *few_rows_column(const FewRows *f, int64_t j, int64_t step)
{
    const Factor *b = &f->p->b;
    return (const char *)b->data +
           (int64_t)dtype_size(b->dtype) * (j * b->stride + (f->b.pairs ? 2 : 1) * step);
}

/* To C: all columns of a group, or one. */
static void few_rows_put(const Product *p, Vec total, int64_t i, int64_t rows, int64_t j,
                         int64_t columns)
{
    float floats[LANES];
    bf16 rounded[LANES];
    if (p->c_dtype == BF16) {
        bf16 *c = (bf16 *)p->c + i * p->c_stride + j;
        vec_store_bf16(rounded, total);
        for (int64_t r = 0; r < rows; r++, c += p->c_stride)
            if (columns == FEW_COLUMNS)
                memcpy(c, rounded + r * FEW_COLUMNS, sizeof *c * FEW_COLUMNS);
            else
                *c = rounded[r * FEW_COLUMNS];
        return;
    }
    float *c = (float *)p->c + i * p->c_stride + j;
    vec_store(floats, total);
    for (int64_t r = 0; r < rows; r++, c += p->c_stride) {
        if (p->add)
            for (int64_t q = 0; q < columns; q++) floats[r * FEW_COLUMNS + q] += c[q];
        if (columns == FEW_COLUMNS)
            memcpy(c, floats + r * FEW_COLUMNS, sizeof *c * FEW_COLUMNS);
        else
            *c = floats[r * FEW_COLUMNS];
    }
}

/* The last steps of a tile, fewer than a vector, and its sums. */
static Vec few_rows_rest(const FewRows *f, FewSums sum, int64_t i, int64_t rows, int64_t j,
                         int64_t columns, int64_t step)
{
    for (int64_t r = 0; r < rows; r++)
        for (int64_t q = 0; q < columns; q++) {
            const Vec left = pack_along_k(&f->a, i + r, step, f->steps - step);
            const Vec right = pack_along_k(&f->b, j + q, step, f->steps - step);
            Vec *to = &sum[r * FEW_COLUMNS + q];
            *to = f->a.pairs ? vec_dot_pairs(left, right, *to) : vec_fma(left, right, *to);
        }
    return vec_sums(sum);
}

/* Vectors [from, to) of one tile, and all that comes after them if `ends`. */
static void few_rows_pass(FewRows *f, FewSums kept, int64_t i, int64_t rows, int64_t j,
                          int64_t columns, int64_t from, int64_t to, bool ends)
{
    const bool whole = to * LANES == f->steps;
    const FewTile t = { .a = f->rows + (i * f->vectors + from * rows) * LANES,
                        .b = few_rows_column(f, j, from * LANES),
                        .ahead = f->ahead,
                        .apart = (int64_t)dtype_size(f->p->b.dtype) * f->p->b.stride,
                        .vectors = to - from,
                        .lines = f->lines,
                        .one_row = rows == 1,
                        .one_column = columns == 1,
                        .begins = from == 0,
                        .ends = ends && whole };
    Vec total = f->kernel(&t, kept);
    f->ahead += 64 * f->lines * (to - from);
    if (ends && !whole) total = few_rows_rest(f, kept, i, rows, j, columns, to * LANES);
    if (ends) few_rows_put(f->p, total, i, rows, j, columns);
}

/* All rows with so many columns from j on. */
static void few_rows_group(FewRows *f, int64_t j, int64_t columns)
{
    FewSums kept[FEW_TILES];
    f->ahead = few_rows_column(f, j + columns, 0);
    int64_t from = 0, to;
    do {
        to = from + FEW_PASS < f->vectors ? from + FEW_PASS : f->vectors;
        for (int64_t i = 0, tile = 0, rows; i < f->p->m; i += rows, tile++) {
            rows = few_rows_in_tile(f, i);
            few_rows_pass(f, kept[tile], i, rows, j, columns, from, to, to == f->vectors);
        }
    } while ((from = to) < f->vectors);
}

static void few_rows_task(void *arg, int64_t task, int thread)
{
    const FewRun *run = arg;
    FewRows f = run->f;
    char *room = run->threads + run->thread_bytes * (size_t)thread;
    f.rows = (const Word *)(room + FEW_HEAD_BYTES);
    if (!*room) few_rows_pack(&f, (Word *)(room + FEW_HEAD_BYTES));
    *room = 1;
    int64_t j = task * FEW_COLUMNS_PER_TASK, n = f.p->n - j;
    const int64_t end = j + (n < FEW_COLUMNS_PER_TASK ? n : FEW_COLUMNS_PER_TASK);
    for (; j + FEW_COLUMNS <= end; j += FEW_COLUMNS) few_rows_group(&f, j, FEW_COLUMNS);
    for (; j < end; j++) few_rows_group(&f, j, 1);
}

static void few_rows_multiply(const Product *p, void *scratch, struct Pool *pool)
{
    FewRun run = { few_rows_of(p), scratch, few_rows_thread_bytes(p) };
    for (int i = 0; i < pool_size(pool); i++) run.threads[run.thread_bytes * (size_t)i] = 0;
    pool_run(pool, (p->n + FEW_COLUMNS_PER_TASK - 1) / FEW_COLUMNS_PER_TASK, few_rows_task, &run);
}

#endif
