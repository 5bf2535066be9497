/* panel_tasks.h - products of few rows of A with weights in panels (ops/panels.h), as tasks of the
 * thread pool: each is some panels, which lie one after the other.
 *
 * Each thread keeps A as the tiles of its instruction set read it, from its first task on. Who
 * includes this has defined the scratch of a thread, how A is packed into it, and how all rows are
 * multiplied with one panel. */
#ifndef OPS_GEMM_PANEL_TASKS_H
#define OPS_GEMM_PANEL_TASKS_H
#include "base/thread.h"
#include "ops/gemm/amx.h"
#include "ops/gemm/pack.h"

enum {
    PANEL_PRODUCT_ROWS = 48,
    PANELS_PER_TASK = 32,      /* at most, */
    PANEL_TASKS_OF_THREAD = 3, /* of small weights */
    PANEL_HEAD_BYTES = 64,     /* of a thread's scratch: whether A was packed */
};

/* One product. */
typedef struct PanelRows {
    const Product *p;
    PackFrom a, b;
    int64_t steps, words; /* along k, of packed A and of a panel */
    int64_t n_panels, per_task;
    char *threads; /* scratch */
} PanelRows;

/* Words of scratch of a thread. */
static int64_t panel_rows_words(const PanelRows *f);
static void panel_rows_pack(const PanelRows *f, Word *room);
/* The columns of C from j on. */
static void panel_rows_columns(const PanelRows *f, Word *room, int64_t j);

INLINE bool panel_rows_serves(const Product *p)
{
    return p->b.in_panels && p->m <= PANEL_PRODUCT_ROWS;
}

static PanelRows panel_rows_of(const Product *p, int n_threads)
{
    const bool narrow = p->b.dtype == BF16, pairs = DOT_PAIRS && narrow && p->a.dtype == BF16;
    PanelRows f = { .p = p,
                    .a = { p->a, p->m, p->k, pairs },
                    .b = { p->b, p->n, p->k, narrow },
                    .steps = pairs ? p->k / 2 : p->k,
                    .words = narrow ? p->k / 2 : p->k,
                    .n_panels = (p->n + PANEL_ROWS - 1) / PANEL_ROWS };
    f.per_task = f.n_panels / (PANEL_TASKS_OF_THREAD * n_threads);
    f.per_task = f.per_task < 1 ? 1 : f.per_task < PANELS_PER_TASK ? f.per_task : PANELS_PER_TASK;
    return f;
}

static size_t panel_rows_thread_bytes(const PanelRows *f)
{
    return PANEL_HEAD_BYTES + (sizeof(Word) * (size_t)panel_rows_words(f) + 63) / 64 * 64;
}

static size_t panel_rows_scratch(const Product *p, int n_threads)
{
    const PanelRows f = panel_rows_of(p, n_threads);
    return panel_rows_thread_bytes(&f) * (size_t)n_threads;
}

/* Sums, [rows][PANEL_ROWS], to C. */
static void panel_rows_put(const Product *p, const float *sums, int64_t i, int64_t rows, int64_t j)
{
    for (int64_t r = 0; r < rows && i + r < p->m; r++)
        for (int64_t v = 0; v < PANEL_ROWS && j + v < p->n; v += LANES) {
            const int64_t n = p->n - j - v < LANES ? p->n - j - v : LANES;
            vec_put(p->c_dtype, p->c, (i + r) * p->c_stride + j + v, n,
                    vec_load(sums + r * PANEL_ROWS + v));
        }
}

static void panel_rows_task(void *arg, int64_t task, int thread)
{
    const PanelRows *f = arg;
    char *head = f->threads + panel_rows_thread_bytes(f) * (size_t)thread;
    Word *room = (Word *)(head + PANEL_HEAD_BYTES);
    if (!*head) panel_rows_pack(f, room);
    *head = 1;
    amx_begin();
    for (int64_t q = task * f->per_task; q < (task + 1) * f->per_task && q < f->n_panels; q++)
        panel_rows_columns(f, room, q * PANEL_ROWS);
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
