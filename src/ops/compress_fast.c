/* compress_fast.c - rows of windows of tokens as one each. A task is some windows of a sequence. */
#include "ops/column_sums.h"
#include "ops/compress.h"
#include "ops/compress_windows.h"
#include "ops/kernels.h"
#include "ops/vector/vector_math.h"
#include <string.h>

typedef struct Windows {
    const Launch *l;
    const Compress *a;
    const Tensor *x, *gate, *bias, *tail[2]; /* tail: NULL, the text begins */
    int64_t s, c, t, d, u;                   /* as in compress.c; u: tokens of a tail */
    float *sums;                             /* scratch: [blocks][rate c] */
} Windows;

static Windows windows_of(const Launch *l, int first, const Tensor *of_windows)
{
    Windows w = { .l = l, .a = l->attrs, .x = &l->in[first] };
    w.gate = &l->in[first + 1], w.bias = &l->in[first + 2];
    w.s = w.x->size[1], w.c = w.x->size[2];
    w.t = of_windows->size[1], w.d = of_windows->size[2];
    if (first) w.tail[0] = &l->in[0], w.tail[1] = &l->in[1], w.u = l->in[0].size[2];
    return w;
}

static Window window_at(const Windows *v, int64_t b, int64_t i)
{
    const int64_t p = v->tail[0] ? row_position(v->l->now, b) : 0;
    return (Window){ v->a->rate, p > v->u ? p - v->u : 0, p + v->s,
                     (p / v->a->rate + i) * v->a->rate, v->a->overlaps };
}

/* A row of a window: where its features lie. */
typedef struct Row {
    int64_t at, of_bias; /* elements; at: of the tensors that `kept` says */
    bool kept;           /* of the tails */
} Row;

/* From feature e on. */
INLINE bool row_of(const Windows *v, const Window *w, int64_t b, int64_t i, int64_t e, Row *r)
{
    int64_t token, place;
    bool before;
    if (!window_row(w, i, &token, &place, &before)) return false;
    const int64_t column = w->overlaps && !before ? v->d + e : e, begin = w->to - v->s;
    r->kept = token < begin;
    r->at = (r->kept ? b * v->u + token - begin + v->u : b * v->s + token - begin) * v->c + column;
    r->of_bias = place * v->c + column;
    return true;
}

INLINE Vec logits(const Windows *v, const Row *r, int64_t n)
{
    const Tensor *gate = r->kept ? v->tail[1] : v->gate;
    return vec_get(gate->dtype, gate->data, r->at, n) +
           vec_get(v->bias->dtype, v->bias->data, r->of_bias, n);
}

/* Means of the features from e on, with the largest logits and the sums of exponentials. */
INLINE Vec means(const Windows *v, const Window *w, int64_t b, int64_t e, int64_t n, Vec *top,
                 Vec *sum)
{
    const int64_t rows = window_rows(w);
    Vec mean = vec_set(0);
    Row r;
    *top = vec_set(-INFINITY), *sum = vec_set(0);
    for (int64_t i = 0; i < rows; i++)
        if (row_of(v, w, b, i, e, &r)) *top = vec_max(*top, logits(v, &r, n));
    for (int64_t i = 0; i < rows; i++) {
        if (!row_of(v, w, b, i, e, &r)) continue;
        const Tensor *x = r.kept ? v->tail[0] : v->x;
        const Vec p = vec_exp(logits(v, &r, n) - *top);
        *sum += p;
        mean = vec_fma(p, vec_get(x->dtype, x->data, r.at, n), mean);
    }
    return vec_keep(*sum > vec_set(0), mean / vec_max(*sum, vec_set(1e-30f)));
}

INLINE int64_t at_most(int64_t n)
{
    return n < LANES ? n : LANES;
}

static void forward_task(void *arg, int64_t i, int thread)
{
    (void)thread;
    const Windows *v = arg;
    const Tensor *y = &v->l->out[v->l->n_out - 1];
    const int64_t b = i / v->t;
    const Window w = window_at(v, b, i % v->t);
    for (int64_t e = 0; e < v->d; e += LANES) {
        Vec top, sum;
        const int64_t n = at_most(v->d - e);
        vec_put(y->dtype, y->data, i * v->d + e, n, means(v, &w, b, e, n, &top, &sum));
    }
}

static int run_forward(const Launch *l)
{
    Windows v = windows_of(l, 0, &l->out[0]);
    pool_run(l->stream->pool, v.x->size[0] * v.t, forward_task, &v);
    return KERNEL_OK;
}

/* ---- the gradient ---- */

/* Features of a token that no window has. */
INLINE void put_zeros(const Windows *v, const Window *w, int64_t b)
{
    for (int64_t token = w->first; token < w->first + w->rate && token < w->to; token++)
        for (int64_t e = 0; e < v->d; e += LANES)
            for (int k = 0; k < 2; k++)
                vec_put(v->l->out[k].dtype, v->l->out[k].data, (b * v->s + token) * v->c + e,
                        at_most(v->d - e), vec_set(0));
}

INLINE void grad_of_window(const Windows *v, int64_t i, float *sums)
{
    const Tensor *dx = &v->l->out[0], *dgate = &v->l->out[1], *dy = &v->l->in[3];
    const int64_t b = i / v->t;
    const Window w = window_at(v, b, i % v->t);
    for (int64_t e = 0; e < v->d; e += LANES) {
        Vec top, sum;
        Row r;
        const int64_t n = at_most(v->d - e);
        const Vec mean = means(v, &w, b, e, n, &top, &sum),
                  of = vec_get(dy->dtype, dy->data, i * v->d + e, n) / sum;
        for (int64_t j = 0; j < window_rows(&w); j++) {
            if (!row_of(v, &w, b, j, e, &r)) continue;
            const Vec flow = vec_exp(logits(v, &r, n) - top) * of,
                      along = flow * (vec_get(v->x->dtype, v->x->data, r.at, n) - mean);
            vec_put(dx->dtype, dx->data, r.at, n, flow);
            vec_put(dgate->dtype, dgate->data, r.at, n, along);
            vec_put(F32, sums, r.of_bias, n, vec_get(F32, sums, r.of_bias, n) + along);
        }
    }
    if (w.overlaps && i % v->t == v->t - 1) put_zeros(v, &w, b);
}

static void grad_task(void *arg, int64_t task, int thread)
{
    (void)thread;
    const Windows *v = arg;
    const int64_t n = v->x->size[0] * v->t, stride = sum_stride(v->a->rate * v->c);
    const Range r = chunk(n, sum_block_rows(n), task);
    float *sums = v->sums + task * stride;
    memset(sums, 0, sizeof *sums * (size_t)stride);
    for (int64_t i = r.from; i < r.to; i++) grad_of_window(v, i, sums);
}

static int run_grad(const Launch *l)
{
    Windows v = windows_of(l, 0, &l->in[3]);
    const int64_t n = v.x->size[0] * v.t;
    v.sums = l->scratch;
    pool_run(l->stream->pool, sum_blocks(n), grad_task, &v);
    sum_total(l, 2, v.sums, n, v.a->rate * v.c);
    return KERNEL_OK;
}

static size_t grad_scratch(const Launch *l, int n_threads)
{
    (void)n_threads;
    const Windows v = windows_of(l, 0, &l->in[3]);
    return sum_scratch(v.x->size[0] * v.t, v.a->rate * v.c);
}

/* ---- a text that is continued ---- */

/* Moves the last tokens of a text on; to is the tail that is the result. */
static void keep_last(const Windows *v, int k, int64_t b)
{
    const Tensor *x = &v->l->in[2 + k], *to = &v->l->out[k];
    const size_t row = (size_t)v->c * dtype_size(x->dtype);
    const int64_t kept = v->u > v->s ? v->u - v->s : 0, fresh = v->u - kept;
    char *tail = (char *)to->data + (size_t)(b * v->u) * row;
    const char *old = (const char *)v->tail[k]->data + (size_t)(b * v->u) * row;
    if (row_waits(v->l->now, b)) {
        if (tail != old) memcpy(tail, old, (size_t)v->u * row);
        return;
    }
    memmove(tail, old + (size_t)(v->u - kept) * row, (size_t)kept * row);
    memcpy(tail + (size_t)kept * row,
           (const char *)x->data + (size_t)(b * v->s + v->s - fresh) * row, (size_t)fresh * row);
}

static int run_cached(const Launch *l)
{
    Windows v = windows_of(l, 2, &l->out[2]);
    pool_run(l->stream->pool, v.x->size[0] * v.t, forward_task, &v);
    for (int64_t b = 0; b < v.x->size[0]; b++)
        for (int k = 0; k < 2; k++) keep_last(&v, k, b);
    return KERNEL_OK;
}

/* Tails have the dtype of what they are filled from. */
static bool serves_cached(const Launch *l)
{
    for (int k = 0; k < 2; k++)
        if (l->in[k].dtype != l->in[2 + k].dtype || l->out[k].dtype != l->in[k].dtype) return false;
    return floats_fit(l);
}

/* ---- windows that have ended ---- */

static int run_ended(const Launch *l)
{
    const int64_t rate = ((const EndedWindows *)l->attrs)->rate, t = l->out[0].size[2];
    const Tensor *x = &l->in[0];
    int32_t *to = l->out[0].data;
    for (int64_t row = 0; row < x->size[0] * x->size[1]; row++, to += t) {
        const int64_t n =
            (global_index(x, 1, row % x->size[1]) + row_position(l->now, row / x->size[1]) + 1) /
            rate;
        for (int64_t i = 0; i < t; i++) to[i] = i < n ? (int32_t)i : -1;
    }
    return KERNEL_OK;
}

const KernelDef TABLE[] = {
    { "compress", "cpu", "any any any>any", LEVEL, run_forward, NULL, floats_fit },
    { "compress_grad", "cpu", "any any any any>any any any", LEVEL, run_grad, grad_scratch,
      floats_fit },
    { "compress_cached", "cpu", "any any any any any>any any any", LEVEL, run_cached, NULL,
      serves_cached },
    { "ended_windows", "cpu", "any any>i32", LEVEL, run_ended, NULL, floats_fit },
    { 0 },
};
