/* panel_rows_amx.h - products of few rows of A with weights in panels, in tiles of AMX.
 *
 * Sixteen steps of a panel are two tiles of the right factor as they lie. Rows of A are packed as
 * tiles of the left one, up to two of them, and the panel passes by as one stream. Each element of
 * C is summed along k in the same order however many rows there are. */
#ifndef OPS_GEMM_PANEL_ROWS_AMX_H
#define OPS_GEMM_PANEL_ROWS_AMX_H
#include "base/thread.h"
#include "ops/gemm/amx.h"
#include "ops/gemm/pack.h"

enum {
    PANEL_PRODUCT_ROWS = 48,
    PANEL_GROUP = 2 * MR,  /* rows of A that are multiplied together */
    PANELS_PER_TASK = 32,  /* at most */
    PANEL_HEAD_BYTES = 64, /* of a thread's scratch: whether A was packed */
};

INLINE bool panel_rows_serves(const Product *p)
{
    return p->b.in_panels && p->m <= PANEL_PRODUCT_ROWS;
}

/* One product. Steps are words along k. */
typedef struct PanelRows {
    const Product *p;
    PackFrom a, b;
    int64_t steps;
    int64_t n_panels, per_task;
    char *threads; /* scratch: of each the head, sums, A, a padded panel */
} PanelRows;

static PanelRows panel_rows_of(const Product *p, int n_threads)
{
    PanelRows f = { .p = p,
                    .a = { p->a, p->m, p->k, true },
                    .b = { p->b, p->n, p->k, true },
                    .steps = p->k / 2,
                    .n_panels = (p->n + PANEL_ROWS - 1) / PANEL_ROWS };
    f.per_task = f.n_panels / (3 * n_threads);
    f.per_task = f.per_task < 1 ? 1 : f.per_task < PANELS_PER_TASK ? f.per_task : PANELS_PER_TASK;
    return f;
}

/* The scratch of a thread. */
typedef struct PanelRoom {
    float *sums;  /* [PANEL_GROUP][PANEL_ROWS] */
    Word *a;      /* groups of rows, [steps / 16][rows of the group][16 words] */
    Word *padded; /* [steps][PANEL_ROWS], up to whole tiles */
} PanelRoom;

static size_t panel_rows_thread_bytes(const PanelRows *f)
{
    const int64_t steps = amx_up(f->steps);
    const int64_t words = PANEL_GROUP * PANEL_ROWS + (amx_up(f->p->m) + PANEL_ROWS) * steps;
    return PANEL_HEAD_BYTES + sizeof(Word) * (size_t)words;
}

static size_t panel_rows_scratch(const Product *p, int n_threads)
{
    const PanelRows f = panel_rows_of(p, n_threads);
    return panel_rows_thread_bytes(&f) * (size_t)n_threads;
}

/* Rows of the group that begins with row i, up to whole tiles. */
INLINE int64_t panel_rows_in_group(const Product *p, int64_t i)
{
    return p->m - i > MR ? PANEL_GROUP : MR;
}

static void panel_rows_pack(const PanelRows *f, Word *to)
{
    for (int64_t i = 0, rows; i < f->p->m; i += rows) {
        rows = panel_rows_in_group(f->p, i);
        for (int64_t k = 0; k < f->steps; k += AMX_STEPS)
            for (int64_t r = i; r < i + rows; r++, to += AMX_STEPS) {
                const int64_t n = f->steps - k < AMX_STEPS ? f->steps - k : AMX_STEPS;
                vec_store(to, r < f->p->m ? pack_along_k(&f->a, r, k, n) : vec_set(0));
            }
    }
}

/* Steps of a panel from `from` on, up to whole tiles. */
static void panel_rows_pad(const PanelRows *f, int64_t j, int64_t from, Word *to)
{
    for (int64_t k = from; k < amx_up(f->steps); k++)
        for (int64_t v = j; v < j + PANEL_ROWS; v += LANES, to += LANES)
            vec_store(to, k < f->steps ? pack_from_panels(&f->b, v, k, f->p->n - v) : vec_set(0));
}

static void panel_rows_put(const Product *p, const float *sums, int64_t i, int64_t rows, int64_t j)
{
    for (int64_t r = 0; r < rows && i + r < p->m; r++)
        for (int64_t v = 0; v < PANEL_ROWS && j + v < p->n; v += LANES) {
            const int64_t n = p->n - j - v < LANES ? p->n - j - v : LANES;
            vec_put(p->c_dtype, p->c, (i + r) * p->c_stride + j + v, n,
                    vec_load(sums + r * PANEL_ROWS + v));
        }
}

/* A panel, and what of it must be read elsewhere. */
typedef struct PanelTiles {
    const Word *at, *rest;
    int64_t whole; /* steps that lie in whole tiles where the panel is */
} PanelTiles;

/* Some rows of A with a panel. */
static void panel_rows_group(const PanelRows *f, const PanelRoom *room, const PanelTiles *panel,
                             const Word *a, int64_t rows, Ahead *ahead)
{
    AmxFactors x = {
        .a = a, .a_row = AMX_STEPS, .a_next = rows * AMX_STEPS, .b = panel->at, .b_row = PANEL_ROWS
    };
    const int64_t left = amx_up(f->steps) - panel->whole;
    amx_clear();
    if (rows == MR)
        amx_square_add(1, 2, &x, panel->whole, ahead);
    else
        amx_square_add(2, 2, &x, panel->whole, ahead);
    x.a += panel->whole / AMX_STEPS * x.a_next;
    x.b = panel->rest;
    if (rows == MR)
        amx_square_add(1, 2, &x, left, NULL);
    else
        amx_square_add(2, 2, &x, left, NULL);
    if (rows == MR)
        amx_square_store(1, 2, room->sums, PANEL_ROWS);
    else
        amx_square_store(2, 2, room->sums, PANEL_ROWS);
}

/* All rows of A with the panel of column j. */
static void panel_rows_columns(const PanelRows *f, const PanelRoom *room, int64_t j)
{
    const Product *p = f->p;
    const bool is_whole = p->n - j >= PANEL_ROWS;
    PanelTiles panel = { .at = pack_panel_words(&f->b, j, 0),
                         .rest = room->padded,
                         .whole = is_whole ? f->steps / AMX_STEPS * AMX_STEPS : 0 };
    panel_rows_pad(f, j, panel.whole, room->padded);
    const int64_t calls = panel.whole / AMX_STEPS * ((p->m + PANEL_GROUP - 1) / PANEL_GROUP);
    const int64_t bytes = (int64_t)sizeof(Word) * f->steps * PANEL_ROWS;
    Ahead ahead = { 0 };
    if (calls && p->n - j >= 2 * PANEL_ROWS)
        ahead = ahead_of((const char *)panel.at + bytes, bytes, bytes, 1, calls);
    const Word *a = room->a;
    for (int64_t i = 0, rows; i < p->m; i += rows) {
        rows = panel_rows_in_group(p, i);
        panel_rows_group(f, room, &panel, a, rows, &ahead);
        panel_rows_put(p, room->sums, i, rows, j);
        a += rows * amx_up(f->steps);
    }
}

static void panel_rows_task(void *arg, int64_t task, int thread)
{
    const PanelRows *f = arg;
    char *at = f->threads + panel_rows_thread_bytes(f) * (size_t)thread;
    PanelRoom room = { .sums = (float *)(at + PANEL_HEAD_BYTES) };
    room.a = room.sums + PANEL_GROUP * PANEL_ROWS;
    room.padded = room.a + amx_up(f->p->m) * amx_up(f->steps);
    if (!*at) panel_rows_pack(f, room.a);
    *at = 1;
    amx_begin();
    for (int64_t q = task * f->per_task; q < (task + 1) * f->per_task && q < f->n_panels; q++)
        panel_rows_columns(f, &room, q * PANEL_ROWS);
    amx_end();
}

static void panel_rows_multiply(const Product *p, void *scratch, struct Pool *pool)
{
    PanelRows f = panel_rows_of(p, pool_size(pool));
    f.threads = scratch;
    const size_t each = panel_rows_thread_bytes(&f);
    for (int i = 0; i < pool_size(pool); i++) f.threads[each * (size_t)i] = 0;
    pool_run(pool, (f.n_panels + f.per_task - 1) / f.per_task, panel_rows_task, &f);
}

#endif
