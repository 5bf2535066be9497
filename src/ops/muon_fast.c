/* muon_fast.c - Muon's passes over memory; its time is in the products between them. */
#include "ops/kernels.h"
#include "ops/muon.h"
#include "ops/vector/chunks.h"
#include <math.h>

/* Runs `task` over the chunks of all elements. */
static void run_chunks(const Launch *l, void (*task)(void *arg, int64_t i, int thread))
{
    pool_run(l->stream->pool, chunk_count(tensor_count(&l->in[0]), CHUNK), task, (void *)l);
}

INLINE int64_t at_most(int64_t n)
{
    return n < LANES ? n : LANES;
}

static void momentum_task(void *arg, int64_t i, int thread)
{
    (void)thread;
    const Launch *l = arg;
    const MuonMomentum *a = l->attrs;
    const Vec keep = vec_set((float)a->momentum), rest = vec_set((float)(1 - a->momentum)),
              factor = vec_set((float)*(const double *)l->in[2].data);
    const Range r = chunk(tensor_count(&l->in[0]), CHUNK, i);
    for (int64_t k = r.from; k < r.to; k += LANES) {
        const int64_t n = at_most(r.to - k);
        const Vec g = vec_get(F32, l->in[0].data, k, n) * factor;
        const Vec m = vec_fma(vec_get(F32, l->in[1].data, k, n), keep, g * rest);
        vec_put(F32, l->out[0].data, k, n, m);
        vec_put(F32, l->out[1].data, k, n, vec_set(0));
        vec_put(F32, l->out[2].data, k, n, a->nesterov ? vec_fma(m, keep, g * rest) : m);
    }
}

static int run_momentum(const Launch *l)
{
    run_chunks(l, momentum_task);
    return KERNEL_OK;
}

/* One matrix at a time, whose chunks have sums of their own in scratch. */
typedef struct Matrix {
    const Launch *l;
    const float *from;
    float *to, factor;
    int64_t size;
} Matrix;

static void sum_task(void *arg, int64_t i, int thread)
{
    (void)thread;
    const Matrix *m = arg;
    const Range r = chunk(m->size, CHUNK, i);
    double sum = 0;
    for (int64_t k = r.from; k < r.to; k++) sum += (double)m->from[k] * m->from[k];
    ((double *)m->l->scratch)[i] = sum;
}

static void divide_task(void *arg, int64_t i, int thread)
{
    (void)thread;
    const Matrix *m = arg;
    const Range r = chunk(m->size, CHUNK, i);
    for (int64_t k = r.from; k < r.to; k += LANES) {
        const int64_t n = at_most(r.to - k);
        vec_put(F32, m->to, k, n, vec_get(F32, m->from, k, n) * vec_set(m->factor));
    }
}

static int run_unit(const Launch *l)
{
    const Tensor *x = &l->in[0];
    Matrix m = { .l = l, .size = tensor_volume(x, x->n_dims - 2, x->n_dims) };
    const int64_t n_chunks = chunk_count(m.size, CHUNK), n = tensor_count(x);
    for (int64_t at = 0; at < n; at += m.size) {
        double sum = 0;
        m.from = (const float *)x->data + at;
        m.to = (float *)l->out[0].data + at;
        pool_run(l->stream->pool, n_chunks, sum_task, &m);
        for (int64_t i = 0; i < n_chunks; i++) sum += ((const double *)l->scratch)[i];
        m.factor = (float)(1 / fmax(sqrt(sum), ((const UnitMatrix *)l->attrs)->eps));
        pool_run(l->stream->pool, n_chunks, divide_task, &m);
    }
    return KERNEL_OK;
}

static size_t unit_scratch(const Launch *l, int n_threads)
{
    (void)n_threads;
    return sizeof(double) * (size_t)chunk_count(tensor_count(&l->in[0]), CHUNK);
}

static void blend_task(void *arg, int64_t i, int thread)
{
    (void)thread;
    const Launch *l = arg;
    const Blend *b = l->attrs;
    const Vec a = vec_set((float)b->a), c = vec_set((float)b->b);
    const Range r = chunk(tensor_count(&l->in[0]), CHUNK, i);
    for (int64_t k = r.from; k < r.to; k += LANES) {
        const int64_t n = at_most(r.to - k);
        vec_put(
            F32, l->out[0].data, k, n,
            vec_fma(vec_get(F32, l->in[0].data, k, n), a, vec_get(F32, l->in[1].data, k, n) * c));
    }
}

static int run_blend(const Launch *l)
{
    run_chunks(l, blend_task);
    return KERNEL_OK;
}

static void update_task(void *arg, int64_t i, int thread)
{
    (void)thread;
    const Launch *l = arg;
    const MuonUpdate *a = l->attrs;
    const double lr = l->now->rate[a->group].lr;
    const Vec decay = vec_set((float)(lr * a->weight_decay)),
              rate = vec_set((float)(lr * a->scale));
    const Range r = chunk(tensor_count(&l->in[0]), CHUNK, i);
    for (int64_t k = r.from; k < r.to; k += LANES) {
        const int64_t n = at_most(r.to - k);
        Vec p = vec_get(F32, l->in[0].data, k, n);
        p = vec_fnma(p, decay, p);
        p = vec_fnma(vec_get(F32, l->in[1].data, k, n), rate, p);
        vec_put(F32, l->out[0].data, k, n, p);
    }
}

static int run_update(const Launch *l)
{
    run_chunks(l, update_task);
    return KERNEL_OK;
}

const KernelDef TABLE[] = {
    { "muon_momentum", "cpu", "f32 f32 f64>f32 f32 f32", LEVEL, run_momentum, NULL, NULL },
    { "unit_matrix", "cpu", "f32>f32", LEVEL, run_unit, unit_scratch, NULL },
    { "blend", "cpu", "f32 f32>f32", LEVEL, run_blend, NULL, NULL },
    { "muon_update", "cpu", "f32 f32>f32", LEVEL, run_update, NULL, NULL },
    { 0 },
};
