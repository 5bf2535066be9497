/* adam_fast.c - Adam and AdamW in one pass over memory: 16 bytes read, 16 written per parameter,
 * which may lie in two halves (tensor/halves.h). */
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

/* How parameter and first moment lie in memory. */
typedef struct Storage {
    bool halves;
    Dtype moment;
} Storage;

INLINE Vec get_param(const Launch *l, bool halves, int64_t i, int64_t n)
{
    if (!halves) return vec_get(F32, l->in[0].data, i, n);
    return vec_joined(l->in[0].data, l->in[5].data, i, n);
}

INLINE void put_param(const Launch *l, bool halves, int64_t i, int64_t n, Vec p)
{
    if (!halves) {
        vec_put(F32, l->out[0].data, i, n, p);
        return;
    }
    vec_put_i16((int16_t *)l->out[0].data + i, n, vec_high_half(p));
    vec_put_i16((int16_t *)l->out[4].data + i, n, vec_low_half(p));
}

INLINE void adam_vector(const Step *s, Storage y, int64_t i, int64_t n)
{
    const Launch *l = s->l;
    Vec p = get_param(l, y.halves, i, n), g = vec_get(F32, l->in[1].data, i, n);
    Vec m = vec_get(y.moment, l->in[2].data, i, n), v = vec_get(F32, l->in[3].data, i, n);
    g = vec_fma(p, vec_set(s->decay_in_grad), g * vec_set(s->factor));
    m = vec_fma(m, vec_set(s->beta1), g * vec_set(s->rest1));
    v = vec_fma(v, vec_set(s->beta2), g * g * vec_set(s->rest2));
    Vec size = vec_fma(vec_sqrt(v), vec_set(s->unbias2), vec_set(s->eps));
    p = vec_fnma(p, vec_set(s->decay), p);
    p = vec_fnma(m / size, vec_set(s->rate), p);
    put_param(l, y.halves, i, n, p);
    vec_put(y.moment, l->out[1].data, i, n, m);
    vec_put(F32, l->out[2].data, i, n, v);
    vec_put(F32, l->out[3].data, i, n, vec_set(0));
}

INLINE void adam_range(const Step *s, Storage y, Range r)
{
    int64_t at = r.from;
    for (; at + LANES <= r.to; at += LANES) adam_vector(s, y, at, LANES);
    if (at < r.to) adam_vector(s, y, at, r.to - at);
}

static void adam_task(void *arg, int64_t i, int thread)
{
    (void)thread;
    const Step *s = arg;
    const Range r = chunk(tensor_count(&s->l->in[0]), CHUNK, i);
    const bool halves = s->l->n_in == 6, is_narrow = s->l->in[2].dtype == BF16;
    if (halves && is_narrow)
        adam_range(s, (Storage){ true, BF16 }, r);
    else if (halves)
        adam_range(s, (Storage){ true, F32 }, r);
    else if (is_narrow)
        adam_range(s, (Storage){ false, BF16 }, r);
    else
        adam_range(s, (Storage){ false, F32 }, r);
}

static int update(const Launch *l)
{
    Step s = step_of(l);
    pool_run(l->stream->pool, chunk_count(tensor_count(&l->in[0]), CHUNK), adam_task, &s);
    return KERNEL_OK;
}

const KernelDef TABLE[] = {
    { "adam", "cpu", "f32 f32 f32 f32 f64>f32 f32 f32 f32", LEVEL, update, NULL, NULL },
    { "adam", "cpu", "f32 f32 bf16 f32 f64>f32 bf16 f32 f32", LEVEL, update, NULL, NULL },
    { "adam", "cpu", "bf16 f32 f32 f32 f64 i16>bf16 f32 f32 f32 i16", LEVEL, update, NULL, NULL },
    { "adam", "cpu", "bf16 f32 bf16 f32 f64 i16>bf16 bf16 f32 f32 i16", LEVEL, update, NULL, NULL },
    { 0 },
};
