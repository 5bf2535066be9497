/* gemm_amx.c - products of bf16 in tiles of AMX.
 *
 * A tile of C is multiplied in a fraction of a microsecond, so everything else has to be near: a
 * panel of B over one slice of k lies in the first level cache while all rows of a block pass by,
 * and the block's sums wait in the second until the next slice. What finished sums become (added to
 * C, rounded) is done while the next tile is multiplied. See README.md. */
#include "ops/gemm/few_rows_amx.h"
#include "ops/gemm/pack_amx.h"
#include "ops/gemm/panel_rows_amx.h"
#include "ops/gemm/rows.h"
#include "ops/gemm/tasks.h"

enum {
    BLOCK_ROWS = 256, /* of A, gone through per panel of B */
};

static const Machine machine = {
    .tile_rows = MR,
    .tile_columns = NR,
    .lanes = AMX_STEPS,
    .pairs = true,
    .block_bytes = 448 << 10,
    .most_columns = 384,
    .good_rows = 768,
};

/* The part of a thread's scratch that one task uses. */
typedef struct Room {
    Word *panels; /* of B, [columns / NR][steps of a pass][NR] */
    Word *rows;   /* of A, tiles of one slice of a block */
    float *sums;  /* of a block, tile by tile */
    float *whole; /* of the rectangle, where passes add to bf16 */
} Room;

static int64_t pass_steps(const Plan *plan)
{
    return amx_up(plan->pass);
}

/* Rows of A, and words along k, of a slice at most. */
static int64_t block_rows(const Plan *plan)
{
    return plan->rows < BLOCK_ROWS ? plan->rows : BLOCK_ROWS;
}

static int64_t slice_steps(const Plan *plan)
{
    return pass_steps(plan) < AMX_SLICE_STEPS ? pass_steps(plan) : AMX_SLICE_STEPS;
}

static size_t thread_bytes(const Plan *plan)
{
    int64_t words = plan->columns * pass_steps(plan) + block_rows(plan) * slice_steps(plan);
    if (plan->pass > AMX_SLICE_STEPS) words += block_rows(plan) * plan->columns;
    return sizeof(Word) * (size_t)words + plan->sum_bytes;
}

static Room room_of(const Gemm *g, int thread)
{
    const Plan *plan = &g->plan;
    char *at = g->threads + thread_bytes(plan) * (size_t)thread;
    Room r = { .panels = (Word *)at,
               .whole = (float *)(at + thread_bytes(plan) - plan->sum_bytes) };
    r.rows = r.panels + plan->columns * pass_steps(plan);
    r.sums = (float *)r.rows + block_rows(plan) * slice_steps(plan);
    return r;
}

/* A tile of sums on its way to C. */
typedef struct Finished {
    const float *sums;
    char *c;
    int64_t stride, rows, columns;
    TileEnd end;
} Finished;

INLINE void finish_rows(const Finished *f, int64_t columns, TileEnd end)
{
    for (int64_t i = 0; i < f->rows; i++)
#pragma GCC unroll 4
        for (int64_t j = 0; j < columns; j += LANES) {
            int64_t n = columns - j < LANES ? columns - j : LANES, at = i * f->stride + j;
            Vec v = vec_load(f->sums + i * NR + j);
            if (end == TILE_ADD) v = vec_get(F32, f->c, at, n) + v;
            vec_put(end == TILE_ROUND ? BF16 : F32, f->c, at, n, v);
        }
}

INLINE void finish(const Finished *f)
{
    if (f->columns < NR)
        finish_rows(f, f->columns, f->end);
    else if (f->end == TILE_ROUND)
        finish_rows(f, NR, TILE_ROUND);
    else if (f->end == TILE_ADD)
        finish_rows(f, NR, TILE_ADD);
    else
        finish_rows(f, NR, TILE_STORE);
}

/* One block of A over some steps. */
typedef struct Block {
    int64_t row, rows;   /* of A */
    int64_t step, steps; /* of this pass */
    int64_t columns;
    TileEnd end;
    Target c;
} Block;

/* A slice of a block's rows: in place, or tiles in scratch. */
typedef struct Slice {
    AmxRows first;
    int64_t next_rows; /* bytes */
    int64_t edge;      /* the row from which on tiles lie elsewhere */
    AmxRows last;
} Slice;

/* Rows at distances that are multiples of this would share few lines of the caches. */
enum { CROWDED_BYTES = 4096 };

static Slice slice_of(const Gemm *g, const Room *room, const Block *b, int64_t step, int64_t steps)
{
    const Factor *a = &g->p.a;
    const PackFrom from = { *a, g->p.m, g->p.k, true };
    const int64_t tile = AMX_TILE_WORDS * (int64_t)sizeof(Word),
                  bytes = a->stride * (int64_t)sizeof(bf16);
    const int64_t tiles = amx_up(steps) / AMX_STEPS;
    Slice s = { .first = { (const char *)room->rows, tile / MR, tile },
                .next_rows = tiles * tile,
                .edge = b->rows };
    if (g->plan.rows_of_a != A_IN_PLACE || steps % AMX_STEPS || bytes % CROWDED_BYTES == 0) {
        pack_amx_rows(&from, b->row, b->rows, step, steps, room->rows);
        return s;
    }
    s.last = s.first;
    s.first = (AmxRows){ (const char *)a->data + b->row * bytes + step * (int64_t)sizeof(Word),
                         bytes, tile / MR };
    s.next_rows = MR * bytes;
    s.edge = b->rows / MR * MR;
    if (s.edge < b->rows)
        pack_amx_rows(&from, b->row + s.edge, b->rows - s.edge, step, steps, room->rows);
    return s;
}

/* All tiles of a block over one slice; the last slice finishes them. */
static void multiply_slice(const Room *room, const Block *b, const Slice *a, int64_t from,
                           int64_t steps, bool last)
{
    float ends[2][AMX_SUMS] __attribute__((aligned(64)));
    float *sums = room->sums;
    Finished before = { .rows = 0 };
    const int64_t size = (int64_t)dtype_size(b->c.dtype);
    int turn = 0;
    for (int64_t j = 0; j < b->columns; j += NR) {
        const Word *panel = room->panels + j * amx_up(b->steps) + from * NR;
        AmxRows rows = a->first;
        for (int64_t i = 0; i < b->rows; i += MR, sums += AMX_SUMS) {
            if (from)
                amx_load(sums, AMX_SUM_BYTES);
            else
                amx_clear();
            amx_product(steps, i < a->edge ? rows : a->last, panel);
            rows.at += a->next_rows;
            if (!last) {
                amx_store(sums, AMX_SUM_BYTES);
                continue;
            }
            finish(&before);
            before = (Finished){ .sums = ends[turn],
                                 .c = (char *)b->c.c + (i * b->c.stride + j) * size,
                                 .stride = b->c.stride,
                                 .rows = b->rows - i < MR ? b->rows - i : MR,
                                 .columns = b->columns - j < NR ? b->columns - j : NR,
                                 .end = b->end };
            amx_store(ends[turn], AMX_SUM_BYTES);
            turn = !turn;
        }
    }
    finish(&before);
}

static void multiply_block(const Gemm *g, const Room *room, const Block *b)
{
    const int64_t n = (b->steps + AMX_SLICE_STEPS - 1) / AMX_SLICE_STEPS;
    const int64_t most = amx_up((b->steps + n - 1) / n);
    for (int64_t from = 0; from < b->steps; from += most) {
        const int64_t steps = b->steps - from < most ? b->steps - from : most;
        const Slice a = slice_of(g, room, b, b->step + from, steps);
        multiply_slice(room, b, &a, from, steps, from + steps == b->steps);
    }
}

static void multiply_rectangle(const Gemm *g, int thread, const Rectangle *r, Target t)
{
    const Plan *plan = &g->plan;
    const Room room = room_of(g, thread);
    const PackFrom from = { g->p.b, g->p.n, g->p.k, true };
    const Target result = t;
    if (plan->through_f32) t = (Target){ room.whole, r->n_columns, F32 };
    amx_begin();
    for (int64_t step = r->from; step < r->to; step += plan->pass) {
        const int64_t steps = r->to - step < plan->pass ? r->to - step : plan->pass;
        for (int64_t j = 0; j < r->n_columns; j += NR)
            pack_amx_panel(&from, r->column + j, r->n_columns - j < NR ? r->n_columns - j : NR,
                           step, steps, room.panels + j * amx_up(steps));
        const bool adds = r->add || step > r->from;
        Block b = { .step = step,
                    .steps = steps,
                    .columns = r->n_columns,
                    .end = t.dtype == BF16 ? TILE_ROUND
                           : adds          ? TILE_ADD
                                           : TILE_STORE };
        for (int64_t i = 0; i < r->n_rows; i += block_rows(plan)) {
            b.row = r->row + i;
            b.rows = r->n_rows - i < block_rows(plan) ? r->n_rows - i : block_rows(plan);
            b.c = t;
            b.c.c = (char *)t.c + i * t.stride * (int64_t)dtype_size(t.dtype);
            multiply_block(g, &room, &b);
        }
    }
    amx_end();
    if (plan->through_f32) round_rows(room.whole, r->n_rows, r->n_columns, &result);
}

static bool factors_fit(const Launch *l)
{
    return l->in[0].dtype == BF16 && l->in[1].dtype == BF16 && floats_fit(l);
}

const KernelDef gemm_amx[] = {
    { "grouped_linear", "cpu", "bf16 bf16 i32>any", CPU_AMX, run_grouped_linear, grouped_scratch,
      grouped_serves },
    { "grouped_outer", "cpu", "bf16 bf16 i32>any", CPU_AMX, run_grouped_outer, grouped_scratch,
      grouped_serves },
    { "contract", "cpu", "bf16 bf16>any", CPU_AMX, run_contract, contract_scratch,
      contract_serves },
    { "contract_panels", "cpu", "bf16 bf16>any", CPU_AMX, run_contract_panels, panels_scratch,
      panels_serve },
    { "gather_contract", "cpu", "*", CPU_AMX, run_gather_contract, pieces_scratch, pieces_serve },
    { "contract_scatter", "cpu", "*", CPU_AMX, run_contract_scatter, pieces_scratch, pieces_serve },
    { 0 },
};
