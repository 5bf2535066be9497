/* attention_sink_fast.c - results of attention with a logit in the softmax that has no value. */
#include "ops/kernels.h"
#include "ops/vector/chunks.h"

enum { PARTS = 64 }; /* of the rows, whose sums are added in order */

typedef struct Rows {
    const Launch *l;
    int64_t n, width, n_heads;
    double *part; /* scratch: [PARTS][n_heads] */
} Rows;

static Rows rows_of(const Launch *l)
{
    return (Rows){ l, tensor_count(&l->in[1]), l->in[0].size[4], tensor_count(&l->in[2]),
                   l->scratch };
}

static double number_at(const Tensor *t, int64_t i)
{
    return vec_get(t->dtype, t->data, i, 1)[0];
}

static void sink_task(void *arg, int64_t i, int thread)
{
    (void)thread;
    const Rows *w = arg;
    const Tensor *o = &w->l->in[0], *lse = &w->l->in[1], *sink = &w->l->in[2], *y = &w->l->out[0];
    const Range r = chunk(w->n, chunk_rows(w->width), i);
    for (int64_t row = r.from; row < r.to; row++) {
        const double s = number_at(sink, row % w->n_heads), of_row = number_at(lse, row);
        const double sum = (s > of_row ? s : of_row) + log1p(exp(-fabs(s - of_row)));
        const Vec factor = vec_set((float)exp(of_row - sum));
        vec_put(F32, w->l->out[1].data, row, 1, vec_set((float)sum));
        for (int64_t j = 0; j < w->width; j += LANES) {
            const int64_t n = w->width - j < LANES ? w->width - j : LANES, at = row * w->width + j;
            vec_put(y->dtype, y->data, at, n, vec_get(o->dtype, o->data, at, n) * factor);
        }
    }
}

static int64_t rows_of_part(const Rows *w)
{
    return w->n > PARTS ? (w->n + PARTS - 1) / PARTS : 1;
}

static void grad_task(void *arg, int64_t i, int thread)
{
    (void)thread;
    const Rows *w = arg;
    const Tensor *o = &w->l->in[0], *lse = &w->l->in[1], *sink = &w->l->in[2], *dy = &w->l->in[3];
    const Range r = chunk(w->n, rows_of_part(w), i);
    double *part = w->part + i * w->n_heads;
    for (int64_t h = 0; h < w->n_heads; h++) part[h] = 0;
    for (int64_t row = r.from; row < r.to; row++) {
        Vec sum = vec_set(0);
        for (int64_t j = 0; j < w->width; j += LANES) {
            const int64_t n = w->width - j < LANES ? w->width - j : LANES, at = row * w->width + j;
            sum = vec_fma(vec_get(dy->dtype, dy->data, at, n), vec_get(o->dtype, o->data, at, n),
                          sum);
        }
        const int64_t h = row % w->n_heads;
        part[h] -= exp(number_at(sink, h) - number_at(lse, row)) * vec_sum(sum);
    }
}

static int run_sink(const Launch *l)
{
    Rows w = rows_of(l);
    pool_run(l->stream->pool, chunk_count(w.n, chunk_rows(w.width)), sink_task, &w);
    return KERNEL_OK;
}

static int run_grad(const Launch *l)
{
    Rows w = rows_of(l);
    const int64_t n_parts = chunk_count(w.n, rows_of_part(&w));
    pool_run(l->stream->pool, n_parts, grad_task, &w);
    for (int64_t h = 0; h < w.n_heads; h++) {
        double sum = 0;
        for (int64_t i = 0; i < n_parts; i++) sum += w.part[i * w.n_heads + h];
        vec_put(l->out[0].dtype, l->out[0].data, h, 1, vec_set((float)sum));
    }
    return KERNEL_OK;
}

static size_t grad_scratch(const Launch *l, int n_threads)
{
    (void)n_threads;
    return sizeof(double) * PARTS * (size_t)tensor_count(&l->in[2]);
}

const KernelDef TABLE[] = {
    { "attention_sink", "cpu", "any f32 any>any f32", LEVEL, run_sink, NULL, floats_fit },
    { "attention_sink_grad", "cpu", "any f32 any any>any", LEVEL, run_grad, grad_scratch,
      floats_fit },
    { 0 },
};
