/* adam_fast.c - Adam and AdamW in one pass over memory: 16 bytes read, 16 written per parameter. */
#include "ops/adam.h"
#include "ops/kernels.h"
#include "ops/vector/chunks.h"
#include <math.h>

/* The settings and the step as factors, so that the loop has one division. */
typedef struct Step {
    const Launch *l;
    float factor, decay, decay_in_grad, beta1, rest1, beta2, rest2, rate, unbias2, eps;
} Step;

/* p -= rate m / (sqrt(v) unbias2 + eps) with rate = lr / (1 - beta1^t) and
 * unbias2 = 1 / sqrt(1 - beta2^t). */
static Step step_of(const Launch *l)
{
    const AdamSettings *a = l->attrs;
    const Rate *rate = &l->now->rate[a->group];
    double t = (double)l->now->updates + 1, lr = rate->lr;
    double beta1 = rate->has_beta1 ? rate->beta1 : a->beta1;
    return (Step){
        .l = l,
        .factor = (float)*(const double *)l->in[4].data,
        .decay = (float)(a->decoupled ? lr * a->weight_decay : 0),
        .decay_in_grad = (float)(a->decoupled ? 0 : a->weight_decay),
        .beta1 = (float)beta1,
        .rest1 = (float)(1 - beta1),
        .beta2 = (float)a->beta2,
        .rest2 = (float)(1 - a->beta2),
        .rate = (float)(lr / (1 - pow(beta1, t))),
        .unbias2 = (float)(1 / sqrt(1 - pow(a->beta2, t))),
        .eps = (float)a->eps,
    };
}

INLINE void adam_vector(const Step *s, int64_t i, int64_t n)
{
    const Launch *l = s->l;
    Vec p = vec_get(F32, l->in[0].data, i, n), g = vec_get(F32, l->in[1].data, i, n);
    Vec m = vec_get(F32, l->in[2].data, i, n), v = vec_get(F32, l->in[3].data, i, n);
    g = vec_fma(p, vec_set(s->decay_in_grad), g * vec_set(s->factor));
    m = vec_fma(m, vec_set(s->beta1), g * vec_set(s->rest1));
    v = vec_fma(v, vec_set(s->beta2), g * g * vec_set(s->rest2));
    Vec size = vec_fma(vec_sqrt(v), vec_set(s->unbias2), vec_set(s->eps));
    p = vec_fnma(p, vec_set(s->decay), p);
    p = vec_fnma(m / size, vec_set(s->rate), p);
    vec_put(F32, l->out[0].data, i, n, p);
    vec_put(F32, l->out[1].data, i, n, m);
    vec_put(F32, l->out[2].data, i, n, v);
    vec_put(F32, l->out[3].data, i, n, vec_set(0));
}

static void adam_task(void *arg, int64_t i, int thread)
{
    (void)thread;
    const Step *s = arg;
    Range r = chunk(tensor_count(&s->l->in[0]), CHUNK, i);
    int64_t at = r.from;
    for (; at + LANES <= r.to; at += LANES) adam_vector(s, at, LANES);
    if (at < r.to) adam_vector(s, at, r.to - at);
}

static int update(const Launch *l)
{
    Step s = step_of(l);
    pool_run(l->stream->pool, chunk_count(tensor_count(&l->in[0]), CHUNK), adam_task, &s);
    return KERNEL_OK;
}

const KernelDef TABLE[] = {
    { "adam", "cpu", "f32 f32 f32 f32 f64>f32 f32 f32 f32", LEVEL, update, NULL, NULL },
    { 0 },
};
