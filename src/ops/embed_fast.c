/* embed_fast.c - rows of tables: embedding, learned positions, and their gradients.
 *
 * Several tokens may add to one row of a table. Each row belongs to one task, which goes through
 * all tokens in order: no locks, and the same sums for any number of threads. */
#include "ops/kernels.h"
#include "ops/positions.h"
#include "ops/vector/chunks.h"
#include <stdatomic.h>

enum { OWNERS = 64, IDS_PER_TASK = 4096 };

typedef struct Rows {
    const Launch *l;
    int64_t n, width;
    int32_t *place; /* scratch: local row of each id, -1 where another rank has it */
    _Atomic bool bad_index;
} Rows;

/* to = a + b (b may be NULL), or 0 for a NULL a; one row of `width` elements. */
INLINE void put_row(const Launch *l, int64_t to, const Tensor *a, int64_t from, const Tensor *b,
                    int64_t and_from, int64_t width)
{
    const Tensor *out = &l->out[0];
    for (int64_t j = 0; j < width; j += LANES) {
        int64_t n = width - j < LANES ? width - j : LANES;
        Vec v = a ? vec_get(a->dtype, a->data, from + j, n) : vec_set(0);
        if (b) v += vec_get(b->dtype, b->data, and_from + j, n);
        vec_put(out->dtype, out->data, to + j, n, v);
    }
}

/* out[row] += x[from]. */
INLINE void add_to_row(const Launch *l, int64_t row, const Tensor *x, int64_t from, int64_t width)
{
    put_row(l, row * width, &l->out[0], row * width, x, from * width, width);
}

static void embed_task(void *arg, int64_t i, int thread)
{
    (void)thread;
    Rows *w = arg;
    const Tensor *table = &w->l->in[1];
    const int32_t *id = w->l->in[0].data;
    int64_t n_whole = global_size(table, 0);
    Range r = chunk(w->n, chunk_rows(w->width), i);
    for (int64_t t = r.from; t < r.to; t++) {
        if (id[t] < 0 || id[t] >= n_whole) {
            w->bad_index = true;
            continue;
        }
        int64_t row = local_index(table, 0, id[t]);
        put_row(w->l, t * w->width, row < 0 ? NULL : table, row * w->width, NULL, 0, w->width);
    }
}

static int embed(const Launch *l)
{
    Rows w = { .l = l, .n = tensor_count(&l->in[0]), .width = l->in[1].size[1] };
    pool_run(l->stream->pool, chunk_count(w.n, chunk_rows(w.width)), embed_task, &w);
    return w.bad_index ? KERNEL_BAD_INDEX : KERNEL_OK;
}

static void place_task(void *arg, int64_t i, int thread)
{
    (void)thread;
    Rows *w = arg;
    const int32_t *id = w->l->in[0].data;
    Range r = chunk(w->n, IDS_PER_TASK, i);
    for (int64_t t = r.from; t < r.to; t++)
        w->place[t] = id[t] < 0 ? -1 : (int32_t)local_index(&w->l->out[0], 0, id[t]);
}

static void clear_rows(const Launch *l, int64_t from, int64_t to, int64_t width)
{
    size_t row = dtype_size(l->out[0].dtype) * (size_t)width;
    memset((char *)l->out[0].data + row * (size_t)from, 0, row * (size_t)(to - from));
}

/* The rows of the table that one owner has. */
static void embed_grad_task(void *arg, int64_t i, int thread)
{
    (void)thread;
    const Rows *w = arg;
    int64_t from, to;
    split_range(w->l->out[0].size[0], OWNERS, i, &from, &to);
    if (!launch_adds(w->l, 0)) clear_rows(w->l, from, to, w->width);
    for (int64_t t = 0; t < w->n; t++)
        if (w->place[t] >= from && w->place[t] < to)
            add_to_row(w->l, w->place[t], &w->l->in[1], t, w->width);
}

static int embed_grad(const Launch *l)
{
    Rows w = { .l = l, .n = tensor_count(&l->in[0]), .width = l->out[0].size[1] };
    w.place = l->scratch;
    pool_run(l->stream->pool, chunk_count(w.n, IDS_PER_TASK), place_task, &w);
    pool_run(l->stream->pool, OWNERS, embed_grad_task, &w);
    return KERNEL_OK;
}

static size_t embed_grad_scratch(const Launch *l, int n_threads)
{
    (void)n_threads;
    return sizeof(int32_t) * (size_t)tensor_count(&l->in[0]);
}

/* The row of the table for row s of sample b of x [b s d]. */
static int64_t position_of(const Launch *l, int64_t b, int64_t s)
{
    const Positions *a = l->attrs;
    return a->first + global_index(&l->in[0], 1, s) + row_position(l->now, b);
}

static void add_positions_task(void *arg, int64_t i, int thread)
{
    (void)thread;
    Rows *w = arg;
    const Tensor *x = &w->l->in[0], *table = &w->l->in[1];
    Range r = chunk(w->n, chunk_rows(w->width), i);
    for (int64_t row = r.from; row < r.to; row++) {
        int64_t p = position_of(w->l, row / x->size[1], row % x->size[1]);
        if (p < 0 || p >= table->size[0])
            w->bad_index = true;
        else
            put_row(w->l, row * w->width, x, row * w->width, table, p * w->width, w->width);
    }
}

static int run_add_positions(const Launch *l)
{
    const Tensor *x = &l->in[0];
    Rows w = { .l = l, .n = x->size[0] * x->size[1], .width = x->size[2] };
    pool_run(l->stream->pool, chunk_count(w.n, chunk_rows(w.width)), add_positions_task, &w);
    return w.bad_index ? KERNEL_BAD_INDEX : KERNEL_OK;
}

static void clear_task(void *arg, int64_t i, int thread)
{
    (void)thread;
    const Rows *w = arg;
    int64_t from, to;
    split_range(w->l->out[0].size[0], OWNERS, i, &from, &to);
    clear_rows(w->l, from, to, w->width);
}

/* One place of the sequences: different places have different positions. */
static void add_positions_grad_task(void *arg, int64_t s, int thread)
{
    (void)thread;
    Rows *w = arg;
    const Tensor *dy = &w->l->in[0];
    int64_t p = position_of(w->l, 0, s);
    if (p < 0 || p >= w->l->out[0].size[0]) {
        w->bad_index = true;
        return;
    }
    for (int64_t b = 0; b < dy->size[0]; b++)
        add_to_row(w->l, p, dy, b * dy->size[1] + s, w->width);
}

static int add_positions_grad(const Launch *l)
{
    const Tensor *dy = &l->in[0];
    Rows w = { .l = l, .n = dy->size[0] * dy->size[1], .width = dy->size[2] };
    if (!launch_adds(l, 0)) pool_run(l->stream->pool, OWNERS, clear_task, &w);
    pool_run(l->stream->pool, dy->size[1], add_positions_grad_task, &w);
    return w.bad_index ? KERNEL_BAD_INDEX : KERNEL_OK;
}

static bool sums_fit(const Launch *l)
{
    return floats_fit(l) && l->out[0].dtype == F32;
}

/* clang-format off */
const KernelDef TABLE[] = {
    { "embed", "cpu", "i32 any>any", LEVEL, embed, NULL, floats_fit },
    { "embed_grad", "cpu", "i32 any>f32", LEVEL, embed_grad, embed_grad_scratch, sums_fit },
    { "add_positions", "cpu", "any any>any", LEVEL, run_add_positions, NULL, floats_fit },
    { "add_positions_grad", "cpu", "any>f32", LEVEL, add_positions_grad, NULL, sums_fit },
    { 0 },
};
/* clang-format on */
