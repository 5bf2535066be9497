/* gemm_amx.c - products of bf16, and of f32 in parts, in tiles of AMX.
 *
 * A tile of C is multiplied in a fraction of a microsecond, so everything else has to be near: a
 * panel of B over one slice of k lies in the first level cache while all rows of a block stream
 * by from the second, where the block's sums wait until the next slice. What finished sums become
 * (added to C, rounded) is done while the next tile is multiplied. See README.md. */
#include "ops/gemm/few_rows_amx.h"
#include "ops/gemm/pack_amx.h"
#include "ops/gemm/panel_rows_amx.h"
#include "ops/gemm/rows.h"
#include "ops/gemm/tasks.h"

enum {
    BLOCK_ROWS = 256,                       /* of A, gone through per panel of B */
    SQUARE_ROWS = 2 * MR,                   /* of A, and PANEL_ROWS columns: multiplied at once */
    SQUARE_SUMS = SQUARE_ROWS * PANEL_ROWS, /* floats */
    SLICE_STEPS = 256,                      /* words along k: a panel's are 32 KiB */
    PARTS_SLICE_STEPS = 64,                 /* 24 KiB */
};

static const Machine of_pairs = {
    .tile_rows = MR,
    .tile_columns = PANEL_ROWS,
    .lanes = AMX_STEPS,
    .pairs = true,
    .parts = 1,
    .block_bytes = 448 << 10,
    .panel_block_bytes = 1280 << 10,
    .most_block_rows = BLOCK_ROWS,
    .longest_pass = 768,
    .most_columns = 384,
    .good_rows = 768,
    .good_columns = 256,
};

static const Machine of_parts = {
    .tile_rows = MR,
    .tile_columns = PANEL_ROWS,
    .lanes = AMX_STEPS,
    .parts = AMX_PARTS,
    .block_bytes = 576 << 10,
    .longest_pass = 192,
    .most_columns = 768,
    .good_rows = 768,
    .good_columns = 512,
};

static const Machine *machine_of(const Product *p)
{
    return p->a.dtype == F32 ? &of_parts : &of_pairs;
}

/* A group's sums on their way to C: [rows][PANEL_ROWS]. */
typedef struct Finished {
    const float *sums;
    char *c;
    int64_t stride, rows, columns;
    TileEnd end;
} Finished;

/* The scratch of a thread, and what it has not finished. */
typedef struct Room {
    Word *panels; /* of B, [columns / PANEL_ROWS][steps of a pass][PANEL_ROWS] */
    Word *rows;   /* of A, tiles of a block */
    float *sums;  /* of a block and one panel, or all of them, [panels][rows][PANEL_ROWS] */
    float *whole; /* of the rectangle, where passes add to bf16 */
    Finished before;
    float *ends; /* [2][SQUARE_SUMS] */
    int turn;
} Room;

static int64_t pass_steps(const Plan *plan)
{
    return amx_up(plan->pass);
}

/* Rows of A of a block at most, in whole groups. */
static int64_t block_rows(const Plan *plan)
{
    const int64_t rows = plan->block < BLOCK_ROWS ? plan->block : BLOCK_ROWS;
    return (rows + SQUARE_ROWS - 1) / SQUARE_ROWS * SQUARE_ROWS;
}

/* Of a panel that is not whole, at least. */
static int64_t packed_columns(const Plan *plan)
{
    return plan->panels_in_place ? PANEL_ROWS : plan->columns;
}

/* Words of a part of packed panels, and of copied rows. */
static int64_t panels_part(const Plan *plan)
{
    return packed_columns(plan) * pass_steps(plan);
}

static int64_t rows_part(const Plan *plan)
{
    return block_rows(plan) * pass_steps(plan);
}

/* Floats of a block. */
static int64_t block_sums(const Plan *plan)
{
    return block_rows(plan) * (plan->keeps_sums ? amx_up(plan->columns) : PANEL_ROWS);
}

static size_t thread_bytes(const Plan *plan)
{
    return sizeof(Word) * (size_t)((panels_part(plan) + rows_part(plan)) * plan->parts +
                                   block_sums(plan) + 2 * SQUARE_SUMS) +
           plan->sum_bytes;
}

static Room room_of(const Gemm *g, int thread)
{
    const Plan *plan = &g->plan;
    char *at = g->threads + thread_bytes(plan) * (size_t)thread;
    Room r = { .panels = (Word *)at,
               .whole = (float *)(at + thread_bytes(plan) - plan->sum_bytes) };
    r.ends = r.whole - 2 * SQUARE_SUMS;
    r.sums = r.ends - block_sums(plan);
    r.rows = r.panels + panels_part(plan) * plan->parts;
    return r;
}

INLINE void finish_rows(const Finished *f, int64_t columns, TileEnd end)
{
    for (int64_t i = 0; i < f->rows; i++)
#pragma GCC unroll 2
        for (int64_t j = 0; j < columns; j += LANES) {
            int64_t n = columns - j < LANES ? columns - j : LANES, at = i * f->stride + j;
            Vec v = vec_load(f->sums + i * PANEL_ROWS + j);
            if (end == TILE_ADD) v = vec_get(F32, f->c, at, n) + v;
            vec_put(end == TILE_ROUND ? BF16 : F32, f->c, at, n, v);
        }
}

static void finish(Finished *f)
{
    if (f->columns < PANEL_ROWS)
        finish_rows(f, f->columns, f->end);
    else if (f->end == TILE_ROUND)
        finish_rows(f, PANEL_ROWS, TILE_ROUND);
    else if (f->end == TILE_ADD)
        finish_rows(f, PANEL_ROWS, TILE_ADD);
    else
        finish_rows(f, PANEL_ROWS, TILE_STORE);
    f->rows = 0;
}

/* One block of A and one pass along k. */
typedef struct Block {
    int64_t row, rows;   /* of A */
    int64_t step, steps; /* of this pass */
    int64_t edge;        /* the row from which on A was copied */
    bool goes_on, ends;  /* there are sums of earlier passes; those of this one are whole */
    TileEnd end;
    Target c;
} Block;

/* One panel of B. */
typedef struct Panel {
    const Word *at;
    float *sums;
    int64_t column, columns; /* of the rectangle */
    bool streams;            /* comes from memory, and what follows it there is read next */
} Panel;

/* Copies what of a block's rows cannot be read in place. */
static void take_rows(const Gemm *g, const Room *room, Block *b)
{
    const Factor *a = &g->p.a;
    PackFrom from = { *a, g->p.m, g->p.k, true };
    const bool in_place =
        g->plan.rows_of_a == A_IN_PLACE && a->stride % 2 == 0 && b->steps % AMX_STEPS == 0;
    b->edge = in_place ? b->rows / SQUARE_ROWS * SQUARE_ROWS : 0;
    for (int64_t i = b->edge; i < b->rows; i += SQUARE_ROWS)
        for (from.f.part = 0; from.f.part < g->plan.parts; from.f.part++)
            pack_amx_rows(&from, b->row + i, b->rows - i < SQUARE_ROWS ? b->rows - i : SQUARE_ROWS,
                          b->step, b->steps,
                          room->rows + from.f.part * rows_part(&g->plan) +
                              (i - b->edge) * amx_up(b->steps));
}

static AmxFactors group_of(const Gemm *g, const Room *room, const Block *b, int64_t i, int64_t from,
                           const Word *panel)
{
    const Factor *a = &g->p.a;
    if (i < b->edge)
        return amx_factors((const Word *)((const bf16 *)a->data + (b->row + i) * a->stride) +
                               b->step + from,
                           a->stride / 2, panel, PANEL_ROWS);
    const int64_t steps = amx_up(b->steps);
    return (AmxFactors){ .a = room->rows + (i - b->edge) * steps + from * MR,
                         .b = panel,
                         .a_row = AMX_STEPS,
                         .a_next = AMX_TILE_WORDS,
                         .a_below = steps * MR,
                         .b_row = PANEL_ROWS,
                         .a_part = rows_part(&g->plan),
                         .b_part = panels_part(&g->plan) };
}

INLINE void load_sums(bool tall, const float *from)
{
    if (tall)
        amx_square_load(2, 2, from, PANEL_ROWS);
    else
        amx_square_load(1, 2, from, PANEL_ROWS);
}

INLINE void store_sums(bool tall, float *to)
{
    if (tall)
        amx_square_store(2, 2, to, PANEL_ROWS);
    else
        amx_square_store(1, 2, to, PANEL_ROWS);
}

/* A group of rows with a panel over a slice; the last one finishes it. */
static void multiply_group(const Gemm *g, Room *room, const Block *b, const Panel *p, int64_t i,
                           int64_t from, int64_t steps, Ahead *next)
{
    const bool last = b->ends && from + steps >= b->steps, tall = b->rows - i > MR;
    const AmxFactors x = group_of(g, room, b, i, from, p->at + from * PANEL_ROWS);
    const int64_t size = (int64_t)dtype_size(b->c.dtype), calls = amx_up(steps) / AMX_STEPS;
    float *sums = p->sums + i * PANEL_ROWS;
    char *c = (char *)b->c.c + (i * b->c.stride + p->column) * size;
    const int64_t rows = b->rows - i < SQUARE_ROWS ? b->rows - i : SQUARE_ROWS;
    Ahead ahead = { 0 };
    if (last) ahead = ahead_of(c, b->c.stride * size, p->columns * size, rows, calls);
    if (from || b->goes_on)
        load_sums(tall, sums);
    else
        amx_clear();
    if (g->plan.parts > 1 && tall)
        amx_parts_add(2, &x, steps, &ahead, next);
    else if (g->plan.parts > 1)
        amx_parts_add(1, &x, steps, &ahead, next);
    else if (tall)
        amx_square_add(2, 2, &x, steps, &ahead, next);
    else
        amx_square_add(1, 2, &x, steps, &ahead, next);
    if (last) {
        finish(&room->before);
        sums = room->ends + room->turn * SQUARE_SUMS;
    }
    store_sums(tall, sums);
    if (!last) return;
    room->before = (Finished){ sums, c, b->c.stride, rows, p->columns, b->end };
    room->turn = !room->turn;
}

/* What is multiplied next: the slice that lies behind, or the first one of the next panel. */
static Ahead panel_ahead(const Gemm *g, const Block *b, const Panel *p, int64_t from, int64_t steps)
{
    const int64_t groups = (b->rows + SQUARE_ROWS - 1) / SQUARE_ROWS,
                  bytes = steps * PANEL_ROWS * (int64_t)sizeof(Word),
                  next = from + steps < b->steps ? from + steps : g->plan.steps;
    if (!p->streams) return (Ahead){ 0 };
    return ahead_of(p->at + next * PANEL_ROWS, bytes, bytes, 1,
                    groups * (amx_up(steps) / AMX_STEPS));
}

/* `more` is asked for meanwhile. */
static void multiply_panel(const Gemm *g, Room *room, const Block *b, const Panel *p, Ahead *more)
{
    const int64_t longest = g->plan.parts > 1 ? PARTS_SLICE_STEPS : SLICE_STEPS,
                  n = (b->steps + longest - 1) / longest;
    const int64_t most = amx_up((b->steps + n - 1) / n);
    for (int64_t from = 0; from < b->steps; from += most) {
        const int64_t steps = b->steps - from < most ? b->steps - from : most;
        Ahead next = panel_ahead(g, b, p, from, steps);
        for (int64_t i = 0; i < b->rows; i += SQUARE_ROWS)
            multiply_group(g, room, b, p, i, from, steps, p->streams ? &next : more);
    }
}

static bool panel_in_place(const Gemm *g, int64_t column)
{
    return g->plan.panels_in_place && g->p.n - column >= PANEL_ROWS;
}

static Word *packed_panel(const Gemm *g, const Room *room, int64_t j, int64_t steps)
{
    return g->plan.panels_in_place ? room->panels : room->panels + j * amx_up(steps);
}

/* Packs a panel of B that cannot be read in place, for one pass. */
static void take_panel(const Gemm *g, const Room *room, const Rectangle *r, int64_t j, int64_t step,
                       int64_t steps)
{
    const int64_t at_once = g->plan.parts > 1 ? PARTS_SLICE_STEPS : steps;
    PackFrom from = { g->p.b, g->p.n, g->p.k, true };
    const int64_t columns = r->n_columns - j < PANEL_ROWS ? r->n_columns - j : PANEL_ROWS;
    for (int64_t k = 0; k < steps; k += at_once)
        for (from.f.part = 0; from.f.part < g->plan.parts; from.f.part++)
            pack_amx_columns(&from, r->column + j, columns, step + k,
                             steps - k < at_once ? steps - k : at_once,
                             packed_panel(g, room, j, steps) + k * PANEL_ROWS +
                                 from.f.part * panels_part(&g->plan));
}

static Panel panel_of(const Gemm *g, const Room *room, const Rectangle *r, int64_t j, int64_t step,
                      int64_t steps)
{
    const PackFrom from = { g->p.b, g->p.n, g->p.k, true };
    const bool in_place = panel_in_place(g, r->column + j);
    return (Panel){ .at = in_place ? pack_panel_words(&from, r->column + j, step)
                                   : packed_panel(g, room, j, steps),
                    .sums = room->sums + (g->plan.keeps_sums ? j * block_rows(&g->plan) : 0),
                    .column = j,
                    .columns = r->n_columns - j < PANEL_ROWS ? r->n_columns - j : PANEL_ROWS,
                    .streams = in_place && r->n_columns - j >= 2 * PANEL_ROWS };
}

/* What the panel from column j on is packed from, in so many calls. */
static Ahead source_ahead(const Gemm *g, const Rectangle *r, int64_t j, int64_t step, int64_t steps,
                          int64_t calls)
{
    const Factor *b = &g->p.b;
    const int64_t size = (int64_t)dtype_size(b->dtype), column = r->column + j,
                  columns = r->n_columns - j < PANEL_ROWS ? r->n_columns - j : PANEL_ROWS,
                  left = g->p.k - 2 * step, k = left < 2 * steps ? left : 2 * steps;
    const char *data = b->data;
    if (columns <= 0) return (Ahead){ 0 };
    if (b->in_panels)
        return ahead_of(data + (column * g->p.k + 2 * step * columns) * size, 0, k * columns * size,
                        1, calls);
    if (b->k_inner)
        return ahead_of(data + (column * b->stride + 2 * step) * size, b->stride * size, k * size,
                        columns, calls);
    return ahead_of(data + (2 * step * b->stride + column) * size, b->stride * size, columns * size,
                    k, calls);
}

static void take_panels(const Gemm *g, const Room *room, const Rectangle *r, int64_t step,
                        int64_t steps)
{
    for (int64_t j = 0; j < r->n_columns; j += PANEL_ROWS)
        if (!panel_in_place(g, r->column + j)) take_panel(g, room, r, j, step, steps);
}

/* A block with all panels. Those of f32 are taken apart as the first block meets them, and what the
 * next one is made of is asked for meanwhile. */
static void multiply_block(const Gemm *g, Room *room, const Block *b, const Rectangle *r,
                           bool is_first)
{
    const int64_t groups = (b->rows + SQUARE_ROWS - 1) / SQUARE_ROWS,
                  calls = groups * (amx_up(b->steps) / AMX_STEPS);
    for (int64_t j = 0; j < r->n_columns; j += PANEL_ROWS) {
        Ahead next = { 0 };
        if (is_first && g->plan.parts > 1) {
            take_panel(g, room, r, j, b->step, b->steps);
            next = source_ahead(g, r, j + PANEL_ROWS, b->step, b->steps, calls);
        }
        const Panel p = panel_of(g, room, r, j, b->step, b->steps);
        multiply_panel(g, room, b, &p, &next);
    }
}

/* The block from row i on, and one pass along k. */
static void multiply_pass(const Gemm *g, Room *room, const Rectangle *r, const Target *t, int64_t i,
                          int64_t step, int64_t steps)
{
    const int64_t most = block_rows(&g->plan);
    const bool keeps = g->plan.keeps_sums, adds = r->add || (step > r->from && !keeps);
    Block b = { .row = r->row + i,
                .rows = r->n_rows - i < most ? r->n_rows - i : most,
                .step = step,
                .steps = steps,
                .goes_on = keeps && step > r->from,
                .ends = !keeps || step + steps >= r->to,
                .end = t->dtype == BF16 ? TILE_ROUND
                       : adds           ? TILE_ADD
                                        : TILE_STORE,
                .c = *t };
    b.c.c = (char *)t->c + i * t->stride * (int64_t)dtype_size(t->dtype);
    take_rows(g, room, &b);
    multiply_block(g, room, &b, r, i == 0);
}

/* Where sums are kept, passes are those of a block, else blocks are those of a pass. */
static void multiply_rectangle(const Gemm *g, int thread, const Rectangle *r, Target t)
{
    const Plan *plan = &g->plan;
    const int64_t at_once = plan->keeps_sums ? block_rows(plan) : r->n_rows;
    Room room = room_of(g, thread);
    const Target result = t;
    if (plan->through_f32) t = (Target){ room.whole, r->n_columns, F32 };
    amx_begin();
    for (int64_t from = 0; from < r->n_rows; from += at_once)
        for (int64_t step = r->from; step < r->to; step += plan->pass) {
            const int64_t steps = r->to - step < plan->pass ? r->to - step : plan->pass;
            if (plan->parts == 1) take_panels(g, &room, r, step, steps);
            for (int64_t i = from; i < r->n_rows && i < from + at_once; i += block_rows(plan))
                multiply_pass(g, &room, r, &t, i, step, steps);
            finish(&room.before); /* before the next pass adds to it */
        }
    amx_end();
    if (plan->through_f32) round_rows(room.whole, r->n_rows, r->n_columns, &result);
}

/* f32 in parts: with rows enough to pay for taking the other factor apart, and no tile mostly
 * empty.
 */
enum { PARTS_ROWS = 48, PARTS_COLUMNS = 16, PARTS_ALONG_K = 32 };

static bool product_fits(const Product *p)
{
    if (p->a.dtype != p->b.dtype) return false;
    return p->a.dtype == BF16 ||
           (p->m > PARTS_ROWS && p->n >= PARTS_COLUMNS && p->k >= PARTS_ALONG_K);
}

const KernelDef gemm_amx[] = {
    { "grouped_linear", "cpu", "bf16 bf16 i32>any", CPU_AMX, run_grouped_linear, grouped_scratch,
      grouped_serves },
    { "grouped_linear", "cpu", "f32 f32 i32>any", CPU_AMX, run_grouped_linear, grouped_scratch,
      grouped_serves },
    { "grouped_outer", "cpu", "bf16 bf16 i32>any", CPU_AMX, run_grouped_outer, grouped_scratch,
      grouped_serves },
    { "grouped_outer", "cpu", "f32 f32 i32>any", CPU_AMX, run_grouped_outer, grouped_scratch,
      grouped_serves },
    { "contract", "cpu", "bf16 bf16>any", CPU_AMX, run_contract, contract_scratch,
      contract_serves },
    { "contract", "cpu", "f32 f32>any", CPU_AMX, run_contract, contract_scratch, contract_serves },
    { "contract_panels", "cpu", "bf16 bf16>any", CPU_AMX, run_contract_panels, panels_scratch,
      panels_serve },
    { "contract_panels", "cpu", "f32 f32>any", CPU_AMX, run_contract_panels, panels_scratch,
      panels_serve },
    { "gather_contract", "cpu", "*", CPU_AMX, run_gather_contract, pieces_scratch, pieces_serve },
    { "contract_scatter", "cpu", "*", CPU_AMX, run_contract_scatter, pieces_scratch, pieces_serve },
    { 0 },
};
