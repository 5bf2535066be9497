/* rope_fast.c - turns pairs of features by the angles of their position. */
#include "ops/kernels.h"
#include "ops/rope.h"
#include "ops/vector/chunks.h"
#include <stdatomic.h>

typedef struct Rows {
    const Launch *l;
    int64_t n, width, inner; /* rows, their width, rows of one token */
    bool inverse;
    int64_t rate; /* tokens of a window that a row is; 0: it is a token */
    _Atomic bool bad_index;
} Rows;

/* Row `row` of x by the row p of the table. */
INLINE void turn(const Launch *l, int64_t row, int64_t p, int64_t half, bool inverse)
{
    const Tensor *x = &l->in[0], *table = &l->in[1], *y = &l->out[0];
    int64_t low = row * 2 * half, high = low + half, cosine = p * 2 * half, sine = cosine + half;
    for (int64_t j = 0; j < half; j += LANES) {
        int64_t n = half - j < LANES ? half - j : LANES;
        Vec a = vec_get(x->dtype, x->data, low + j, n), b = vec_get(x->dtype, x->data, high + j, n);
        Vec c = vec_get(table->dtype, table->data, cosine + j, n);
        Vec s = vec_get(table->dtype, table->data, sine + j, n);
        if (inverse) s = -s;
        vec_put(y->dtype, y->data, low + j, n, vec_fnma(b, s, a * c));
        vec_put(y->dtype, y->data, high + j, n, vec_fma(a, s, b * c));
    }
}

static void rope_task(void *arg, int64_t i, int thread)
{
    (void)thread;
    Rows *w = arg;
    const Launch *l = w->l;
    Range r = chunk(w->n, chunk_rows(w->width), i);
    for (int64_t row = r.from; row < r.to; row++) {
        int64_t token = row / w->inner, length = l->in[0].size[1];
        int64_t p = global_index(&l->in[0], 1, token % length),
                begin = row_position(l->now, token / length);
        p = w->rate ? rope_window_position(p, begin, w->rate, l->in[1].size[0]) : p + begin;
        if (p < 0 || p >= l->in[1].size[0])
            w->bad_index = true;
        else
            turn(l, row, p, w->width / 2, w->inverse);
    }
}

static int run_rows(const Launch *l, bool inverse, int64_t rate)
{
    const Tensor *x = &l->in[0];
    int64_t width = l->in[1].size[1];
    Rows w = { .l = l,
               .width = width,
               .inner = tensor_volume(x, 2, x->n_dims - 1),
               .inverse = inverse,
               .rate = rate };
    w.n = width ? tensor_count(x) / width : 0;
    pool_run(l->stream->pool, chunk_count(w.n, chunk_rows(width)), rope_task, &w);
    return w.bad_index ? KERNEL_BAD_INDEX : KERNEL_OK;
}

static int run_rope(const Launch *l)
{
    return run_rows(l, ((const Rope *)l->attrs)->inverse, 0);
}

static int run_windows(const Launch *l)
{
    const RopeWindows *a = l->attrs;
    return run_rows(l, a->inverse, a->rate);
}

const KernelDef TABLE[] = {
    { "rope_windows", "cpu", "any any>any", LEVEL, run_windows, NULL, floats_fit },
    { "rope", "cpu", "any any>any", LEVEL, run_rope, NULL, floats_fit },
    { 0 },
};
