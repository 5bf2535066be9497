/* row_gate_fast.c - rows times the sigmoids of their gates, or times softplus of them. */
#include "ops/kernels.h"
#include "ops/row_gate.h"
#include "ops/vector/chunks.h"
#include "ops/vector/vector_math.h"

typedef struct Rows {
    const Launch *l;
    int64_t n, width;
} Rows;

static Rows rows_of(const Launch *l)
{
    return (Rows){ l, tensor_count(&l->in[1]), l->in[0].size[l->in[0].n_dims - 1] };
}

/* What n <= LANES gates multiply by, and the slopes of that. The slope of a sigmoid s is s e^-x s,
 * which keeps its digits where s is near 1. */
INLINE Vec factors(const Launch *l, int64_t i, int64_t n, Vec *slope)
{
    const Vec x = vec_get(l->in[1].dtype, l->in[1].data, i, n),
              e = vec_exp(vec_min(vec_set(80), -x)), s = vec_set(1) / (vec_set(1) + e);
    const bool softplus = ((const RowGate *)l->attrs)->softplus;
    *slope = softplus ? s : s * (e * s);
    return softplus ? vec_softplus(x) : s;
}

/* Gates of single elements. */
INLINE void gate_elements(const Launch *l, Range r)
{
    const Tensor *x = &l->in[0], *y = &l->out[0];
    Vec slope;
    for (int64_t i = r.from; i < r.to; i += LANES) {
        const int64_t n = r.to - i < LANES ? r.to - i : LANES;
        const Vec s = factors(l, i, n, &slope);
        vec_put(y->dtype, y->data, i, n, vec_get(x->dtype, x->data, i, n) * s);
    }
}

static void gate_task(void *arg, int64_t i, int thread)
{
    (void)thread;
    const Rows *w = arg;
    const Launch *l = w->l;
    const Tensor *x = &l->in[0], *y = &l->out[0];
    const Range r = chunk(w->n, chunk_rows(w->width), i);
    Vec slope;
    if (w->width == 1) {
        gate_elements(l, r);
        return;
    }
    for (int64_t row = r.from; row < r.to; row++) {
        const Vec s = vec_set(factors(l, row, 1, &slope)[0]);
        for (int64_t j = 0; j < w->width; j += LANES) {
            const int64_t n = w->width - j < LANES ? w->width - j : LANES, at = row * w->width + j;
            vec_put(y->dtype, y->data, at, n, vec_get(x->dtype, x->data, at, n) * s);
        }
    }
}

INLINE void gate_grad_elements(const Launch *l, Range r)
{
    const Tensor *x = &l->in[0], *dy = &l->in[2], *dx = &l->out[0], *dgate = &l->out[1];
    for (int64_t i = r.from; i < r.to; i += LANES) {
        const int64_t n = r.to - i < LANES ? r.to - i : LANES;
        Vec slope, s = factors(l, i, n, &slope);
        const Vec d = vec_get(dy->dtype, dy->data, i, n), v = vec_get(x->dtype, x->data, i, n);
        vec_put(dx->dtype, dx->data, i, n, d * s);
        vec_put(dgate->dtype, dgate->data, i, n, d * v * slope);
    }
}

static void gate_grad_task(void *arg, int64_t i, int thread)
{
    (void)thread;
    const Rows *w = arg;
    const Launch *l = w->l;
    const Tensor *x = &l->in[0], *dy = &l->in[2], *dx = &l->out[0], *dgate = &l->out[1];
    const Range r = chunk(w->n, chunk_rows(w->width), i);
    if (w->width == 1) {
        gate_grad_elements(l, r);
        return;
    }
    for (int64_t row = r.from; row < r.to; row++) {
        Vec slope, sum = vec_set(0);
        const Vec s = vec_set(factors(l, row, 1, &slope)[0]);
        for (int64_t j = 0; j < w->width; j += LANES) {
            const int64_t n = w->width - j < LANES ? w->width - j : LANES, at = row * w->width + j;
            const Vec d = vec_get(dy->dtype, dy->data, at, n);
            sum = vec_fma(d, vec_get(x->dtype, x->data, at, n), sum);
            vec_put(dx->dtype, dx->data, at, n, d * s);
        }
        vec_put(dgate->dtype, dgate->data, row, 1, vec_set(vec_sum(sum)) * slope);
    }
}

static int run_gate(const Launch *l)
{
    Rows w = rows_of(l);
    pool_run(l->stream->pool, chunk_count(w.n, chunk_rows(w.width)), gate_task, &w);
    return KERNEL_OK;
}

static int run_gate_grad(const Launch *l)
{
    Rows w = rows_of(l);
    pool_run(l->stream->pool, chunk_count(w.n, chunk_rows(w.width)), gate_grad_task, &w);
    return KERNEL_OK;
}

const KernelDef TABLE[] = {
    { "row_gate", "cpu", "any any>any", LEVEL, run_gate, NULL, floats_fit },
    { "row_gate_grad", "cpu", "any any any>any any", LEVEL, run_gate_grad, NULL, floats_fit },
    { 0 },
};
