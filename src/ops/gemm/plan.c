/* plan.c - chooses tasks and blocks for a matrix product.
 *
 * Sizes follow from the caches: a panel of B times `pass` steps (at most 192 KiB) and a block of
 * A stay in the second level while the block is multiplied; C is gone through once per pass. */
#include "ops/gemm/plan.h"

enum {
    MAX_SUM_ROWS = 768, /* of a task with sums of its own */
    TASKS_PER_THREAD = 6,
    SMALL_RESULT = 2 * 256 * 256, /* elements of C below which k is split */
    PIECE_STEPS = 1024,
    MAX_PIECES = 16,
};

static int64_t up(int64_t x, int64_t multiple)
{
    return (x + multiple - 1) / multiple * multiple;
}

static int64_t parts(int64_t x, int64_t part)
{
    return (x + part - 1) / part;
}

static int64_t least(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

static int64_t most(int64_t a, int64_t b)
{
    return a > b ? a : b;
}

/* Into how many parts, from `fewest` to `finest`, columns are cut so that the threads end together:
 * the thread with most to do has least. */
static int64_t even_columns(const Plan *plan, const Product *p, const Machine *machine,
                            int64_t rows, int64_t fewest, int64_t finest, int n_threads)
{
    int64_t best = finest, least_work = INT64_MAX;
    for (int64_t n = finest; n >= fewest; n--) {
        const int64_t width = up(parts(p->n, n), machine->tile_columns);
        const int64_t tasks = rows * parts(p->n, width) * plan->n_pieces;
        const int64_t work = parts(tasks, n_threads) * width;
        if (work < least_work) best = n, least_work = work;
    }
    return best;
}

/* Tasks are rectangles of C: long enough for their packing, and several per thread. */
static void choose_tasks(Plan *plan, const Product *p, const Machine *machine, int n_threads)
{
    int64_t wanted = n_threads == 1 ? 1 : parts(TASKS_PER_THREAD * n_threads, plan->n_pieces);
    const int64_t fewest = parts(p->n, machine->most_columns);
    int64_t rows = most(1, least(parts(wanted, fewest), p->m / machine->good_rows));
    int64_t columns = most(fewest, least(parts(wanted, rows), p->n / machine->good_columns));
    if (plan->through_f32) rows = most(rows, parts(p->m, MAX_SUM_ROWS));
    if (rows * columns * plan->n_pieces < n_threads)
        columns =
            least(parts(n_threads, rows * plan->n_pieces), parts(p->n, machine->tile_columns));
    columns = even_columns(plan, p, machine, rows, fewest, columns, n_threads);
    plan->rows = up(parts(p->m, rows), machine->tile_rows);
    plan->columns = up(parts(p->n, columns), machine->tile_columns);
    plan->n_rows = parts(p->m, plan->rows);
    plan->n_columns = parts(p->n, plan->columns);
}

/* Of A, if no pass cuts k. */
static int64_t block_bytes(const Machine *machine, const Product *p, int64_t steps)
{
    return least(p->m, machine->most_block_rows) * steps * (int64_t)sizeof(float);
}

Plan plan_product(const Product *p, const Machine *machine, int n_threads)
{
    const bool in_parts = machine->parts > 1;
    Plan plan = { .pairs = in_parts || (machine->pairs && p->a.dtype == BF16 && p->b.dtype == BF16),
                  .parts = machine->parts };
    bool in_words = !in_parts && (p->a.dtype == F32 || (plan.pairs && p->k % 2 == 0));
    plan.rows_of_a = !p->a.k_inner ? A_PACKED : in_words ? A_IN_PLACE : A_COPIED;
    plan.steps = plan.pairs ? parts(p->k, 2) : p->k;
    plan.n_pieces = 1;
    const bool in_place = p->b.in_panels && machine->panel_block_bytes;
    if (!in_place && p->c_dtype == F32 && p->m * p->n <= SMALL_RESULT)
        plan.n_pieces = most(1, least(MAX_PIECES, plan.steps / PIECE_STEPS));
    const int64_t piece = parts(plan.steps, plan.n_pieces),
                  pass = parts(piece, parts(piece, machine->longest_pass));
    plan.pass = most(1, least(up(pass, machine->lanes), plan.steps));
    if (in_place && block_bytes(machine, p, plan.steps) <= machine->panel_block_bytes)
        plan.pass = plan.steps; /* nothing is packed, so no sums have to wait for it */
    plan.keeps_sums = in_place && plan.steps > plan.pass;
    plan.panels_in_place = in_place && plan.steps % machine->lanes == 0;
    plan.block = (in_place ? machine->panel_block_bytes : machine->block_bytes) /
                 (plan.parts * plan.pass * (int64_t)sizeof(float));
    plan.block = most(plan.block / machine->tile_rows, 8) * machine->tile_rows;
    plan.through_f32 = p->c_dtype == BF16 && plan.steps > plan.pass && !plan.keeps_sums;
    choose_tasks(&plan, p, machine, n_threads);
    plan.block = least(plan.block, plan.rows);

    int64_t word = sizeof(float), n_tiles = parts(plan.block, machine->tile_rows);
    int64_t packed = plan.pass * machine->tile_rows + machine->lanes;
    plan.panel_bytes = (size_t)up(word * plan.columns * plan.pass, 64);
    plan.block_bytes = plan.rows_of_a == A_IN_PLACE ? 0 : (size_t)up(word * n_tiles * packed, 64);
    plan.edge_bytes = (size_t)up(word * machine->tile_rows * plan.pass, 64);
    plan.sum_bytes = plan.through_f32 ? (size_t)up(word * plan.rows * plan.columns, 64) : 0;
    plan.piece_bytes = plan.n_pieces > 1 ? (size_t)up(word * p->m * p->n, 64) : 0;
    return plan;
}
