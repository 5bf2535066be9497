/* causal_conv_fast.c - each feature as a weighted sum of its own last few numbers. */
#include "ops/kernels.h"
#include "ops/vector/chunks.h"

/* Tokens of a task; parts of all tokens, whose sums are added in order; the widest kernel. */
enum { TOKENS = 64, PARTS = 64, MAX_WIDTH = 16 };

/* `own` are the tokens that are made, or whose gradient is there, of whole sequences x. */
typedef struct Conv {
    const Launch *l;
    const Tensor *own, *x, *weight;
    const int32_t *document; /* NULL: one document */
    int64_t n, length, c, width;
    float *turned; /* scratch: weights [width][c], that of the token itself first */
    float *part;   /* scratch: [PARTS][width][c], likewise */
} Conv;

static Conv conv_of(const Launch *l, const Tensor *own, const Tensor *x, const Tensor *weight,
                    const Tensor *document)
{
    return (Conv){ .l = l,
                   .own = own,
                   .x = x,
                   .weight = weight,
                   .document = document ? document->data : NULL,
                   .n = own->size[0] * own->size[1],
                   .length = x->size[1],
                   .c = x->size[2],
                   .width = weight->size[1],
                   .turned = l->scratch,
                   .part = l->scratch };
}

/* The number over all sequences of row i of the own tokens; -1: it is padding. */
static int64_t token_of(const Conv *w, int64_t i)
{
    const int64_t t = global_index(w->own, 1, i % w->own->size[1]);
    return t < w->length ? i / w->own->size[1] * w->length + t : -1;
}

static void turn_weights(const Conv *w)
{
    for (int64_t k = 0; k < w->c; k++)
        for (int64_t i = 0; i < w->width; i++)
            w->turned[i * w->c + k] =
                vec_get(w->weight->dtype, w->weight->data, k * w->width + w->width - 1 - i, 1)[0];
}

/* How many tokens in front of t are of its document, and count. */
static int64_t n_before(const Conv *w, int64_t t)
{
    int64_t n = 0;
    while (n < w->width - 1 && (t - n) % w->length > 0 &&
           (!w->document || w->document[t - n - 1] == w->document[t]))
        n++;
    return n;
}

INLINE Vec features(const Tensor *t, int64_t at, int64_t n)
{
    return vec_get(t->dtype, t->data, at, n);
}

static void conv_task(void *arg, int64_t task, int thread)
{
    (void)thread;
    const Conv *w = arg;
    const Tensor *y = &w->l->out[0];
    const Range r = chunk(w->n, TOKENS, task);
    for (int64_t row = r.from; row < r.to; row++) {
        const int64_t t = token_of(w, row), before = t < 0 ? -1 : n_before(w, t);
        for (int64_t k = 0; k < w->c; k += LANES) {
            const int64_t n = w->c - k < LANES ? w->c - k : LANES;
            Vec sum = vec_set(0);
            for (int64_t i = 0; i <= before; i++)
                sum = vec_fma(features(w->x, (t - i) * w->c + k, n),
                              vec_get(F32, w->turned, i * w->c + k, n), sum);
            vec_put(y->dtype, y->data, row * w->c + k, n, sum);
        }
    }
}

static int conv(const Launch *l)
{
    Conv w = conv_of(l, &l->in[0], &l->in[1], &l->in[2], l->n_in == 4 ? &l->in[3] : NULL);
    turn_weights(&w);
    pool_run(l->stream->pool, chunk_count(w.n, TOKENS), conv_task, &w);
    return KERNEL_OK;
}

static size_t scratch(const Launch *l, int n_threads)
{
    (void)n_threads;
    return sizeof(float) * (size_t)tensor_count(&l->in[2]);
}

/* ---- backwards ---- */

/* A token gets from those behind it that have it in front of them. */
static void dx_task(void *arg, int64_t task, int thread)
{
    (void)thread;
    const Conv *w = arg;
    const Tensor *dx = &w->l->out[0], *dy = w->own;
    const Range r = chunk(w->n, TOKENS, task);
    for (int64_t t = r.from; t < r.to; t++) {
        int64_t behind = 0;
        while (behind < w->width - 1 && t + behind + 1 < w->n &&
               n_before(w, t + behind + 1) > behind)
            behind++;
        for (int64_t k = 0; k < w->c; k += LANES) {
            const int64_t n = w->c - k < LANES ? w->c - k : LANES;
            Vec sum = vec_set(0);
            for (int64_t i = 0; i <= behind; i++)
                sum = vec_fma(features(dy, (t + i) * w->c + k, n),
                              vec_get(F32, w->turned, i * w->c + k, n), sum);
            vec_put(dx->dtype, dx->data, t * w->c + k, n, sum);
        }
    }
}

static int64_t rows_of_part(const Conv *w)
{
    return w->n > PARTS ? (w->n + PARTS - 1) / PARTS : 1;
}

static void dw_task(void *arg, int64_t task, int thread)
{
    (void)thread;
    const Conv *w = arg;
    const Range r = chunk(w->n, rows_of_part(w), task);
    float *part = w->part + task * w->width * w->c;
    for (int64_t k = 0; k < w->c; k += LANES) {
        const int64_t n = w->c - k < LANES ? w->c - k : LANES;
        Vec sum[MAX_WIDTH] = { 0 };
        for (int64_t row = r.from; row < r.to; row++) {
            const Vec d = features(w->own, row * w->c + k, n);
            const int64_t t = token_of(w, row), before = t < 0 ? -1 : n_before(w, t);
            for (int64_t i = 0; i <= before; i++)
                sum[i] = vec_fma(d, features(w->x, (t - i) * w->c + k, n), sum[i]);
        }
        for (int64_t i = 0; i < w->width; i++) vec_put(F32, part, i * w->c + k, n, sum[i]);
    }
}

static int x_grad(const Launch *l)
{
    const Tensor *dy = &l->in[l->n_in - 1];
    Conv w = conv_of(l, dy, dy, &l->in[0], l->n_in == 3 ? &l->in[1] : NULL);
    turn_weights(&w);
    pool_run(l->stream->pool, chunk_count(w.n, TOKENS), dx_task, &w);
    return KERNEL_OK;
}

static size_t x_grad_scratch(const Launch *l, int n_threads)
{
    (void)n_threads;
    return sizeof(float) * (size_t)tensor_count(&l->in[0]);
}

static int weight_grad(const Launch *l)
{
    const Tensor *dw = &l->out[0];
    Conv w = conv_of(l, &l->in[l->n_in - 1], &l->in[0], dw, l->n_in == 3 ? &l->in[1] : NULL);
    const int64_t n_parts = chunk_count(w.n, rows_of_part(&w));
    pool_run(l->stream->pool, n_parts, dw_task, &w);
    for (int64_t k = 0; k < w.c; k++)
        for (int64_t i = 0; i < w.width; i++) {
            double sum = 0;
            for (int64_t p = 0; p < n_parts; p++) sum += w.part[(p * w.width + i) * w.c + k];
            vec_put(dw->dtype, dw->data, k * w.width + w.width - 1 - i, 1, vec_set((float)sum));
        }
    return KERNEL_OK;
}

static size_t weight_grad_scratch(const Launch *l, int n_threads)
{
    (void)n_threads;
    return sizeof(float) * PARTS * (size_t)tensor_count(&l->out[0]);
}

static bool serves_weight_grad(const Launch *l)
{
    return floats_fit(l) && l->out[0].size[1] <= MAX_WIDTH;
}

/* ---- a text that is continued ---- */

/* Row t of x, or in front of it of what is kept; nothing is where a text begins. */
INLINE Vec joined(const Conv *w, int64_t b, int64_t t, int64_t k, int64_t n)
{
    if (t >= 0) return features(w->x, (b * w->length + t) * w->c + k, n);
    if (row_position(w->l->now, b) == 0) return vec_set(0);
    return features(&w->l->in[0], ((b + 1) * (w->width - 1) + t) * w->c + k, n);
}

/* Of LANES features all tokens are read before what is kept of them is written. */
static void cached_task(void *arg, int64_t task, int thread)
{
    (void)thread;
    const Conv *w = arg;
    const Tensor *tail = &w->l->out[0], *y = &w->l->out[1];
    const int64_t blocks = chunk_count(w->c, LANES), b = task / blocks, k = task % blocks * LANES,
                  n = w->c - k < LANES ? w->c - k : LANES;
    Vec kept[MAX_WIDTH];
    for (int64_t t = 0; t < w->length; t++) {
        Vec sum = vec_set(0);
        for (int64_t i = 0; i < w->width; i++)
            sum = vec_fma(joined(w, b, t - i, k, n), vec_get(F32, w->turned, i * w->c + k, n), sum);
        vec_put(y->dtype, y->data, (b * w->length + t) * w->c + k, n, sum);
    }
    for (int64_t i = 0; i < w->width - 1; i++)
        kept[i] = row_waits(w->l->now, b)
                      ? features(&w->l->in[0], (b * (w->width - 1) + i) * w->c + k, n)
                      : joined(w, b, w->length - (w->width - 1) + i, k, n);
    for (int64_t i = 0; i < w->width - 1; i++)
        vec_put(tail->dtype, tail->data, (b * (w->width - 1) + i) * w->c + k, n, kept[i]);
}

static int cached(const Launch *l)
{
    Conv w = conv_of(l, &l->in[1], &l->in[1], &l->in[2], NULL);
    turn_weights(&w);
    pool_run(l->stream->pool, w.x->size[0] * chunk_count(w.c, LANES), cached_task, &w);
    return KERNEL_OK;
}

static size_t cached_scratch(const Launch *l, int n_threads)
{
    (void)n_threads;
    return sizeof(float) * (size_t)tensor_count(&l->in[2]);
}

static bool serves_cached(const Launch *l)
{
    return floats_fit(l) && l->in[2].size[1] <= MAX_WIDTH;
}

/* clang-format off */
const KernelDef TABLE[] = {
    { "causal_conv", "cpu", "any any any>any", LEVEL, conv, scratch, floats_fit },
    { "causal_conv", "cpu", "any any any i32>any", LEVEL, conv, scratch, floats_fit },
    { "causal_conv_x_grad", "cpu", "any any>any", LEVEL, x_grad, x_grad_scratch, floats_fit },
    { "causal_conv_x_grad", "cpu", "any i32 any>any", LEVEL, x_grad, x_grad_scratch, floats_fit },
    { "causal_conv_weight_grad", "cpu", "any any>any", LEVEL, weight_grad, weight_grad_scratch, serves_weight_grad },
    { "causal_conv_weight_grad", "cpu", "any i32 any>any", LEVEL, weight_grad, weight_grad_scratch, serves_weight_grad },
    { "causal_conv_cached", "cpu", "any any any>any any", LEVEL, cached, cached_scratch, serves_cached },
    { 0 },
};
/* clang-format on */
