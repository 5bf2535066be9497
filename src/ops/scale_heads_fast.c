/* scale_heads_fast.c - heads, each times a number of its own. */
#include "ops/kernels.h"
#include "ops/vector/chunks.h"

/* Tokens of a task; parts of the tokens, whose sums are added in order. */
enum { TOKENS = 16, PARTS = 64 };

typedef struct Heads {
    const Launch *l;
    int64_t n, heads, width; /* tokens; of each; of a head */
    float *part;             /* scratch: [PARTS][heads] */
} Heads;

static Heads heads_of(const Launch *l)
{
    const Tensor *x = &l->in[0];
    return (Heads){ l, x->size[0] * x->size[1], x->size[2], x->size[3], l->scratch };
}

/* Each feature has a factor of its own: vectors of them. */
INLINE void scale_features(const Heads *w, Range r)
{
    const Tensor *x = &w->l->in[0], *factor = &w->l->in[1], *y = &w->l->out[0];
    for (int64_t t = r.from; t < r.to; t++)
        for (int64_t h = 0; h < w->heads; h += LANES) {
            const int64_t n = w->heads - h < LANES ? w->heads - h : LANES, at = t * w->heads + h;
            vec_put(y->dtype, y->data, at, n,
                    vec_get(x->dtype, x->data, at, n) * vec_get(factor->dtype, factor->data, h, n));
        }
}

static void scale_task(void *arg, int64_t task, int thread)
{
    (void)thread;
    const Heads *w = arg;
    const Tensor *x = &w->l->in[0], *factor = &w->l->in[1], *y = &w->l->out[0];
    const Range r = chunk(w->n, TOKENS, task);
    if (w->width == 1) {
        scale_features(w, r);
        return;
    }
    for (int64_t i = r.from * w->heads; i < r.to * w->heads; i++) {
        const Vec f = vec_set(vec_get(factor->dtype, factor->data, i % w->heads, 1)[0]);
        for (int64_t j = 0; j < w->width; j += LANES) {
            const int64_t n = w->width - j < LANES ? w->width - j : LANES, at = i * w->width + j;
            vec_put(y->dtype, y->data, at, n, vec_get(x->dtype, x->data, at, n) * f);
        }
    }
}

static int run_scale(const Launch *l)
{
    Heads w = heads_of(l);
    pool_run(l->stream->pool, chunk_count(w.n, TOKENS), scale_task, &w);
    return KERNEL_OK;
}

INLINE void features_back(const Heads *w, Range r, float *part)
{
    const Tensor *x = &w->l->in[0], *factor = &w->l->in[1], *dy = &w->l->in[2], *dx = &w->l->out[0];
    for (int64_t h = 0; h < w->heads; h += LANES) {
        const int64_t n = w->heads - h < LANES ? w->heads - h : LANES;
        const Vec f = vec_get(factor->dtype, factor->data, h, n);
        Vec sum = vec_set(0);
        for (int64_t t = r.from; t < r.to; t++) {
            const Vec d = vec_get(dy->dtype, dy->data, t * w->heads + h, n);
            sum = vec_fma(d, vec_get(x->dtype, x->data, t * w->heads + h, n), sum);
            vec_put(dx->dtype, dx->data, t * w->heads + h, n, d * f);
        }
        vec_put(F32, part, h, n, sum);
    }
}

static int64_t tokens_of_part(const Heads *w)
{
    return w->n > PARTS ? (w->n + PARTS - 1) / PARTS : 1;
}

static void grad_task(void *arg, int64_t task, int thread)
{
    (void)thread;
    const Heads *w = arg;
    const Tensor *x = &w->l->in[0], *factor = &w->l->in[1], *dy = &w->l->in[2], *dx = &w->l->out[0];
    const Range r = chunk(w->n, tokens_of_part(w), task);
    float *part = w->part + task * w->heads;
    if (w->width == 1) {
        features_back(w, r, part);
        return;
    }
    for (int64_t h = 0; h < w->heads; h++) {
        const Vec f = vec_set(vec_get(factor->dtype, factor->data, h, 1)[0]);
        Vec sum = vec_set(0);
        for (int64_t t = r.from; t < r.to; t++)
            for (int64_t j = 0; j < w->width; j += LANES) {
                const int64_t n = w->width - j < LANES ? w->width - j : LANES,
                              at = (t * w->heads + h) * w->width + j;
                const Vec d = vec_get(dy->dtype, dy->data, at, n);
                sum = vec_fma(d, vec_get(x->dtype, x->data, at, n), sum);
                vec_put(dx->dtype, dx->data, at, n, d * f);
            }
        part[h] = vec_sum(sum);
    }
}

static int run_grad(const Launch *l)
{
    Heads w = heads_of(l);
    const int64_t n_parts = chunk_count(w.n, tokens_of_part(&w));
    pool_run(l->stream->pool, n_parts, grad_task, &w);
    for (int64_t h = 0; h < w.heads; h++) {
        double sum = 0;
        for (int64_t p = 0; p < n_parts; p++) sum += w.part[p * w.heads + h];
        vec_put(l->out[1].dtype, l->out[1].data, h, 1, vec_set((float)sum));
    }
    return KERNEL_OK;
}

static size_t grad_scratch(const Launch *l, int n_threads)
{
    (void)n_threads;
    return sizeof(float) * PARTS * (size_t)l->in[0].size[2];
}

const KernelDef TABLE[] = {
    { "scale_heads", "cpu", "any any>any", LEVEL, run_scale, NULL, floats_fit },
    { "scale_heads_grad", "cpu", "any any any>any any", LEVEL, run_grad, grad_scratch, floats_fit },
    { 0 },
};
