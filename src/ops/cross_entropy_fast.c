/* cross_entropy_fast.c - loss per token from logits, and its gradient. */
#include "ops/kernels.h"
#include "ops/vector/chunks.h"
#include "ops/vector/vector_math.h"
#include "ops/vocabulary.h"
#include "tensor/target.h"
#include <math.h>
#include <stdatomic.h>

typedef struct Rows {
    const Launch *l;
    int64_t n, width;      /* tokens, and logits of a token in memory */
    Vocabulary vocabulary; /* of which this rank has these logits */
    float *largest;        /* scratch, [n] */
    double *sum;           /* scratch: of exponentials, [n], then the target's logit, [n] */
    _Atomic bool bad_index;
} Rows;

static Rows rows_of(const Launch *l)
{
    const Tensor *x = &l->in[0];
    return (Rows){ .l = l,
                   .n = tensor_count(&l->in[1]),
                   .width = x->size[x->n_dims - 1],
                   .vocabulary = vocabulary_of(x, x->n_dims - 1) };
}

/* The last lanes of a row, those beyond it as minus infinity. */
INLINE Vec row_end(const Tensor *x, int64_t at, int64_t width)
{
    const int64_t rest = width % LANES;
    float last[LANES];
    vec_store(last, vec_set(-INFINITY));
    vec_store_n(last, rest, vec_get(x->dtype, x->data, at + width - rest, rest));
    return vec_load(last);
}

INLINE float largest_of(const Tensor *x, int64_t at, int64_t width)
{
    Vec top = row_end(x, at, width);
    for (int64_t j = 0; j < width / LANES * LANES; j += LANES)
        top = vec_max(vec_get(x->dtype, x->data, at + j, LANES), top);
    return vec_largest(top);
}

INLINE double sum_of_exp(const Tensor *x, int64_t at, int64_t width, float from)
{
    Vec sum = vec_set(0);
    for (int64_t j = 0; j < width / LANES * LANES; j += LANES)
        sum += vec_exp(vec_get(x->dtype, x->data, at + j, LANES) - vec_set(from));
    return vec_sum(sum + vec_exp(row_end(x, at, width) - vec_set(from)));
}

static void largest_task(void *arg, int64_t i, int thread)
{
    (void)thread;
    const Rows *w = arg;
    Range r = chunk(w->n, chunk_rows(w->width), i);
    for (int64_t t = r.from; t < r.to; t++)
        w->largest[t] = largest_of(&w->l->in[0], t * w->width, w->vocabulary.n);
}

static void sum_task(void *arg, int64_t i, int thread)
{
    (void)thread;
    const Rows *w = arg;
    const Tensor *x = &w->l->in[0];
    Range r = chunk(w->n, chunk_rows(w->width), i);
    for (int64_t t = r.from; t < r.to; t++) {
        int64_t row = vocabulary_row(&w->vocabulary, ((const int32_t *)w->l->in[1].data)[t]);
        w->sum[t] = sum_of_exp(x, t * w->width, w->vocabulary.n, w->largest[t]);
        w->sum[w->n + t] = row < 0 ? 0 : dtype_get(x->dtype, x->data, t * w->width + row);
    }
}

static void loss_task(void *arg, int64_t i, int thread)
{
    (void)thread;
    Rows *w = arg;
    const int32_t *target = w->l->in[1].data;
    Range r = chunk(w->n, chunk_rows(w->width), i);
    for (int64_t t = r.from; t < r.to; t++) {
        double lse = w->largest[t] + log(w->sum[t]), loss = 0;
        if (vocabulary_has(&w->vocabulary, target[t]))
            loss = lse - w->sum[w->n + t];
        else if (target[t] != IGNORED_TARGET)
            w->bad_index = true;
        ((float *)w->l->out[0].data)[t] = (float)loss;
        ((double *)w->l->out[1].data)[t] = lse;
    }
}

/* All three while the rows are in the cache. */
static void whole_task(void *arg, int64_t i, int thread)
{
    largest_task(arg, i, thread);
    sum_task(arg, i, thread);
    loss_task(arg, i, thread);
}

static int losses_with_others(Rows *w, struct Pool *pool, int64_t n_tasks)
{
    pool_run(pool, n_tasks, largest_task, w);
    int status = vocabulary_reduce(w->l, w->largest, w->n, F32, REDUCE_MAX);
    if (status != KERNEL_OK) return status;
    pool_run(pool, n_tasks, sum_task, w);
    status = vocabulary_reduce(w->l, w->sum, 2 * w->n, F64, REDUCE_SUM);
    if (status == KERNEL_OK) pool_run(pool, n_tasks, loss_task, w);
    return status;
}

static int loss_per_token(const Launch *l)
{
    Rows w = rows_of(l);
    struct Pool *pool = l->stream->pool;
    const int64_t n_tasks = chunk_count(w.n, chunk_rows(w.width));
    int status = KERNEL_OK;
    w.sum = l->scratch;
    w.largest = (float *)(w.sum + 2 * w.n);
    if (l->comm)
        status = losses_with_others(&w, pool, n_tasks);
    else
        pool_run(pool, n_tasks, whole_task, &w);
    return status != KERNEL_OK ? status : w.bad_index ? KERNEL_BAD_INDEX : KERNEL_OK;
}

static size_t loss_scratch(const Launch *l, int n_threads)
{
    (void)n_threads;
    return (2 * sizeof(double) + sizeof(float)) * (size_t)tensor_count(&l->in[1]);
}

/* exp(logit - lse) * dloss, less dloss at the target; all 0 for an ignored one. */
static void grad_task(void *arg, int64_t i, int thread)
{
    (void)thread;
    const Rows *w = arg;
    const Tensor *x = &w->l->in[0], *dx = &w->l->out[0];
    const int32_t *target = w->l->in[1].data;
    const double *lse = w->l->in[2].data;
    const float *dloss = w->l->in[3].data;
    Range r = chunk(w->n, chunk_rows(w->width), i);
    for (int64_t t = r.from; t < r.to; t++) {
        bool ignored = target[t] == IGNORED_TARGET;
        int64_t at = t * w->width;
        float high = (float)lse[t], low = (float)(lse[t] - high);
        Vec factor = vec_set(dloss[t]);
        const int64_t width = w->vocabulary.n;
        for (int64_t j = 0; j < width; j += LANES) {
            int64_t n = width - j < LANES ? width - j : LANES;
            Vec from_high = vec_get(x->dtype, x->data, at + j, n) - vec_set(high);
            Vec p = vec_exp(from_high - vec_set(low)) * factor;
            vec_put(dx->dtype, dx->data, at + j, n, ignored ? vec_set(0) : p);
        }
        for (int64_t j = width; j < w->width; j++) dtype_set(dx->dtype, dx->data, at + j, 0);
        if (ignored) continue;
        const int64_t row = vocabulary_row(&w->vocabulary, target[t]);
        if (row < 0) continue;
        double there = dtype_get(x->dtype, x->data, at + row);
        dtype_set(dx->dtype, dx->data, at + row, dloss[t] * (exp(there - lse[t]) - 1));
    }
}

static int loss_grad(const Launch *l)
{
    Rows w = rows_of(l);
    pool_run(l->stream->pool, chunk_count(w.n, chunk_rows(w.width)), grad_task, &w);
    return KERNEL_OK;
}

const KernelDef TABLE[] = {
    { "cross_entropy", "cpu", "f32 i32>f32 f64", LEVEL, loss_per_token, loss_scratch, NULL },
    { "cross_entropy", "cpu", "bf16 i32>f32 f64", LEVEL, loss_per_token, loss_scratch, NULL },
    { "cross_entropy_grad", "cpu", "f32 i32 f64 f32>f32", LEVEL, loss_grad, NULL, NULL },
    { "cross_entropy_grad", "cpu", "bf16 i32 f64 f32>bf16", LEVEL, loss_grad, NULL, NULL },
    { 0 },
};
