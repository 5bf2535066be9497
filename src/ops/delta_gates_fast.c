/* delta_gates_fast.c - decays and rates of linear attention. */
#include "ops/delta_step.h"
#include "ops/kernels.h"
#include "ops/vector/chunks.h"
#include <math.h>

/* Rows of a task; parts of the rows, whose sums are added in order. */
enum { TOKENS = 64, PARTS = 64 };

typedef struct Gates {
    const Launch *l;
    int64_t n, heads; /* tokens; of each */
    const DeltaGatesAttrs *attrs;
    double *part; /* scratch: [PARTS][2][heads] */
} Gates;

static Gates gates_of(const Launch *l)
{
    const int64_t heads = tensor_count(&l->in[1]);
    return (Gates){ l, tensor_count(&l->in[0]) / heads, heads, l->attrs, l->scratch };
}

INLINE double number_at(const Tensor *t, int64_t i)
{
    return vec_get(t->dtype, t->data, i, 1)[0];
}

INLINE void put_number(const Tensor *t, int64_t i, double x)
{
    vec_put(t->dtype, t->data, i, 1, vec_set((float)x));
}

static void gates_task(void *arg, int64_t task, int thread)
{
    (void)thread;
    const Gates *w = arg;
    const Launch *l = w->l;
    const Range r = chunk(w->n, TOKENS, task);
    for (int64_t h = 0; h < w->heads; h++) {
        const double fast = exp(number_at(&l->in[1], h)), bias = number_at(&l->in[2], h);
        for (int64_t t = r.from; t < r.to; t++) {
            const int64_t i = t * w->heads + h;
            double slope;
            const double step = delta_step(w->attrs, number_at(&l->in[0], i) + bias, &slope);
            put_number(&l->out[0], i, -fast * step);
            put_number(&l->out[1], i,
                       l->n_in == 4 ? w->attrs->most * delta_sigmoid(number_at(&l->in[3], i))
                                    : step);
        }
    }
}

static int gates(const Launch *l)
{
    Gates w = gates_of(l);
    pool_run(l->stream->pool, chunk_count(w.n, TOKENS), gates_task, &w);
    return KERNEL_OK;
}

static int64_t rows_of_part(const Gates *w)
{
    return w->n > PARTS ? (w->n + PARTS - 1) / PARTS : 1;
}

static void grad_task(void *arg, int64_t task, int thread)
{
    (void)thread;
    const Gates *w = arg;
    const Launch *l = w->l;
    const Range r = chunk(w->n, rows_of_part(w), task);
    const bool has_rates = l->n_in == 6;
    double *part = w->part + task * 2 * w->heads;
    for (int64_t h = 0; h < w->heads; h++) {
        const double fast = exp(number_at(&l->in[1], h)), bias = number_at(&l->in[2], h);
        double of_speed = 0, of_bias = 0;
        for (int64_t t = r.from; t < r.to; t++) {
            const int64_t i = t * w->heads + h;
            double slope;
            const double step = delta_step(w->attrs, number_at(&l->in[0], i) + bias, &slope),
                         d = fast * number_at(&l->in[3], i), drate = number_at(&l->in[4], i),
                         dx = ((has_rates ? 0 : drate) - d) * slope;
            put_number(&l->out[0], i, dx);
            of_speed -= d * step;
            of_bias += dx;
            if (!has_rates) continue;
            const double s = delta_sigmoid(number_at(&l->in[5], i));
            put_number(&l->out[3], i, drate * w->attrs->most * s * (1 - s));
        }
        part[h] = of_speed;
        part[w->heads + h] = of_bias;
    }
}

static int grad(const Launch *l)
{
    Gates w = gates_of(l);
    const int64_t n_parts = chunk_count(w.n, rows_of_part(&w));
    pool_run(l->stream->pool, n_parts, grad_task, &w);
    for (int64_t k = 0; k < 2 * w.heads; k++) {
        double sum = 0;
        for (int64_t p = 0; p < n_parts; p++) sum += w.part[p * 2 * w.heads + k];
        put_number(&l->out[1 + k / w.heads], k % w.heads, sum);
    }
    return KERNEL_OK;
}

static size_t grad_scratch(const Launch *l, int n_threads)
{
    (void)n_threads;
    return sizeof(double) * PARTS * 2 * (size_t)tensor_count(&l->in[1]);
}

/* clang-format off */
const KernelDef TABLE[] = {
    { "delta_gates", "cpu", "any any any any>any any", LEVEL, gates, NULL, floats_fit },
    { "delta_gates", "cpu", "any any any>any any", LEVEL, gates, NULL, floats_fit },
    { "delta_gates_grad", "cpu", "any any any any any any>any any any any", LEVEL, grad, grad_scratch, floats_fit },
    { "delta_gates_grad", "cpu", "any any any any any>any any any", LEVEL, grad, grad_scratch, floats_fit },
    { 0 },
};
/* clang-format on */
