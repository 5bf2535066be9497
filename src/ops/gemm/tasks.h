/* tasks.h - a product as tasks of the thread pool: rectangles of C, for all of k or a piece of it.
 *
 * Who includes this has defined what its instruction set is like (`machine_of`), the scratch of one
 * thread, how one rectangle is computed, and what becomes of products with few rows. */
#ifndef OPS_GEMM_TASKS_H
#define OPS_GEMM_TASKS_H
#include "base/thread.h"
#include "ops/gemm/plan.h"
#include "ops/vector/chunks.h"

typedef struct Gemm {
    Product p;
    Plan plan;
    char *threads, *pieces; /* scratch */
} Gemm;

/* Where a task writes. */
typedef struct Target {
    void *c;        /* element (0, 0) of the rectangle */
    int64_t stride; /* in elements */
    Dtype dtype;
} Target;

/* Of C: rows and columns from `row` and `column` on, over the steps [from, to). */
typedef struct Rectangle {
    int64_t row, n_rows, column, n_columns, from, to;
    bool add;
} Rectangle;

static const Machine *machine_of(const Product *p);
static size_t thread_bytes(const Plan *plan);
static void multiply_rectangle(const Gemm *g, int thread, const Rectangle *r, Target t);

static void round_rows(const float *from, int64_t rows, int64_t columns, const Target *to)
{
    for (int64_t i = 0; i < rows; i++)
        for (int64_t j = 0; j < columns; j += LANES) {
            int64_t n = columns - j < LANES ? columns - j : LANES;
            vec_put(BF16, to->c, i * to->stride + j, n, vec_get(F32, from, i * columns + j, n));
        }
}

static void run_task(void *arg, int64_t i, int thread)
{
    const Gemm *g = arg;
    const Plan *plan = &g->plan;
    Rectangle r = { .row = i % plan->n_rows * plan->rows,
                    .column = i / plan->n_rows % plan->n_columns * plan->columns,
                    .add = g->p.add && plan->n_pieces == 1 };
    int64_t piece = i / plan->n_rows / plan->n_columns;
    r.n_rows = g->p.m - r.row < plan->rows ? g->p.m - r.row : plan->rows;
    r.n_columns = g->p.n - r.column < plan->columns ? g->p.n - r.column : plan->columns;
    split_range(plan->steps, plan->n_pieces, piece, &r.from, &r.to);
    Target t = { g->p.c, g->p.c_stride, g->p.c_dtype };
    if (plan->n_pieces > 1)
        t = (Target){ g->pieces + plan->piece_bytes * (size_t)piece, g->p.n, F32 };
    t.c = (char *)t.c + (r.row * t.stride + r.column) * (int64_t)dtype_size(t.dtype);
    multiply_rectangle(g, thread, &r, t);
}

enum { ADD_AT_ONCE = 4096 };

/* Adds the pieces of some elements of C, first to last. */
static void add_pieces(void *arg, int64_t i, int thread)
{
    (void)thread;
    const Gemm *g = arg;
    int64_t n = g->p.m * g->p.n, from = i * ADD_AT_ONCE;
    int64_t to = from + ADD_AT_ONCE < n ? from + ADD_AT_ONCE : n;
    for (int64_t j = from; j < to; j += LANES) {
        int64_t width = to - j < LANES ? to - j : LANES;
        Vec sum = g->p.add ? vec_get(F32, g->p.c, j, width) : vec_set(0);
        for (int64_t q = 0; q < g->plan.n_pieces; q++)
            sum += vec_get(F32, g->pieces + g->plan.piece_bytes * (size_t)q, j, width);
        vec_put(F32, g->p.c, j, width, sum);
    }
}

static void multiply(const Product *p, void *scratch, struct Pool *pool)
{
    if (panel_rows_serves(p)) {
        panel_rows_multiply(p, scratch, pool);
        return;
    }
    if (few_rows_serves(p)) {
        few_rows_multiply(p, scratch, pool);
        return;
    }
    Gemm g = { .p = *p, .plan = plan_product(p, machine_of(p), pool_size(pool)) };
    size_t pieces = g.plan.piece_bytes * (size_t)g.plan.n_pieces;
    g.pieces = scratch;
    g.threads = (char *)scratch + pieces;
    pool_run(pool, g.plan.n_rows * g.plan.n_columns * g.plan.n_pieces, run_task, &g);
    if (pieces) pool_run(pool, (p->m * p->n + ADD_AT_ONCE - 1) / ADD_AT_ONCE, add_pieces, &g);
}

static size_t multiply_scratch(const Product *p, int n_threads)
{
    if (panel_rows_serves(p)) return panel_rows_scratch(p, n_threads);
    if (few_rows_serves(p)) return few_rows_scratch(p, n_threads);
    const Plan plan = plan_product(p, machine_of(p), n_threads);
    return thread_bytes(&plan) * (size_t)n_threads + plan.piece_bytes * (size_t)plan.n_pieces;
}

#endif
