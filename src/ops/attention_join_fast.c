/* attention_join_fast.c - attention to keys of two kinds by one softmax. */
#include "ops/kernels.h"
#include "ops/vector/chunks.h"
#include <math.h>

typedef struct Rows {
    const Launch *l;
    int64_t n, width;
} Rows;

static double number_at(const Tensor *t, int64_t i)
{
    return vec_get(t->dtype, t->data, i, 1)[0];
}

static void task(void *arg, int64_t i, int thread)
{
    (void)thread;
    const Rows *w = arg;
    const Tensor *x = &w->l->in[0], *y = &w->l->in[2], *o = &w->l->out[0];
    const Range r = chunk(w->n, chunk_rows(w->width), i);
    for (int64_t row = r.from; row < r.to; row++) {
        const double of_x = number_at(&w->l->in[1], row), of_y = number_at(&w->l->in[3], row),
                     top = of_x > of_y ? of_x : of_y;
        const bool any = top > -INFINITY;
        const double lse = any ? top + log1p(exp(-fabs(of_x - of_y))) : top;
        const Vec a = vec_set(any ? (float)exp(of_x - lse) : 0),
                  b = vec_set(any ? (float)exp(of_y - lse) : 0);
        vec_put(F32, w->l->out[1].data, row, 1, vec_set((float)lse));
        for (int64_t j = 0; j < w->width; j += LANES) {
            const int64_t n = w->width - j < LANES ? w->width - j : LANES, at = row * w->width + j;
            vec_put(o->dtype, o->data, at, n,
                    vec_fma(a, vec_get(x->dtype, x->data, at, n),
                            b * vec_get(y->dtype, y->data, at, n)));
        }
    }
}

static int run(const Launch *l)
{
    Rows w = { l, tensor_count(&l->in[1]), l->in[0].size[4] };
    pool_run(l->stream->pool, chunk_count(w.n, chunk_rows(w.width)), task, &w);
    return KERNEL_OK;
}

const KernelDef TABLE[] = {
    { "attention_join", "cpu", "any f32 any f32>any f32", LEVEL, run, NULL, floats_fit },
    { 0 },
};
