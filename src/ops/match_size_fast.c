/* match_size_fast.c - rows made as large as other ones, and the gradients. */
#include "ops/kernels.h"
#include "ops/match_size.h"
#include "ops/vector/rows.h"
#include <math.h>

INLINE double mean_product(const Tensor *x, const Tensor *y, int64_t at, int64_t width)
{
    Vec sum = vec_set(0);
    for (int64_t j = 0; j < width; j += LANES)
        sum = vec_fma(vec_get(x->dtype, x->data, at + j, width - j),
                      vec_get(y->dtype, y->data, at + j, width - j), sum);
    return (double)vec_sum(sum) / (double)width;
}

/* to = a x + b y */
INLINE void put_sum(const Tensor *to, double a, const Tensor *x, double b, const Tensor *y,
                    int64_t at, int64_t width)
{
    for (int64_t j = 0; j < width; j += LANES) {
        const int64_t n = width - j < LANES ? width - j : LANES;
        const Vec other = vec_set((float)b) * vec_get(y->dtype, y->data, at + j, n);
        vec_put(to->dtype, to->data, at + j, n,
                vec_fma(vec_set((float)a), vec_get(x->dtype, x->data, at + j, n), other));
    }
}

static void forward_task(void *arg, int64_t i, int thread)
{
    (void)thread;
    const Rows *w = arg;
    const Tensor *x = &w->l->in[0], *like = &w->l->in[1];
    const double least = ((const MatchSize *)w->l->attrs)->least;
    const Range r = elements_of_task(w, i);
    for (int64_t at = r.from; at < r.to; at += w->width) {
        const double square = mean_product(x, x, at, w->width),
                     wanted = mean_product(like, like, at, w->width);
        const double factor = sqrt(wanted / (square < least ? least : square));
        put_sum(&w->l->out[0], factor, x, 0, x, at, w->width);
    }
}

static void grad_task(void *arg, int64_t i, int thread)
{
    (void)thread;
    const Rows *w = arg;
    const Tensor *x = &w->l->in[0], *like = &w->l->in[1], *dy = &w->l->in[2];
    const double least = ((const MatchSize *)w->l->attrs)->least;
    const Range r = elements_of_task(w, i);
    for (int64_t at = r.from; at < r.to; at += w->width) {
        const double square = mean_product(x, x, at, w->width),
                     wanted = sqrt(mean_product(like, like, at, w->width)),
                     both = mean_product(dy, x, at, w->width),
                     size = sqrt(square < least ? least : square),
                     own = square < least ? 0 : both * wanted / (size * size * size),
                     other = wanted > 0 ? both / (wanted * size) : 0;
        put_sum(&w->l->out[0], wanted / size, dy, -own, x, at, w->width);
        put_sum(&w->l->out[1], other, like, 0, like, at, w->width);
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
    { "match_size", "cpu", "any any>any", LEVEL, run_forward, NULL, floats_fit },
    { "match_size_grad", "cpu", "any any any>any any", LEVEL, run_grad, NULL, floats_fit },
    { 0 },
};
