/* selective_scan_fast.c - what is read of states by the selective scan, of whole texts and of texts
 * that are continued. */
#include "ops/selective_scan_tokens.h"

/* Of a thread, in floats. */
static size_t room(const Scan *s)
{
    return (size_t)(s->wide_n * (2 * LANES + 2));
}

/* All tokens of some features of text b; `goes_on`: there is something in the state. */
static void run_features(const Scan *s, const Features *f, int64_t b, bool goes_on, float *shared,
                         const Tensor *y)
{
    float *in = shared, *out = shared + s->wide_n;
    for (int64_t t = b * s->length; t < (b + 1) * s->length; t++) {
        const Token k = token_of(s, f, t);
        const bool begins = begins_text(s, t) && (t % s->length || !goes_on);
        Vec sum = f->skip * k.x;
        load_shared(s, s->in, t, in);
        load_shared(s, s->out, t, out);
        take_step(s, f, &k, begins, in, f->state, f->state);
        for (int64_t j = 0; j < s->wide_n; j++)
            sum = vec_fma(vec_get(F32, f->state, j * LANES, LANES), vec_set(out[j]), sum);
        vec_put(y->dtype, y->data, t * s->c + f->first, f->count, sum);
    }
}

static void forward_task(void *arg, int64_t task, int thread)
{
    const Scan *s = arg;
    const int64_t size = s->wide_n * LANES;
    float *own = s->scratch + (size_t)thread * room(s);
    const Features f = features_of(s, task % s->blocks, own, own + size);
    run_features(s, &f, task / s->blocks, false, own + 2 * size, &s->l->out[0]);
}

static int forward(const Launch *l)
{
    Scan s = scan_of(l, l->in, l->n_in > N_OPERANDS);
    pool_run(l->stream->pool, s.n_text * s.blocks, forward_task, &s);
    return KERNEL_OK;
}

static size_t forward_scratch(const Launch *l, int n_threads)
{
    const Scan s = scan_of(l, l->in, l->n_in > N_OPERANDS);
    return sizeof(float) * (size_t)n_threads * room(&s);
}

/* ---- a text that is continued ---- */

/* Between a state [c n] and vectors of features. */
static void load_state(const Scan *s, const Features *f, const float *kept)
{
    for (int64_t i = 0; i < f->count; i++)
        for (int64_t j = 0; j < s->n; j++)
            f->state[j * LANES + i] = kept[(f->first + i) * s->n + j];
}

static void store_state(const Scan *s, const Features *f, float *to)
{
    for (int64_t i = 0; i < f->count; i++)
        for (int64_t j = 0; j < s->n; j++) to[(f->first + i) * s->n + j] = f->state[j * LANES + i];
}

static void cached_task(void *arg, int64_t task, int thread)
{
    const Scan *s = arg;
    const Launch *l = s->l;
    const int64_t b = task / s->blocks, size = s->wide_n * LANES;
    const float *kept = (const float *)l->in[0].data + b * s->c * s->n;
    float *to = (float *)l->out[0].data + b * s->c * s->n,
          *own = s->scratch + (size_t)thread * room(s);
    const Features f = features_of(s, task % s->blocks, own, own + size);
    const bool goes_on = row_position(l->now, b) > 0;
    load_state(s, &f, kept);
    if (to != kept) store_state(s, &f, to);
    run_features(s, &f, b, goes_on, own + 2 * size, &l->out[1]);
    if (!row_waits(l->now, b)) store_state(s, &f, to);
}

static int cached(const Launch *l)
{
    Scan s = scan_of(l, l->in + 1, false);
    pool_run(l->stream->pool, s.n_text * s.blocks, cached_task, &s);
    return KERNEL_OK;
}

static size_t cached_scratch(const Launch *l, int n_threads)
{
    const Scan s = scan_of(l, l->in + 1, false);
    return sizeof(float) * (size_t)n_threads * room(&s);
}

/* clang-format off */
const KernelDef TABLE[] = {
    { "selective_scan", "cpu", "any any any any any any any>any", LEVEL, forward, forward_scratch, floats_fit },
    { "selective_scan", "cpu", "any any any any any any any i32>any", LEVEL, forward, forward_scratch, floats_fit },
    { "selective_scan_cached", "cpu", "f32 any any any any any any any>f32 any", LEVEL, cached, cached_scratch, floats_fit },
    { 0 },
};
/* clang-format on */
