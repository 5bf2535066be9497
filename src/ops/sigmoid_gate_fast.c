/* sigmoid_gate_fast.c - rows times the sigmoids of their gates. */
#include "ops/kernels.h"
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

/* The sigmoids of n <= LANES gates, and their slopes: s e^-x s, which keeps its digits where s is
 * near 1. */
INLINE Vec sigmoids(const Tensor *gate, int64_t i, int64_t n, Vec *slope)
{
    Vec e = vec_exp(vec_min(vec_set(80), -vec_get(gate->dtype, gate->data, i, n)));
    Vec s = vec_set(1) / (vec_set(1) + e);
    *slope = s * (e * s);
    return s;
}

/* Gates of single elements. */
INLINE void gate_elements(const Launch *l, Range r)
{
    const Tensor *x = &l->in[0], *y = &l->out[0];
    Vec slope;
    for (int64_t i = r.from; i < r.to; i += LANES) {
        const int64_t n = r.to - i < LANES ? r.to - i : LANES;
        const Vec s = sigmoids(&l->in[1], i, n, &slope);
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
        const Vec s = vec_set(sigmoids(&l->in[1], row, 1, &slope)[0]);
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
        Vec slope, s = sigmoids(&l->in[1], i, n, &slope);
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
        const Vec s = vec_set(sigmoids(&l->in[1], row, 1, &slope)[0]);
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
    { "sigmoid_gate", "cpu", "any any>any", LEVEL, run_gate, NULL, floats_fit },
    { "sigmoid_gate_grad", "cpu", "any any any>any any", LEVEL, run_gate_grad, NULL, floats_fit },
    { 0 },
};
