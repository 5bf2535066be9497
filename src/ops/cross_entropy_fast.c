/* cross_entropy_fast.c - loss per token from logits, and its gradient. */
#include "ops/kernels.h"
#include "ops/vector/chunks.h"
#include "ops/vector/vector_math.h"
#include "tensor/target.h"
#include <math.h>
#include <stdatomic.h>

typedef struct Rows {
    const Launch *l;
    int64_t n, width;
    _Atomic bool bad_index;
} Rows;

static Rows rows_of(const Launch *l)
{
    return (
        Rows){ .l = l, .n = tensor_count(&l->in[1]), .width = l->in[0].size[l->in[0].n_dims - 1] };
}

/* log(sum(exp(x))) of one row, from its maximum; lanes beyond the row count as minus infinity. */
INLINE double log_sum_exp(const Tensor *x, int64_t at, int64_t width)
{
    Vec lowest = vec_set(-INFINITY), top = lowest, sum = vec_set(0);
    int64_t whole = width / LANES * LANES, rest = width - whole;
    float last[LANES];
    vec_store(last, lowest);
    vec_store_n(last, rest, vec_get(x->dtype, x->data, at + whole, rest));
    for (int64_t j = 0; j < whole; j += LANES)
        top = vec_max(vec_get(x->dtype, x->data, at + j, LANES), top);
    float highest = vec_largest(vec_max(vec_load(last), top));
    for (int64_t j = 0; j < whole; j += LANES)
        sum += vec_exp(vec_get(x->dtype, x->data, at + j, LANES) - vec_set(highest));
    sum += vec_exp(vec_load(last) - vec_set(highest));
    return highest + log(vec_sum(sum));
}

static void loss_task(void *arg, int64_t i, int thread)
{
    (void)thread;
    Rows *w = arg;
    const Tensor *x = &w->l->in[0];
    const int32_t *target = w->l->in[1].data;
    Range r = chunk(w->n, chunk_rows(w->width), i);
    for (int64_t t = r.from; t < r.to; t++) {
        double lse = log_sum_exp(x, t * w->width, w->width), loss = 0;
        if (target[t] >= 0 && target[t] < w->width)
            loss = lse - dtype_get(x->dtype, x->data, t * w->width + target[t]);
        else if (target[t] != IGNORED_TARGET)
            w->bad_index = true;
        ((float *)w->l->out[0].data)[t] = (float)loss;
        ((double *)w->l->out[1].data)[t] = lse;
    }
}

static int loss_per_token(const Launch *l)
{
    Rows w = rows_of(l);
    pool_run(l->stream->pool, chunk_count(w.n, chunk_rows(w.width)), loss_task, &w);
    return w.bad_index ? KERNEL_BAD_INDEX : KERNEL_OK;
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
        for (int64_t j = 0; j < w->width; j += LANES) {
            int64_t n = w->width - j < LANES ? w->width - j : LANES;
            Vec from_high = vec_get(x->dtype, x->data, at + j, n) - vec_set(high);
            Vec p = vec_exp(from_high - vec_set(low)) * factor;
            vec_put(dx->dtype, dx->data, at + j, n, ignored ? vec_set(0) : p);
        }
        if (ignored) continue;
        double there = dtype_get(x->dtype, x->data, at + target[t]);
        dtype_set(dx->dtype, dx->data, at + target[t], dloss[t] * (exp(there - lse[t]) - 1));
    }
}

static int loss_grad(const Launch *l)
{
    Rows w = rows_of(l);
    pool_run(l->stream->pool, chunk_count(w.n, chunk_rows(w.width)), grad_task, &w);
    return KERNEL_OK;
}

const KernelDef TABLE[] = {
    { "cross_entropy", "cpu", "f32 i32>f32 f64", LEVEL, loss_per_token, NULL, NULL },
    { "cross_entropy", "cpu", "bf16 i32>f32 f64", LEVEL, loss_per_token, NULL, NULL },
    { "cross_entropy_grad", "cpu", "f32 i32 f64 f32>f32", LEVEL, loss_grad, NULL, NULL },
    { "cross_entropy_grad", "cpu", "bf16 i32 f64 f32>bf16", LEVEL, loss_grad, NULL, NULL },
    { 0 },
};
