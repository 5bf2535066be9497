/* panel_rows.h - products of few rows of A with weights in panels (ops/panels.h).
 *
 * Generating text multiplies one token of each text with every weight matrix. Its panels pass by as
 * one stream, which the hardware foresees: some steps of 32 columns are multiplied with all rows of
 * A, whose elements lie side by side, while those after them are on their way. So memory and
 * arithmetic take their time together. Each element of C is summed along k in one order
 * however many rows there are: texts that are continued together get the numbers of one alone. */
#ifndef OPS_GEMM_PANEL_ROWS_H
#define OPS_GEMM_PANEL_ROWS_H
#include "ops/gemm/panel_tasks.h"

enum {
    PANEL_NV = PANEL_ROWS / LANES,
    PANEL_TILE_ROWS = LANES == 16 ? 8 : 6, /* whose sums stay in registers */
    PANEL_SUMS =
        (PANEL_PRODUCT_ROWS + PANEL_TILE_ROWS - 1) / PANEL_TILE_ROWS * PANEL_TILE_ROWS * PANEL_ROWS,
    PANEL_STEP_BYTES = PANEL_ROWS * 4,
    PANEL_PASS = 128, /* steps for which one tile after the other is multiplied */
    PANEL_PASS_BYTES = PANEL_PASS * PANEL_STEP_BYTES,
    /* How far ahead a single tile asks, and several: for the next pass. No multiples of 4 KiB,
     * which cost a tenth on a Xeon 6. */
    PANEL_AHEAD_BYTES = 3 << 10,
    PANEL_PASS_AHEAD_BYTES = PANEL_PASS_BYTES + (1 << 10),
};

/* How words of panels become factors: floats, pairs of bf16, or pairs that are widened. */
typedef enum PanelKind { PANEL_FLOATS, PANEL_PAIRS, PANEL_WIDENED } PanelKind;

/* sum[row][column] += the elements of A of one step * those of the panel. */
INLINE void panel_rows_step(bool pairs, int rows, int vectors, const Word *a,
                            const Vec right[PANEL_NV], Vec sum[][PANEL_NV])
{
#pragma GCC unroll 8
    for (int r = 0; r < rows; r++) {
        const Vec left = vec_set(a[r]);
#pragma GCC unroll 4
        for (int v = 0; v < vectors; v++)
            if (pairs)
                sum[r][v] = vec_dot_pairs(left, right[v], sum[r][v]);
            else
                vec_add_product(&sum[r][v], left, right[v]);
    }
}

/* Multiplies so many words along k; the sums are kept, and added to if the product goes on. A has
 * steps `a_step` apart: a word of the panel is one step, two if it is widened. Per word so many
 * bytes of what is `ahead` are asked for, at most two lines: evenly, since memory stands still
 * between bursts. Kind, rows and vectors of columns are known to the compiler. */
INLINE void panel_rows_add(PanelKind kind, int rows, int vectors, int64_t words, const Word *a,
                           int64_t a_step, const Word *b, const char *ahead, int64_t ahead_step,
                           bool goes_on, float *kept)
{
    Vec sum[PANEL_TILE_ROWS][PANEL_NV];
#pragma GCC unroll 8
    for (int r = 0; r < rows; r++)
#pragma GCC unroll 4
        for (int v = 0; v < vectors; v++)
            sum[r][v] = goes_on ? vec_load(kept + r * PANEL_ROWS + v * LANES) : vec_set(0);
#pragma GCC unroll 1 /* else lines of several steps are asked for at once */
    for (; words > 0; words--, b += PANEL_ROWS) {
        Vec right[PANEL_NV];
        __builtin_prefetch(ahead, 0, 2);
        if (ahead_step > 64) __builtin_prefetch(ahead + 64, 0, 2);
        ahead += ahead_step;
#pragma GCC unroll 4
        for (int v = 0; v < vectors; v++) {
            right[v] = vec_load(b + v * LANES);
            if (kind == PANEL_WIDENED) right[v] = pack_low(right[v]);
        }
        panel_rows_step(kind == PANEL_PAIRS, rows, vectors, a, right, sum);
        a += a_step;
        if (kind != PANEL_WIDENED) continue;
        const Word *again = b; /* kept words would need registers that sums are in */
        __asm__("" : "+r"(again));
#pragma GCC unroll 4
        for (int v = 0; v < vectors; v++) right[v] = pack_high(vec_load(again + v * LANES));
        panel_rows_step(false, rows, vectors, a, right, sum);
        a += a_step;
    }
#pragma GCC unroll 8
    for (int r = 0; r < rows; r++)
#pragma GCC unroll 4
        for (int v = 0; v < vectors; v++) vec_store(kept + r * PANEL_ROWS + v * LANES, sum[r][v]);
}

typedef void PanelKernel(int64_t words, const Word *a, int64_t a_step, const Word *b,
                         const char *ahead, int64_t ahead_step, bool goes_on, float *kept);

#define PANEL_KERNEL(kind, rows, vectors)                                                          \
    NOINLINE void panel_rows_##kind##_##rows(int64_t words, const Word *a, int64_t a_step,         \
                                             const Word *b, const char *ahead, int64_t ahead_step, \
                                             bool goes_on, float *kept)                            \
    {                                                                                              \
        panel_rows_add(kind, rows, vectors, words, a, a_step, b, ahead, ahead_step, goes_on,       \
                       kept);                                                                      \
    }
/* clang-format off */
#if defined(__AVX2__) && !defined(__AVX512F__)
#define PANEL_SIZES(X, kind) X(kind, 1, 4) X(kind, 2, 4) X(kind, 4, 2) X(kind, 5, 2) X(kind, 6, 2)
#else
#define PANEL_SIZES(X, kind) X(kind, 1, 2) X(kind, 2, 2) X(kind, 4, 2) X(kind, 8, 2)
#endif
/* clang-format on */
PANEL_SIZES(PANEL_KERNEL, PANEL_FLOATS)
PANEL_SIZES(PANEL_KERNEL, PANEL_PAIRS)
PANEL_SIZES(PANEL_KERNEL, PANEL_WIDENED)

typedef struct PanelKernels {
    int rows, vectors;  /* of columns: of a panel or a part of it */
    PanelKernel *of[3]; /* by kind */
} PanelKernels;

#define PANEL_POINTERS(kind, n, vectors)                                                           \
    { n,                                                                                           \
      vectors,                                                                                     \
      { panel_rows_PANEL_FLOATS_##n, panel_rows_PANEL_PAIRS_##n, panel_rows_PANEL_WIDENED_##n } },
static const PanelKernels panel_kernels[] = { PANEL_SIZES(PANEL_POINTERS, unused) };
#undef PANEL_POINTERS
#undef PANEL_SIZES
#undef PANEL_KERNEL

/* The smallest tile that has so many rows, or the largest there is. */
static const PanelKernels *panel_kernels_of(int64_t rows)
{
    const int n = sizeof panel_kernels / sizeof *panel_kernels;
    int i = 0;
    while (i + 1 < n && panel_kernels[i].rows < rows) i++;
    return &panel_kernels[i];
}

static PanelKind panel_kind(const PanelRows *f)
{
    return f->a.pairs ? PANEL_PAIRS : f->b.pairs ? PANEL_WIDENED : PANEL_FLOATS;
}

/* Rows of the next tile where so many are left. */
static int64_t panel_tile(int64_t left)
{
    const bool halves = LANES < 16 && left > PANEL_TILE_ROWS && left < 2 * PANEL_TILE_ROWS;
    if (halves) return (left + 1) / 2; /* few sums do not hide how long an addition takes */
    return left < PANEL_TILE_ROWS ? left : PANEL_TILE_ROWS;
}

/* Where so many are left: rows of A that lie side by side, of some tiles; the last may not be
 * there. */
static int64_t panel_rows_beside(int64_t left)
{
    return left > PANEL_TILE_ROWS && LANES == 16 ? 2 * PANEL_TILE_ROWS
                                                 : panel_kernels_of(panel_tile(left))->rows;
}

/* Of packed A: the last vector written may reach beyond a tile. */
static int64_t panel_rows_a_words(const PanelRows *f)
{
    return (f->p->m + 2 * PANEL_TILE_ROWS) * f->steps + LANES;
}

/* A, a padded panel, sums. */
static int64_t panel_rows_words(const PanelRows *f)
{
    return panel_rows_a_words(f) + PANEL_ROWS * f->words + PANEL_SUMS;
}

/* A, [steps][rows side by side] each: a vector is overwritten where the next begins. */
static void panel_rows_pack(const PanelRows *f, Word *to)
{
    for (int64_t i = 0, rows; i < f->p->m; i += rows) {
        rows = panel_rows_beside(f->p->m - i);
        const int64_t there = f->p->m - i < rows ? f->p->m - i : rows;
        for (int64_t k = 0; k < f->steps; k += LANES) {
            const int64_t n = f->steps - k < LANES ? f->steps - k : LANES;
            Vec square[LANES];
            if (rows == 1) {
                vec_store_n(to, n, pack_along_k(&f->a, i, k, n));
                to += n;
                continue;
            }
            pack_square(&f->a, i, there, k, f->steps - k, square);
            for (int64_t s = 0; s < n; s++, to += rows) vec_store(to, square[s]);
        }
    }
}

/* The last panel, with columns that are not there. */
static const Word *panel_rows_pad(const PanelRows *f, int64_t j, Word *to)
{
    for (int64_t k = 0; k < f->words; k++)
        for (int v = 0; v < PANEL_ROWS; v += LANES)
            vec_store(to + k * PANEL_ROWS + v, pack_from_panels(&f->b, j + v, k, f->p->n - j - v));
    return to;
}

/* Rows of A that are multiplied at once. */
typedef struct PanelTile {
    const PanelKernels *kernel;
    int64_t row, a, beside; /* the first, its place in packed A, and how steps lie apart there */
} PanelTile;

static int panel_tiles(const PanelRows *f, PanelTile to[PANEL_PRODUCT_ROWS])
{
    int n = 0;
    for (int64_t i = 0, a = 0, beside, m = f->p->m; i < m; i += beside, a += beside * f->steps) {
        beside = panel_rows_beside(m - i);
        for (int64_t r = 0, rows; r < beside && i + r < m; r += rows) {
            rows = panel_tile(m - i - r);
            to[n++] = (PanelTile){ panel_kernels_of(rows), i + r, a + r, beside };
        }
    }
    return n;
}

/* Of kernels, for one pass. */
static int64_t panel_calls(const PanelTile *tile, int n)
{
    int64_t calls = 0;
    for (int i = 0; i < n; i++) calls += PANEL_NV / tile[i].kernel->vectors;
    return calls;
}

static int64_t panel_rows_columns(const PanelRows *f, Word *room, int64_t task, int64_t number)
{
    const int64_t j = number * PANEL_ROWS, per_word = f->steps / f->words;
    Word *padded = room + panel_rows_a_words(f);
    float *sums = padded + PANEL_ROWS * f->words;
    const Word *panel =
        f->p->n - j < PANEL_ROWS ? panel_rows_pad(f, j, padded) : pack_panel_words(&f->b, j, 0);
    PanelTile tile[PANEL_PRODUCT_ROWS];
    const int n_tiles = panel_tiles(f, tile);
    const int64_t calls = panel_calls(tile, n_tiles),
                  ahead_step = (PANEL_STEP_BYTES + calls - 1) / calls;
    for (int64_t from = 0; from < f->words; from += PANEL_PASS) {
        const int64_t n = f->words - from < PANEL_PASS ? f->words - from : PANEL_PASS;
        const Word *b = panel + from * PANEL_ROWS;
        const char *ahead =
            (const char *)b + (calls == 1 ? PANEL_AHEAD_BYTES : PANEL_PASS_AHEAD_BYTES);
        for (const PanelTile *t = tile; t < tile + n_tiles; t++) {
            const PanelKernels *k = t->kernel;
            const Word *a = room + t->a + from * per_word * t->beside;
            for (int v = 0; v < PANEL_ROWS; v += k->vectors * LANES, ahead += n * ahead_step)
                k->of[panel_kind(f)](n, a, t->beside, b + v, ahead, ahead_step, from > 0,
                                     sums + t->row * PANEL_ROWS + v);
        }
    }
    const int64_t next = panel_rows_next(f, task);
    panel_rows_put(f->p, sums, 0, f->p->m, j);
    return next;
}

#endif
