/* xielu_fast.c - x squared above 0, an exponential below, each by a learned factor. */
#include "ops/kernels.h"
#include "ops/vector/chunks.h"
#include "ops/vector/vector_math.h"
#include "ops/xielu.h"

typedef struct Elements {
    const Launch *l;
    int64_t n;
    float p, n_factor;
    double *sum; /* scratch: two of each task */
} Elements;

static double number_of(const Tensor *t)
{
    return vec_get(t->dtype, t->data, 0, 1)[0];
}

static double softplus(double x)
{
    return x > 30 ? x : log1p(exp(x));
}

static Elements elements_of(const Launch *l)
{
    return (Elements){ .l = l,
                       .n = tensor_count(&l->in[0]),
                       .p = (float)softplus(number_of(&l->in[1])),
                       .n_factor = (float)(XIELU_BETA + softplus(number_of(&l->in[2]))),
                       .sum = l->scratch };
}

/* e^x - 1 for x <= 0: near 0 the difference has no digits left, but the series has. */
INLINE Vec exponential_less_one(Vec x)
{
    const Vec near =
        x * vec_fma(x, vec_fma(x, vec_fma(x, vec_set(1.0f / 24), vec_set(1.0f / 6)), vec_set(0.5f)),
                    vec_set(1));
    const Vec far = vec_exp(x) - vec_set(1);
    const VecInt is_near = x > vec_set(-0.05f);
    return vec_keep(is_near, near) + vec_keep(~is_near, far);
}

INLINE Vec curve(Vec x)
{
    return exponential_less_one(vec_min(vec_set((float)XIELU_EPS), x)) - x;
}

static void xielu_task(void *arg, int64_t i, int thread)
{
    (void)thread;
    const Elements *w = arg;
    const Tensor *x = &w->l->in[0], *y = &w->l->out[0];
    const Range r = chunk(w->n, CHUNK, i);
    for (int64_t j = r.from; j < r.to; j += LANES) {
        const int64_t n = r.to - j < LANES ? r.to - j : LANES;
        const Vec v = vec_get(x->dtype, x->data, j, n);
        const VecInt is_above = v > vec_set(0);
        const Vec above = v * v * vec_set(w->p), below = curve(v) * vec_set(w->n_factor);
        const Vec bent = vec_keep(is_above, above) + vec_keep(~is_above, below);
        vec_put(y->dtype, y->data, j, n, vec_fma(v, vec_set((float)XIELU_BETA), bent));
    }
}

static void grad_task(void *arg, int64_t i, int thread)
{
    (void)thread;
    const Elements *w = arg;
    const Tensor *x = &w->l->in[0], *dy = &w->l->in[3], *dx = &w->l->out[0];
    const Range r = chunk(w->n, CHUNK, i);
    Vec of_p = vec_set(0), of_n = vec_set(0);
    for (int64_t j = r.from; j < r.to; j += LANES) {
        const int64_t n = r.to - j < LANES ? r.to - j : LANES;
        const Vec v = vec_get(x->dtype, x->data, j, n), d = vec_get(dy->dtype, dy->data, j, n);
        const VecInt is_above = v > vec_set(0), is_far = v < vec_set((float)XIELU_EPS);
        const Vec above = v * vec_set(2 * w->p),
                  below = vec_keep(is_far, exponential_less_one(v)) - vec_keep(~is_far, vec_set(1));
        const Vec slope =
            vec_keep(is_above, above) + vec_keep(~is_above, below * vec_set(w->n_factor));
        vec_put(dx->dtype, dx->data, j, n, d * (slope + vec_set((float)XIELU_BETA)));
        of_p += vec_keep(is_above, d * v * v);
        of_n += vec_keep(~is_above, d * curve(v));
    }
    w->sum[2 * i] = vec_sum(of_p);
    w->sum[2 * i + 1] = vec_sum(of_n);
}

static int run_xielu(const Launch *l)
{
    Elements w = elements_of(l);
    pool_run(l->stream->pool, chunk_count(w.n, CHUNK), xielu_task, &w);
    return KERNEL_OK;
}

static int run_grad(const Launch *l)
{
    Elements w = elements_of(l);
    const int64_t n = chunk_count(w.n, CHUNK);
    pool_run(l->stream->pool, n, grad_task, &w);
    for (int k = 0; k < 2; k++) {
        double sum = 0;
        for (int64_t i = 0; i < n; i++) sum += w.sum[2 * i + k];
        const double slope = 1 / (1 + exp(-number_of(&l->in[1 + k])));
        vec_put(l->out[1 + k].dtype, l->out[1 + k].data, 0, 1, vec_set((float)(sum * slope)));
    }
    return KERNEL_OK;
}

static size_t grad_scratch(const Launch *l, int n_threads)
{
    (void)n_threads;
    return 2 * sizeof(double) * (size_t)chunk_count(tensor_count(&l->in[0]), CHUNK);
}

const KernelDef TABLE[] = {
    { "xielu", "cpu", "any any any>any", LEVEL, run_xielu, NULL, floats_fit },
    { "xielu_grad", "cpu", "any any any any>any any any", LEVEL, run_grad, grad_scratch,
      floats_fit },
    { 0 },
};
