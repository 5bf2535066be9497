/* rows.h - the rows of a launch as tasks of the thread pool. */
#ifndef OPS_VECTOR_ROWS_H
#define OPS_VECTOR_ROWS_H
#include "ops/vector/chunks.h"

/* Rows of the first input, along its last dimension. */
typedef struct Rows {
    const Launch *l;
    int64_t n, width;
} Rows;

/* Elements of those of a task: from the first one of its first row. */
INLINE Range elements_of_task(const Rows *w, int64_t task)
{
    const Range r = chunk(w->n, chunk_rows(w->width), task);
    return (Range){ r.from * w->width, r.to * w->width };
}

/* Runs `task` with a Rows for each of the tasks. */
INLINE int run_rows(const Launch *l, void (*task)(void *rows, int64_t i, int thread))
{
    const int64_t width = l->in[0].size[l->in[0].n_dims - 1];
    Rows w = { l, width ? tensor_count(&l->in[0]) / width : 0, width };
    pool_run(l->stream->pool, chunk_count(w.n, chunk_rows(width)), task, &w);
    return KERNEL_OK;
}
#endif
