/* causal_conv_fast.c - each feature as a weighted sum of its own last few numbers. */
#include "ops/kernels.h"
#include "ops/vector/chunks.h"

/* Tokens of a task; parts of all tokens, whose sums are added in order; the widest kernel. */
enum { TOKENS = 64, PARTS = 64, MAX_WIDTH = 16 };

typedef struct Conv {
    const Launch *l;
    const Tensor *x, *weight;
    const int32_t *document; /* NULL: one document */
    int64_t n, length, c, width;
    float *turned; /* scratch: weights [width][c], that of the token itself first */
    float *part;   /* scratch: [PARTS][width][c], likewise */
} Conv;

static Conv conv_of(const Launch *l, const Tensor *in, int n_in)
{
    return (Conv){ .l = l,
                   .x = &in[0],
                   .weight = &in[1],
                   .document = n_in == 3 ? in[2].data : NULL,
                   .n = in[0].size[0] * in[0].size[1],
                   .length = in[0].size[1],
                   .c = in[0].size[2],
                   .width = in[1].size[1],
                   .turned = l->scratch,
                   .part = (float *)l->scratch + tensor_count(&in[1]) };
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
    for (int64_t t = r.from; t < r.to; t++) {
        const int64_t before = n_before(w, t);
        for (int64_t k = 0; k < w->c; k += LANES) {
            const int64_t n = w->c - k < LANES ? w->c - k : LANES;
            Vec sum = vec_set(0);
            for (int64_t i = 0; i <= before; i++)
                sum = vec_fma(features(w->x, (t - i) * w->c + k, n),
                              vec_get(F32, w->turned, i * w->c + k, n), sum);
            vec_put(y->dtype, y->data, t * w->c + k, n, sum);
        }
    }
}

static int conv(const Launch *l)
{
    Conv w = conv_of(l, l->in, l->n_in);
    turn_weights(&w);
    pool_run(l->stream->pool, chunk_count(w.n, TOKENS), conv_task, &w);
    return KERNEL_OK;
}

static size_t scratch(const Launch *l, int n_threads)
{
    (void)n_threads;
    return sizeof(float) * (size_t)tensor_count(&l->in[1]);
}

/* ---- backwards ---- */

/* A token gets from those behind it that have it in front of them. */
static void dx_task(void *arg, int64_t task, int thread)
{
    (void)thread;
    const Conv *w = arg;
    const Tensor *dx = &w->l->out[0], *dy = &w->l->in[w->l->n_in - 1];
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
    const Tensor *dy = &w->l->in[w->l->n_in - 1];
    const Range r = chunk(w->n, rows_of_part(w), task);
    float *part = w->part + task * w->width * w->c;
    for (int64_t k = 0; k < w->c; k += LANES) {
        const int64_t n = w->c - k < LANES ? w->c - k : LANES;
        Vec sum[MAX_WIDTH] = { 0 };
        for (int64_t t = r.from; t < r.to; t++) {
            const Vec d = features(dy, t * w->c + k, n);
            const int64_t before = n_before(w, t);
            for (int64_t i = 0; i <= before; i++)
                sum[i] = vec_fma(d, features(w->x, (t - i) * w->c + k, n), sum[i]);
        }
        for (int64_t i = 0; i < w->width; i++) vec_put(F32, part, i * w->c + k, n, sum[i]);
    }
}

static int grad(const Launch *l)
{
    Conv w = conv_of(l, l->in, l->n_in - 1);
    const int64_t n_parts = chunk_count(w.n, rows_of_part(&w));
    const Tensor *dw = &l->out[1];
    turn_weights(&w);
    pool_run(l->stream->pool, chunk_count(w.n, TOKENS), dx_task, &w);
    pool_run(l->stream->pool, n_parts, dw_task, &w);
    for (int64_t k = 0; k < w.c; k++)
        for (int64_t i = 0; i < w.width; i++) {
            double sum = 0;
            for (int64_t p = 0; p < n_parts; p++) sum += w.part[(p * w.width + i) * w.c + k];
            vec_put(dw->dtype, dw->data, k * w.width + w.width - 1 - i, 1, vec_set((float)sum));
        }
    return KERNEL_OK;
}

static size_t grad_scratch(const Launch *l, int n_threads)
{
    (void)n_threads;
    return sizeof(float) * (PARTS + 1) * (size_t)tensor_count(&l->in[1]);
}

static bool serves(const Launch *l)
{
    return floats_fit(l) && l->in[1].size[1] <= MAX_WIDTH;
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
    Conv w = conv_of(l, l->in + 1, l->n_in - 1);
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

const KernelDef TABLE[] = {
    { "causal_conv", "cpu", "any any>any", LEVEL, conv, scratch, serves },
    { "causal_conv", "cpu", "any any i32>any", LEVEL, conv, scratch, serves },
    { "causal_conv_grad", "cpu", "any any any>any any", LEVEL, grad, grad_scratch, serves },
    { "causal_conv_grad", "cpu", "any any i32 any>any any", LEVEL, grad, grad_scratch, serves },
    { "causal_conv_cached", "cpu", "any any any>any any", LEVEL, cached, cached_scratch,
      serves_cached },
    { 0 },
};
