/* panel_tasks.h - products of few rows of A with weights in panels (ops/panels.h), by all threads.
 *
 * Each thread has panels that lie one after the other, so that it reads memory as a stream; who has
 * done its own takes the last ones of others, so that all end together. It keeps A as the tiles of
 * its instruction set read it. Who includes this has defined the scratch of a thread, how A is
 * packed into it, and how all rows are multiplied with one panel. */
#ifndef OPS_GEMM_PANEL_TASKS_H
#define OPS_GEMM_PANEL_TASKS_H
#include "base/thread.h"
#include "ops/gemm/amx.h"
#include "ops/gemm/pack.h"
#include <stdatomic.h>

enum { PANEL_PRODUCT_ROWS = 48 };
enum { STREAM_FROM = 4, STREAM_TO = 48 }; /* rows, whose sums go past the caches */

/* Panels [from, to) of a task that nobody has taken, as from << 32 | to: one word, so that the
 * first and the last can be taken at the same time. */
typedef struct PanelsLeft {
    _Alignas(64) _Atomic uint64_t range;
} PanelsLeft;

/* One product. */
typedef struct PanelRows {
    const Product *p;
    PackFrom a, b;
    int64_t steps, words; /* along k, of packed A and of a panel */
    int64_t n_panels;
    int64_t n_tasks;  /* one per thread */
    PanelsLeft *left; /* by task */
    char *rooms;      /* scratch of the threads */
} PanelRows;

/* Words of scratch of a thread. */
static int64_t panel_rows_words(const PanelRows *f);
static void panel_rows_pack(const PanelRows *f, Word *room);
/* All rows with a panel. Takes the task's next one, -1 if none is left, before sums are written:
 * taking waits until everything has been written. */
static int64_t panel_rows_columns(const PanelRows *f, Word *room, int64_t task, int64_t panel);

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
    f.n_tasks = f.n_panels < n_threads ? f.n_panels : n_threads;
    return f;
}

static size_t panel_rows_thread_bytes(const PanelRows *f)
{
    return (sizeof(Word) * (size_t)panel_rows_words(f) + 63) / 64 * 64;
}

static size_t panel_rows_scratch(const Product *p, int n_threads)
{
    const PanelRows f = panel_rows_of(p, n_threads);
    return (sizeof(PanelsLeft) + panel_rows_thread_bytes(&f)) * (size_t)n_threads;
}

/* Sums, [rows][PANEL_ROWS], to C; its dtype and the columns that are there may be known to the
 * compiler. */
INLINE void panel_rows_put_as(Dtype t, int64_t columns, const Product *p, const float *sums,
                              int64_t i, int64_t rows, int64_t j)
{
    for (int64_t r = 0; r < rows && i + r < p->m; r++)
        for (int64_t v = 0; v < columns; v += LANES)
            vec_put(t, p->c, (i + r) * p->c_stride + j + v,
                    columns - v < LANES ? columns - v : LANES, vec_load(sums + r * PANEL_ROWS + v));
}

/* Lines of several rows lie far apart, and an ordinary store reads each of them first: little as
 * that is, the stream of panels halts for it. So they go to memory past the caches, in whole lines;
 * as bf16, or of more rows, they had better stay there. */
INLINE bool panel_rows_stream(const Product *p, int64_t j)
{
    return LANES == 16 && p->c_dtype == F32 && p->m >= STREAM_FROM && p->m <= STREAM_TO &&
           p->n - j >= PANEL_ROWS && (uintptr_t)p->c % 64 == 0 && p->c_stride % LANES == 0;
}

static void panel_rows_put(const Product *p, const float *sums, int64_t i, int64_t rows, int64_t j)
{
    if (panel_rows_stream(p, j))
        for (int64_t r = 0; r < rows && i + r < p->m; r++, sums += PANEL_ROWS)
            for (int64_t v = 0; v < PANEL_ROWS; v += LANES)
                vec_stream((Word *)p->c + (i + r) * p->c_stride + j + v, vec_load(sums + v));
    else if (p->n - j < PANEL_ROWS)
        panel_rows_put_as(p->c_dtype, p->n - j, p, sums, i, rows, j);
    else if (p->c_dtype == BF16)
        panel_rows_put_as(BF16, PANEL_ROWS, p, sums, i, rows, j);
    else
        panel_rows_put_as(F32, PANEL_ROWS, p, sums, i, rows, j);
}

/* Takes a panel of a task: its first, or its last. False: none is left. */
static bool panel_rows_take(PanelsLeft *left, bool last, int64_t *panel)
{
    uint64_t range = atomic_load(&left->range), from, to;
    do {
        from = range >> 32, to = range & UINT32_MAX;
        if (from == to) return false;
        *panel = (int64_t)(last ? to - 1 : from);
    } while (!atomic_compare_exchange_weak(&left->range, &range,
                                           last ? range - 1 : range + ((uint64_t)1 << 32)));
    return true;
}

/* The next panel of this task, else one of those after it, else -1. */
static int64_t panel_rows_next(const PanelRows *f, int64_t task)
{
    int64_t panel;
    if (panel_rows_take(&f->left[task], false, &panel)) return panel;
    for (int64_t i = 1; i < f->n_tasks; i++)
        if (panel_rows_take(&f->left[(task + i) % f->n_tasks], true, &panel)) return panel;
    return -1;
}

static void panel_rows_task(void *arg, int64_t task, int thread)
{
    const PanelRows *f = arg;
    Word *room = (Word *)(f->rooms + panel_rows_thread_bytes(f) * (size_t)thread);
    int64_t panel = panel_rows_next(f, task);
    if (panel < 0) return;
    panel_rows_pack(f, room);
    amx_begin();
    while (panel >= 0) panel = panel_rows_columns(f, room, task, panel);
    vec_stream_end();
    amx_end();
}

static void panel_rows_multiply(const Product *p, void *scratch, struct Pool *pool)
{
    PanelRows f = panel_rows_of(p, pool_size(pool));
    f.left = scratch;
    f.rooms = (char *)(f.left + pool_size(pool));
    for (int64_t i = 0; i < f.n_tasks; i++) {
        int64_t from, to;
        split_range(f.n_panels, f.n_tasks, i, &from, &to);
        atomic_init(&f.left[i].range, (uint64_t)from << 32 | (uint64_t)to);
    }
    pool_run(pool, f.n_tasks, panel_rows_task, &f);
}

#endif
