/* gemm_fast.c - matrix products over packed panels, in blocks that stay in the caches.
 *
 * A task computes one rectangle of C (or of one piece of k): for each pass over k it packs its
 * columns of B, then takes A block by block and multiplies the block with one panel after the
 * other. Tasks are claimed from the pool; no result depends on who runs what. See README.md. */
#include "ops/gemm/ahead.h"
#include "ops/gemm/few_rows.h"
#include "ops/gemm/pack.h"
#include "ops/gemm/panel_rows.h"
#include "ops/gemm/rows.h"
#include "ops/gemm/tasks.h"
#include "ops/gemm/tiles.h"

static const Machine machine = {
    .tile_rows = MR,
    .tile_columns = NR,
    .lanes = LANES,
    .pairs = DOT_PAIRS,
    .block_bytes = LANES == 8 ? 224 << 10 : 448 << 10,
    .parts = 1,
    .longest_pass = 768,
    .most_columns = 768,
    .good_rows = 384,
    .good_columns = 256,
};

static const Machine *machine_of(const Product *p)
{
    (void)p;
    return &machine;
}

/* The part of a thread's scratch that one task uses. */
typedef struct Room {
    Word *panels, *block, *edge;
    float *sums;
} Room;

static size_t thread_bytes(const Plan *plan)
{
    return plan->panel_bytes + plan->block_bytes + plan->edge_bytes + plan->sum_bytes;
}

static Room room_of(const Gemm *g, int thread)
{
    const Plan *plan = &g->plan;
    char *at = g->threads + thread_bytes(plan) * (size_t)thread;
    Room r = { .panels = (Word *)at };
    r.block = (Word *)(at += plan->panel_bytes);
    r.edge = (Word *)(at += plan->block_bytes);
    r.sums = (float *)(at + plan->edge_bytes);
    return r;
}

/* One block of A as the innermost product reads it. */
typedef struct GemmBlock {
    const char *rows;      /* of whole tiles */
    const char *last_rows; /* of the tile at the end that has fewer rows, if there is one */
    int64_t row_bytes, tile_bytes, last_row_bytes;
} GemmBlock;

/* The rows that the last tile lacks. What lies there may be numbers so small that CPUs take a
 * hundred times as long to multiply them. */
static void clear_missing(Word *tile, int64_t rows, int64_t steps)
{
    if (rows) memset(tile + rows * steps, 0, (size_t)((MR - rows) * steps) * sizeof(Word));
}

static GemmBlock prepare_block(const Gemm *g, const Room *room, int64_t row, int64_t n_rows,
                               int64_t step, int64_t steps)
{
    const Factor *a = &g->p.a;
    const PackFrom from = { *a, g->p.m, g->p.k, g->plan.pairs };
    int64_t whole = n_rows / MR * MR, word = sizeof(Word);
    if (g->plan.rows_of_a == A_PACKED) {
        pack_rows(&from, row, n_rows, step, steps, room->block, pack_rows_words(steps));
        int64_t bytes = word * pack_rows_words(steps);
        const char *at = (const char *)room->block;
        return (GemmBlock){ at, at + whole / MR * bytes, 0, bytes, 0 };
    }
    if (g->plan.rows_of_a == A_COPIED) {
        pack_copy(&from, row, n_rows, step, steps, room->block);
        clear_missing(room->block + whole * steps, n_rows - whole, steps);
        const char *at = (const char *)room->block;
        return (GemmBlock){ at, at + whole * steps * word, steps * word, MR * steps * word,
                            steps * word };
    }
    int64_t bytes = a->stride * (int64_t)dtype_size(a->dtype);
    const char *at = (const char *)a->data + row * bytes + step * word;
    for (int64_t i = whole; i < n_rows; i++)
        memcpy(room->edge + (i - whole) * steps, at + i * bytes, (size_t)(steps * word));
    clear_missing(room->edge, n_rows - whole, steps);
    return (GemmBlock){ at, (const char *)room->edge, bytes, MR * bytes, steps * word };
}

/* What the next block will read of A. */
static Ahead next_block(const Gemm *g, int64_t row, int64_t n_rows, int64_t step, int64_t steps,
                        int64_t n_calls)
{
    const Factor *a = &g->p.a;
    int64_t size = (int64_t)dtype_size(a->dtype), k = step, n_k = steps;
    if (n_rows <= 0) return (Ahead){ 0 };
    if (g->plan.pairs) k *= 2, n_k *= 2;
    if (a->k_inner)
        return ahead_of((const char *)a->data + (row * a->stride + k) * size, a->stride * size,
                        n_k * size, n_rows, n_calls);
    return ahead_of((const char *)a->data + (k * a->stride + row) * size, a->stride * size,
                    n_rows * size, n_k, n_calls);
}

/* A block of A with columns of B, over the steps of one pass. */
typedef struct Work {
    const Gemm *g;
    const Room *room;
    GemmBlock a;
    int64_t row, n_rows;       /* of C's rectangle */
    int64_t column, n_columns; /* of C */
    int64_t step, steps;
    TileEnd end;
    const Target *to;
    Ahead ahead;
} Work;

static void multiply_packed(Work *w, int64_t j)
{
    const Gemm *g = w->g;
    TileKernel *kernel =
        tile_kernels[g->plan.pairs][g->plan.rows_of_a == A_PACKED ? ROWS_PACKED : ROWS_APART];
    const int64_t size = (int64_t)dtype_size(w->to->dtype), stride = w->to->stride;
    const int64_t columns = w->n_columns - j < NR ? w->n_columns - j : NR;
    const Word *panel = w->room->panels + j * w->steps;
    for (int64_t i = 0; i < w->n_rows; i += MR) {
        char *c = (char *)w->to->c + ((w->row + i) * stride + j) * size;
        const char *a = w->a.rows + i / MR * w->a.tile_bytes;
        ahead_step(&w->ahead);
        if (w->n_rows - i < MR) {
            edge_tile(kernel, w->n_rows - i, columns, w->steps, w->a.last_rows, w->a.last_row_bytes,
                      panel, w->end, c, stride);
        } else if (columns < NR) {
            edge_tile(kernel, MR, columns, w->steps, a, w->a.row_bytes, panel, w->end, c, stride);
        } else {
            tile_prefetch(c, stride * size);
            kernel(w->steps, a, w->a.row_bytes, panel, w->end, c, stride);
        }
    }
}

/* Whether tiles read their columns from `column` on in panels of weights, where they lie. bf16 that
 * each tile would have to widen are packed. */
static bool in_place(const Gemm *g, int64_t column)
{
    const bool fits = (int)NR % PANEL_ROWS == 0 || (int)PANEL_ROWS % NR == 0;
    return fits && g->p.b.in_panels && (g->plan.pairs || g->p.b.dtype == F32) && column % NR == 0 &&
           column + NR <= g->p.n / PANEL_ROWS * PANEL_ROWS;
}

/* The panels after these ones come from memory while all rows are multiplied with these. */
static void multiply_in_place(Work *w, int64_t j)
{
    enum { TOGETHER = TILE_PANELS * PANEL_ROWS }; /* columns of whole panels */
    const Gemm *g = w->g;
    const PackFrom from = { g->p.b, g->p.n, g->p.k, g->plan.pairs };
    PanelTileKernel *kernel = g->plan.pairs ? panels_pairs_tile : panels_tile;
    const int64_t column = w->column + j, in_panel = column % TOGETHER;
    const int64_t size = (int64_t)dtype_size(w->to->dtype), stride = w->to->stride;
    const int64_t tiles = (w->n_rows + MR - 1) / MR, parts = TOGETHER / NR;
    const int64_t bytes = w->steps * PANEL_ROWS * (int64_t)sizeof(Word) / (tiles * parts);
    const Word *panel = pack_panel_words(&from, column - in_panel, w->step);
    TileB b = { .at = panel + in_panel,
                .next = g->plan.steps * PANEL_ROWS,
                .ahead = (const char *)panel };
    if (column + 2 * TOGETHER <= g->p.n) {
        b.ahead_step = bytes * TILE_UNROLL / w->steps + 1;
        b.ahead = (const char *)(panel + TILE_PANELS * b.next) + in_panel / NR * tiles * bytes;
    }
    for (int64_t i = 0; i < w->n_rows; i += MR) {
        char *c = (char *)w->to->c + ((w->row + i) * stride + j) * size;
        ahead_step(&w->ahead);
        if (w->n_rows - i < MR) {
            float tile[MR * NR] __attribute__((aligned(64)));
            kernel(w->steps, w->a.last_rows, w->a.last_row_bytes, &b, TILE_STORE, tile, NR);
            edge_put(tile, w->n_rows - i, NR, w->end, c, stride);
        } else {
            tile_prefetch(c, stride * size);
            kernel(w->steps, w->a.rows + i / MR * w->a.tile_bytes, w->a.row_bytes, &b, w->end, c,
                   stride);
        }
        if (b.ahead_step) b.ahead += bytes;
    }
}

static void multiply_rectangle(const Gemm *g, int thread, const Rectangle *r, Target t)
{
    const Plan *plan = &g->plan;
    const Room room = room_of(g, thread);
    const PackFrom b = { g->p.b, g->p.n, g->p.k, plan->pairs };
    const int64_t n_rows = r->n_rows, n_columns = r->n_columns;
    const Target result = t;
    if (plan->through_f32) t = (Target){ room.sums, n_columns, F32 };
    for (int64_t step = r->from; step < r->to; step += plan->pass) {
        int64_t steps = r->to - step < plan->pass ? r->to - step : plan->pass;
        for (int64_t j = 0; j < n_columns; j += NR)
            if (!in_place(g, r->column + j))
                pack_panel(&b, r->column + j, n_columns - j < NR ? n_columns - j : NR, step, steps,
                           room.panels + j * steps);
        bool adds = r->add || step > r->from;
        Work w = { .g = g,
                   .room = &room,
                   .column = r->column,
                   .n_columns = n_columns,
                   .step = step,
                   .steps = steps,
                   .end = t.dtype == BF16 ? TILE_ROUND
                          : adds          ? TILE_ADD
                                          : TILE_STORE,
                   .to = &t };
        for (int64_t i = 0; i < n_rows; i += plan->block) {
            const int64_t left = n_rows - i, rows = left < plan->block ? left : plan->block;
            const int64_t after = left - rows < plan->block ? left - rows : plan->block;
            const int64_t calls = (rows + MR - 1) / MR * ((n_columns + NR - 1) / NR);
            w.row = i, w.n_rows = rows;
            w.a = prepare_block(g, &room, r->row + i, rows, step, steps);
            w.ahead = next_block(g, r->row + i + rows, after, step, steps, calls);
            for (int64_t j = 0; j < n_columns; j += NR)
                if (in_place(g, r->column + j))
                    multiply_in_place(&w, j);
                else
                    multiply_packed(&w, j);
        }
    }
    if (plan->through_f32) round_rows(room.sums, n_rows, n_columns, &result);
}

static bool product_fits(const Product *p)
{
    (void)p;
    return true;
}

const KernelDef TABLE[] = {
    { "grouped_linear", "cpu", "any any i32>any", PRODUCT_LEVEL, run_grouped_linear,
      grouped_scratch, grouped_serves },
    { "grouped_outer", "cpu", "any any i32>any", PRODUCT_LEVEL, run_grouped_outer, grouped_scratch,
      grouped_serves },
    { "contract", "cpu", "any any>any", PRODUCT_LEVEL, run_contract, contract_scratch,
      contract_serves },
    { "contract_panels", "cpu", "any any>any", PRODUCT_LEVEL, run_contract_panels, panels_scratch,
      panels_serve },
    { "gather_contract", "cpu", "*", PRODUCT_LEVEL, run_gather_contract, pieces_scratch,
      pieces_serve },
    { "contract_scatter", "cpu", "*", PRODUCT_LEVEL, run_contract_scatter, pieces_scratch,
      pieces_serve },
    { 0 },
};
