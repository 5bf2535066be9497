/* gated_recurrence_fast.c - the gated recurrence of LANES features at a time, token by token: whole
 * texts, their gradients, and texts that are continued. */
#include "ops/gated_recurrence_gates.h"
#include "ops/kernels.h"
#include "ops/vector/chunks.h"
#include "ops/vector/vector_math.h"

enum { N_OPERANDS = 4 };

/* Of a launch. */
typedef struct Walk {
    const Launch *l;
    const Tensor *x, *in, *fade, *speed;
    const int32_t *document; /* NULL: one document */
    int64_t n_text, length, c;
    int64_t blocks; /* of LANES features */
    int32_t *row;   /* of gradients: a token's place among the rank's own; -1: it is none */
    float *sums;    /* likewise, of speeds: [n_text][c] */
} Walk;

/* Features [first, first + count). */
typedef struct Features {
    int64_t first, count;
    Vec speed, rate; /* rate: -8 softplus(speed) */
} Features;

/* A token of such features. */
typedef struct Token {
    Vec x, in, fade, keep, share;
    bool is_first;
} Token;

static Walk walk_of(const Launch *l, const Tensor *in, bool has_documents)
{
    return (Walk){ .l = l,
                   .x = &in[0],
                   .in = &in[1],
                   .fade = &in[2],
                   .speed = &in[3],
                   .document = has_documents ? in[N_OPERANDS].data : NULL,
                   .n_text = in[0].size[0],
                   .length = in[0].size[1],
                   .c = in[0].size[2],
                   .blocks = chunk_count(in[0].size[2], LANES) };
}

INLINE Features features_of(const Walk *w, int64_t block)
{
    Features f = { .first = block * LANES };
    f.count = w->c - f.first < LANES ? w->c - f.first : LANES;
    f.speed = vec_get(w->speed->dtype, w->speed->data, f.first, f.count);
    f.rate = vec_set(-RECURRENCE_SPEED) * vec_softplus(f.speed);
    return f;
}

INLINE Vec features(const Tensor *t, const Features *f, int64_t at)
{
    return vec_get(t->dtype, t->data, at + f->first, f->count);
}

/* Whether a text or document begins with token t, a number over all texts. */
INLINE bool begins(const Walk *w, int64_t t)
{
    return t % w->length == 0 || (w->document && w->document[t] != w->document[t - 1]);
}

INLINE Token token_of(const Walk *w, const Features *f, int64_t t, bool is_first)
{
    const int64_t at = t * w->c;
    Token k = { .x = features(w->x, f, at),
                .in = vec_sigmoid(features(w->in, f, at)),
                .fade = vec_sigmoid(features(w->fade, f, at)),
                .keep = vec_set(0),
                .share = vec_set(1),
                .is_first = is_first };
    if (is_first) return k;
    const Vec l = f->rate * k.fade,
              twice = vec_max(vec_set(-60), l + l); /* in this order NaN stays */
    k.keep = vec_exp(l);
    k.share = vec_sqrt(-vec_expm1(twice));
    return k;
}

/* All tokens of text b; `goes_on`: there is something in front of them. */
INLINE Vec run_features(const Walk *w, const Features *f, int64_t b, bool goes_on, Vec state,
                        const Tensor *y)
{
    for (int64_t t = b * w->length; t < (b + 1) * w->length; t++) {
        const Token k = token_of(w, f, t, begins(w, t) && (t % w->length > 0 || !goes_on));
        const Vec added = k.share * k.in * k.x;
        state = k.is_first ? added : vec_fma(k.keep, state, added);
        vec_put(y->dtype, y->data, t * w->c + f->first, f->count, state);
    }
    return state;
}

static void forward_task(void *arg, int64_t task, int thread)
{
    const Walk *w = arg;
    const Features f = features_of(w, task % w->blocks);
    (void)thread;
    run_features(w, &f, task / w->blocks, false, vec_set(0), &w->l->out[0]);
}

static int forward(const Launch *l)
{
    Walk w = walk_of(l, l->in, l->n_in > N_OPERANDS);
    pool_run(l->stream->pool, w.n_text * w.blocks, forward_task, &w);
    return KERNEL_OK;
}

/* ---- a text that is continued ---- */

static void cached_task(void *arg, int64_t task, int thread)
{
    const Walk *w = arg;
    const Launch *l = w->l;
    const Features f = features_of(w, task % w->blocks);
    const int64_t b = task / w->blocks, at = b * w->c;
    const Vec kept = features(&l->in[0], &f, at);
    (void)thread;
    const Vec state = run_features(w, &f, b, row_position(l->now, b) > 0, kept, &l->out[1]);
    vec_put(F32, l->out[0].data, at + f.first, f.count, row_waits(l->now, b) ? kept : state);
}

static int cached(const Launch *l)
{
    Walk w = walk_of(l, l->in + 1, false);
    pool_run(l->stream->pool, w.n_text * w.blocks, cached_task, &w);
    return KERNEL_OK;
}

/* ---- backwards ---- */

/* What a token gets of d, the gradient of the number behind it; gives that of the feature's speed,
 * divided by its slope. */
INLINE Vec token_grad(const Walk *w, const Features *f, const Token *k, int64_t t, int64_t own,
                      Vec d)
{
    const Launch *l = w->l;
    const Tensor *h = &l->in[l->n_in - 3];
    const Vec one = vec_set(1), let_in = d * k->share;
    Vec of_fade = vec_set(0), of_speed = vec_set(0);
    if (!k->is_first) {
        const Vec m = vec_max(vec_set(0.5f / RECURRENCE_SLOPE), k->share),
                  before = features(h, f, (t - 1) * w->c),
                  of_l = d * k->keep * (before - k->in * k->x * k->keep / m);
        of_fade = of_l * f->rate * k->fade * (one - k->fade);
        of_speed = vec_set(-RECURRENCE_SPEED) * of_l * k->fade;
    }
    const Vec grad[] = { let_in * k->in, let_in * k->x * k->in * (one - k->in), of_fade };
    for (int i = 0; i < 3; i++)
        vec_put(l->out[i].dtype, l->out[i].data, own * w->c + f->first, f->count, grad[i]);
    return of_speed;
}

static void grad_task(void *arg, int64_t task, int thread)
{
    const Walk *w = arg;
    const Launch *l = w->l;
    const Tensor *y = &l->in[l->n_in - 1];
    const Features f = features_of(w, task % w->blocks);
    const int64_t b = task / w->blocks, n_own = l->out[0].size[1];
    Vec d = vec_set(0), of_speed = vec_set(0);
    (void)thread;
    for (int64_t i = w->length - 1; i >= 0; i--) {
        const int64_t t = b * w->length + i;
        const Token k = token_of(w, &f, t, begins(w, t));
        d += features(y, &f, t * w->c);
        if (w->row[i] >= 0) of_speed += token_grad(w, &f, &k, t, b * n_own + w->row[i], d);
        d *= k.keep;
    }
    vec_put(F32, w->sums, b * w->c + f.first, f.count, of_speed * vec_sigmoid(f.speed));
}

/* Over the texts. */
static void add_texts(const Walk *w)
{
    const Tensor *to = &w->l->out[3];
    for (int64_t c = 0; c < w->c; c++) {
        double sum = 0;
        for (int64_t b = 0; b < w->n_text; b++) sum += w->sums[b * w->c + c];
        vec_put(to->dtype, to->data, c, 1, vec_set((float)sum));
    }
}

/* Rows that are padding are zeros. */
static void find_rows(const Walk *w)
{
    const Launch *l = w->l;
    const Tensor *own = &l->in[l->n_in - 2];
    for (int64_t t = 0; t < w->length; t++) w->row[t] = -1;
    for (int64_t i = 0; i < own->size[1]; i++) {
        const int64_t t = global_index(own, 1, i);
        if (t < w->length) w->row[t] = (int32_t)i;
    }
    for (int k = 0; k < 3 && own->size[1] != w->length; k++)
        memset(l->out[k].data, 0, tensor_bytes(&l->out[k]));
}

static int backward(const Launch *l)
{
    Walk w = walk_of(l, l->in, l->n_in > N_OPERANDS + 3);
    w.row = l->scratch;
    w.sums = (float *)l->scratch + w.length;
    find_rows(&w);
    pool_run(l->stream->pool, w.n_text * w.blocks, grad_task, &w);
    add_texts(&w);
    return KERNEL_OK;
}

static size_t backward_scratch(const Launch *l, int n_threads)
{
    const Tensor *x = &l->in[0];
    (void)n_threads;
    return sizeof(float) * (size_t)(x->size[1] + x->size[0] * x->size[2]);
}

/* clang-format off */
const KernelDef TABLE[] = {
    { "gated_recurrence", "cpu", "any any any any>any", LEVEL, forward, NULL, floats_fit },
    { "gated_recurrence", "cpu", "any any any any i32>any", LEVEL, forward, NULL, floats_fit },
    { "gated_recurrence_grad", "cpu", "any any any any any any any>any any any any", LEVEL, backward, backward_scratch, floats_fit },
    { "gated_recurrence_grad", "cpu", "any any any any i32 any any any>any any any any", LEVEL, backward, backward_scratch, floats_fit },
    { "gated_recurrence_cached", "cpu", "f32 any any any any>f32 any", LEVEL, cached, NULL, floats_fit },
    { 0 },
};
/* clang-format on */
