/* gaussian_top_k_fast.c - max(0, x - mean - z deviation) over rows, and its gradient. A row is read
 * a few times, but from memory only once. */
#include "ops/gaussian_top_k.h"
#include "ops/kernels.h"
#include "ops/vector/rows.h"
#include <math.h>

/* What is taken from each element of a row. */
typedef struct Bound {
    double z, mean, deviation;
    Vec bound;
} Bound;

INLINE Bound bound_of(const Rows *w, int64_t at)
{
    const Tensor *x = &w->l->in[0];
    Vec sum = vec_set(0), square = vec_set(0);
    for (int64_t j = 0; j < w->width; j += LANES)
        sum += vec_get(x->dtype, x->data, at + j, w->width - j);
    const double mean = (double)vec_sum(sum) / (double)w->width;
    for (int64_t j = 0; j < w->width; j += LANES) {
        const Vec v = vec_get(x->dtype, x->data, at + j, w->width - j) - vec_set((float)mean),
                  own = vec_keep_first(v, w->width - j);
        square = vec_fma(own, own, square);
    }
    const double z = ((const GaussianTopK *)w->l->attrs)->z,
                 deviation = sqrt((double)vec_sum(square) / (double)w->width);
    return (Bound){ z, mean, deviation, vec_set((float)(mean + z * deviation)) };
}

static void forward_task(void *arg, int64_t i, int thread)
{
    (void)thread;
    const Rows *w = arg;
    const Tensor *x = &w->l->in[0], *y = &w->l->out[0];
    const Range r = elements_of_task(w, i);
    for (int64_t at = r.from; at < r.to; at += w->width) {
        const Bound b = bound_of(w, at);
        for (int64_t j = 0; j < w->width; j += LANES) {
            const int64_t n = w->width - j < LANES ? w->width - j : LANES;
            const Vec v = vec_get(x->dtype, x->data, at + j, n);
            vec_put(y->dtype, y->data, at + j, n,
                    vec_select(v <= b.bound, vec_set(0), v - b.bound));
        }
    }
}

static void grad_task(void *arg, int64_t i, int thread)
{
    (void)thread;
    const Rows *w = arg;
    const Tensor *x = &w->l->in[0], *dy = &w->l->in[1], *dx = &w->l->out[0];
    const Range r = elements_of_task(w, i);
    for (int64_t at = r.from; at < r.to; at += w->width) {
        const Bound b = bound_of(w, at);
        Vec sum = vec_set(0);
        for (int64_t j = 0; j < w->width; j += LANES) /* lanes beyond have no gradient */
            sum += vec_keep(vec_get(x->dtype, x->data, at + j, w->width - j) > b.bound,
                            vec_get(dy->dtype, dy->data, at + j, w->width - j));
        const double share = (double)vec_sum(sum) / (double)w->width,
                     slope = b.deviation > 0 ? share * b.z / b.deviation : 0;
        for (int64_t j = 0; j < w->width; j += LANES) {
            const int64_t n = w->width - j < LANES ? w->width - j : LANES;
            const Vec v = vec_get(x->dtype, x->data, at + j, n),
                      own = vec_keep(v > b.bound, vec_get(dy->dtype, dy->data, at + j, n)),
                      moved = vec_fma(v - vec_set((float)b.mean), vec_set((float)slope),
                                      vec_set((float)share));
            vec_put(dx->dtype, dx->data, at + j, n, own - moved);
        }
    }
}

static int run_forward(const Launch *l)
{
    return run_rows(l, forward_task);
}

static int run_grad(const Launch *l)
{
    return run_rows(l, grad_task);
}

const KernelDef TABLE[] = {
    { "gaussian_top_k", "cpu", "any>any", LEVEL, run_forward, NULL, floats_fit },
    { "gaussian_top_k_grad", "cpu", "any any>any", LEVEL, run_grad, NULL, floats_fit },
    { 0 },
};
