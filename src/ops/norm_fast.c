/* norm_fast.c - RMS and layer normalisation of rows, and their gradients.
 *
 * A row is read a few times, but from memory only once: it stays in the first level cache. The
 * gradient computes mean and deviation again rather than reading them. */
#include "ops/column_sums.h"
#include "ops/kernels.h"
#include "ops/norm.h"
#include "ops/vector/chunks.h"
#include <math.h>

typedef struct Rows {
    const Launch *l;
    int64_t n, width;
    bool centered; /* layer norm */
    double eps;
    const Tensor *weight, *bias; /* NULL: none */
} Rows;

static Rows rows_of(const Launch *l, bool centered, bool forward)
{
    const NormAttrs *a = l->attrs;
    int64_t width = l->in[0].size[l->in[0].n_dims - 1];
    return (Rows){
        .l = l,
        .n = width ? tensor_count(&l->in[0]) / width : 0,
        .width = width,
        .centered = centered,
        .eps = a->eps,
        .weight = a->weight ? &l->in[1] : NULL,
        .bias = forward && a->bias ? &l->in[1 + a->weight] : NULL,
    };
}

INLINE int64_t lanes_left(int64_t width, int64_t j)
{
    return width - j < LANES ? width - j : LANES;
}

INLINE Vec get(const Tensor *t, int64_t i, int64_t n)
{
    return vec_get(t->dtype, t->data, i, n);
}

/* What a row is shifted and multiplied by. */
typedef struct Moments {
    Vec mean, factor;
} Moments;

INLINE Moments moments_of(const Rows *w, int64_t at)
{
    const Tensor *x = &w->l->in[0];
    Vec sum = vec_set(0), square = vec_set(0), mean = vec_set(0);
    if (w->centered) {
        for (int64_t j = 0; j < w->width; j += LANES)
            sum += get(x, at + j, lanes_left(w->width, j));
        mean = vec_set(vec_sum(sum) / (float)w->width);
    }
    for (int64_t j = 0; j < w->width; j += LANES) {
        int64_t n = lanes_left(w->width, j);
        Vec v = get(x, at + j, n);
        if (w->centered) v = vec_keep_first(v - mean, n);
        square = vec_fma(v, v, square);
    }
    double variance = (double)vec_sum(square) / (double)w->width;
    return (Moments){ mean, vec_set((float)(1 / sqrt(variance + w->eps))) };
}

static void forward_task(void *arg, int64_t i, int thread)
{
    (void)thread;
    const Rows *w = arg;
    const Tensor *x = &w->l->in[0], *y = &w->l->out[0];
    Range r = chunk(w->n, chunk_rows(w->width), i);
    for (int64_t at = r.from * w->width; at < r.to * w->width; at += w->width) {
        Moments m = moments_of(w, at);
        for (int64_t j = 0; j < w->width; j += LANES) {
            int64_t n = lanes_left(w->width, j);
            Vec v = (get(x, at + j, n) - m.mean) * m.factor;
            if (w->weight) v *= get(w->weight, j, n);
            if (w->bias) v += get(w->bias, j, n);
            vec_put(y->dtype, y->data, at + j, n, v);
        }
    }
}

static int forward(const Launch *l, bool centered)
{
    Rows w = rows_of(l, centered, true);
    pool_run(l->stream->pool, chunk_count(w.n, chunk_rows(w.width)), forward_task, &w);
    return KERNEL_OK;
}

/* With h = (x - mean) * factor and e = dy * weight, over one row:
 * dx = factor * (e - h * mean(e h) - mean(e)), the last term for a centered norm only; dweight gets
 * dy h, dbias dy. */
INLINE void backward_row(const Rows *w, int64_t at, float *dweight, float *dbias)
{
    const Tensor *x = &w->l->in[0], *dy = &w->l->in[w->weight ? 2 : 1], *dx = &w->l->out[0];
    Moments m = moments_of(w, at);
    Vec sum_e = vec_set(0), sum_eh = vec_set(0);
    for (int64_t j = 0; j < w->width; j += LANES) {
        int64_t n = lanes_left(w->width, j);
        Vec g = get(dy, at + j, n), h = (get(x, at + j, n) - m.mean) * m.factor;
        Vec e = w->weight ? g * get(w->weight, j, n) : g; /* 0 beyond the row, as g is */
        sum_e += e;
        sum_eh = vec_fma(e, h, sum_eh);
        if (dweight) vec_store(dweight + j, vec_fma(g, h, vec_load(dweight + j)));
        if (dbias) vec_store(dbias + j, g + vec_load(dbias + j));
    }
    Vec mean_eh = vec_set(vec_sum(sum_eh) / (float)w->width);
    Vec mean_e = vec_set(w->centered ? vec_sum(sum_e) / (float)w->width : 0);
    for (int64_t j = 0; j < w->width; j += LANES) {
        int64_t n = lanes_left(w->width, j);
        Vec e = get(dy, at + j, n), h = (get(x, at + j, n) - m.mean) * m.factor;
        if (w->weight) e *= get(w->weight, j, n);
        Vec v = m.factor * (vec_fnma(h, mean_eh, e) - mean_e);
        vec_put(dx->dtype, dx->data, at + j, n, v + vec_before(w->l, 0, at + j, n));
    }
}

/* Scratch: the sums for dweight, then those for dbias. */
static float *sums_of(const Rows *w, bool for_bias)
{
    int64_t one = sum_blocks(w->n) * sum_stride(w->width);
    return (float *)w->l->scratch + (for_bias && w->weight ? one : 0);
}

static void backward_task(void *arg, int64_t i, int thread)
{
    (void)thread;
    const Rows *w = arg;
    int64_t stride = sum_stride(w->width);
    bool has_bias = ((const NormAttrs *)w->l->attrs)->bias;
    float *dweight = w->weight ? sums_of(w, false) + i * stride : NULL;
    float *dbias = has_bias ? sums_of(w, true) + i * stride : NULL;
    if (dweight) memset(dweight, 0, sizeof(float) * (size_t)stride);
    if (dbias) memset(dbias, 0, sizeof(float) * (size_t)stride);
    Range r = chunk(w->n, sum_block_rows(w->n), i);
    for (int64_t row = r.from; row < r.to; row++) backward_row(w, row * w->width, dweight, dbias);
}

static int backward(const Launch *l, bool centered)
{
    Rows w = rows_of(l, centered, false);
    pool_run(l->stream->pool, sum_blocks(w.n), backward_task, &w);
    int result = 1;
    if (w.weight) sum_total(l, result++, sums_of(&w, false), w.n, w.width);
    if (((const NormAttrs *)l->attrs)->bias) sum_total(l, result, sums_of(&w, true), w.n, w.width);
    return KERNEL_OK;
}

static int run_rms_norm(const Launch *l)
{
    return forward(l, false);
}

static int run_rms_norm_grad(const Launch *l)
{
    return backward(l, false);
}

static int run_layer_norm(const Launch *l)
{
    return forward(l, true);
}

static int run_layer_norm_grad(const Launch *l)
{
    return backward(l, true);
}

static size_t backward_scratch(const Launch *l, int n_threads)
{
    (void)n_threads;
    const NormAttrs *a = l->attrs;
    Rows w = rows_of(l, true, false);
    return (size_t)(a->weight + a->bias) * sum_scratch(w.n, w.width);
}

/* clang-format off */
const KernelDef TABLE[] = {
    { "rms_norm", "cpu", "any>any", LEVEL, run_rms_norm, NULL, floats_fit },
    { "rms_norm", "cpu", "any any>any", LEVEL, run_rms_norm, NULL, floats_fit },
    { "rms_norm", "cpu", "any any any>any", LEVEL, run_rms_norm, NULL, floats_fit },
    { "rms_norm_grad", "cpu", "any any>any", LEVEL, run_rms_norm_grad, backward_scratch, floats_fit },
    { "rms_norm_grad", "cpu", "any any any>any any", LEVEL, run_rms_norm_grad, backward_scratch, floats_fit },
    { "rms_norm_grad", "cpu", "any any any>any any any", LEVEL, run_rms_norm_grad, backward_scratch, floats_fit },
    { "layer_norm", "cpu", "any>any", LEVEL, run_layer_norm, NULL, floats_fit },
    { "layer_norm", "cpu", "any any>any", LEVEL, run_layer_norm, NULL, floats_fit },
    { "layer_norm", "cpu", "any any any>any", LEVEL, run_layer_norm, NULL, floats_fit },
    { "layer_norm_grad", "cpu", "any any>any", LEVEL, run_layer_norm_grad, backward_scratch, floats_fit },
    { "layer_norm_grad", "cpu", "any any>any any", LEVEL, run_layer_norm_grad, backward_scratch, floats_fit },
    { "layer_norm_grad", "cpu", "any any any>any any", LEVEL, run_layer_norm_grad, backward_scratch, floats_fit },
    { "layer_norm_grad", "cpu", "any any any>any any any", LEVEL, run_layer_norm_grad, backward_scratch, floats_fit },
    { 0 },
};
/* clang-format on */
