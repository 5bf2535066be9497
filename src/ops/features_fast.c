/* features_fast.c - rows of features cut out, widened and joined. */
#include "ops/features.h"
#include "ops/kernels.h"
#include "ops/vector/chunks.h"

static int64_t width(const Tensor *t)
{
    return t->size[t->n_dims - 1];
}

static int64_t row_count(const Tensor *t)
{
    return tensor_count(t) / width(t);
}

/* n elements from one place to another. */
INLINE void copy(const Tensor *from, int64_t i, const Tensor *to, int64_t j, int64_t n)
{
    for (; n > 0; n -= LANES, i += LANES, j += LANES) {
        const int64_t m = n < LANES ? n : LANES;
        vec_put(to->dtype, to->data, j, m, vec_get(from->dtype, from->data, i, m));
    }
}

INLINE void clear(const Tensor *to, int64_t j, int64_t n)
{
    for (; n > 0; n -= LANES, j += LANES)
        vec_put(to->dtype, to->data, j, n < LANES ? n : LANES, vec_set(0));
}

static Range rows_of(const Tensor *t, int64_t i)
{
    return chunk(row_count(t), chunk_rows(width(t)), i);
}

static void slice_task(void *arg, int64_t i, int thread)
{
    (void)thread;
    const Launch *l = arg;
    const Tensor *x = &l->in[0], *y = &l->out[0];
    const int64_t from = ((const PlaceOfFeatures *)l->attrs)->from, d = width(y);
    const Range r = rows_of(x, i);
    for (int64_t row = r.from; row < r.to; row++) copy(x, row * width(x) + from, y, row * d, d);
}

static void pad_task(void *arg, int64_t i, int thread)
{
    (void)thread;
    const Launch *l = arg;
    const Tensor *x = &l->in[0], *y = &l->out[0];
    const int64_t from = ((const PlaceOfFeatures *)l->attrs)->from, n = width(x), d = width(y);
    const Range r = rows_of(y, i);
    for (int64_t row = r.from; row < r.to; row++) {
        clear(y, row * d, from);
        copy(x, row * n, y, row * d + from, n);
        clear(y, row * d + from + n, d - from - n);
    }
}

/* The row of what heads share that row i of heads begins with. */
static int64_t shared_row(const Tensor *t, int64_t i)
{
    const int64_t c = t->size[t->n_dims - 2], h = t->size[t->n_dims - 3];
    return i / (h * c) * c + i % c;
}

static void join_task(void *arg, int64_t i, int thread)
{
    (void)thread;
    const Launch *l = arg;
    const Tensor *x = &l->in[0], *front = &l->in[1], *y = &l->out[0];
    const int64_t n = width(x), shared = width(front);
    const Range r = rows_of(y, i);
    for (int64_t row = r.from; row < r.to; row++) {
        const int64_t at = row * (n + shared);
        copy(front, shared_row(y, row) * shared, y, at, shared);
        copy(x, row * n, y, at + shared, n);
    }
}

/* Rows of the result: each is the sum of what h rows begin with. */
static void join_grad_task(void *arg, int64_t i, int thread)
{
    (void)thread;
    const Launch *l = arg;
    const Tensor *dy = &l->in[0], *to = &l->out[0];
    const int64_t d = width(dy), n = width(to), c = dy->size[dy->n_dims - 2],
                  h = dy->size[dy->n_dims - 3];
    const Range r = chunk(row_count(to), chunk_rows(h * n), i);
    for (int64_t row = r.from; row < r.to; row++)
        for (int64_t j = 0; j < n; j += LANES) {
            const int64_t m = n - j < LANES ? n - j : LANES;
            Vec sum = vec_set(0);
            for (int64_t k = 0; k < h; k++) {
                const int64_t from = (row / c * h + k) * c + row % c;
                sum += vec_get(dy->dtype, dy->data, from * d + j, m);
            }
            vec_put(to->dtype, to->data, row * n + j, m, sum);
        }
}

/* A task for so many rows of elements. */
static int run(Launch l, int64_t rows, int64_t of_row, void (*task)(void *, int64_t, int))
{
    pool_run(l.stream->pool, chunk_count(rows, chunk_rows(of_row)), task, &l);
    return KERNEL_OK;
}

static int run_slice(const Launch *l)
{
    return run(*l, row_count(&l->in[0]), width(&l->in[0]), slice_task);
}

static int run_pad(const Launch *l)
{
    return run(*l, row_count(&l->out[0]), width(&l->out[0]), pad_task);
}

static int run_join(const Launch *l)
{
    return run(*l, row_count(&l->out[0]), width(&l->out[0]), join_task);
}

static int run_join_grad(const Launch *l)
{
    const Tensor *dy = &l->in[0], *to = &l->out[0];
    return run(*l, row_count(to), dy->size[dy->n_dims - 3] * width(to), join_grad_task);
}

const KernelDef TABLE[] = {
    { "slice_features", "cpu", "any>any", LEVEL, run_slice, NULL, floats_fit },
    { "pad_features", "cpu", "any>any", LEVEL, run_pad, NULL, floats_fit },
    { "join_features", "cpu", "any any>any", LEVEL, run_join, NULL, floats_fit },
    { "join_features_grad", "cpu", "any>any", LEVEL, run_join_grad, NULL, floats_fit },
    { 0 },
};
