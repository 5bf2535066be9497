/* dropout_fast.c - zeroes elements at random; the mask is computed, never stored. */
#include "ops/dropout.h"
#include "ops/dropout_mask.h"
#include "ops/kernels.h"
#include "ops/vector/chunks.h"

/* Elements whose factors are made at a time. */
enum { FACTORS = 256 };

typedef struct Mask {
    const Launch *l;
    int64_t n, run; /* elements; how many of them in a row are numbered in a row */
    int64_t before; /* elements of the whole in earlier microbatches */
    int64_t per_sample;
    uint64_t key;
} Mask;

/* Elements that lie in one piece in the whole tensor: all dimensions after the last split one. */
static int64_t run_length(const Tensor *x)
{
    int d = x->n_dims;
    while (d > 0 && !x->part[d - 1]) d--;
    return d == 0 ? tensor_count(x) : tensor_volume(x, d, x->n_dims);
}

static void mask_task(void *arg, int64_t i, int thread)
{
    (void)thread;
    const Mask *m = arg;
    const Tensor *x = &m->l->in[0], *y = &m->l->out[0];
    double p = ((const Dropout *)m->l->attrs)->p;
    float factor[FACTORS + LANES];
    Range r = chunk(m->n, CHUNK, i);
    for (int64_t at = r.from, next; at < r.to; at = next) {
        next = (at / m->run + 1) * m->run;
        if (next > at + FACTORS) next = at + FACTORS;
        if (next > r.to) next = r.to;
        const int64_t element = m->before + global_element(x, at);
        dropout_factors(m->key, dropout_number(m->l->now, element, m->per_sample), next - at, p,
                        factor);
        for (int64_t j = at; j < next; j += LANES) {
            int64_t n = next - j < LANES ? next - j : LANES;
            Vec v = vec_get(x->dtype, x->data, j, n) * vec_load(factor + (j - at));
            vec_put(y->dtype, y->data, j, n, v);
        }
    }
}

static int drop(const Launch *l)
{
    const Tensor *x = &l->in[0];
    int64_t whole = 1;
    for (int d = 0; d < x->n_dims; d++) whole *= global_size(x, d);
    Mask m = { .l = l, .n = tensor_count(x), .run = run_length(x) };
    m.before = l->now->microbatch * whole;
    m.per_sample = x->n_dims ? whole / global_size(x, 0) : 1;
    if (l->now->n_replicas > 1 && m.run > m.per_sample) m.run = m.per_sample;
    m.key = dropout_key(l->now, ((const Dropout *)l->attrs)->salt);
    pool_run(l->stream->pool, chunk_count(m.n, CHUNK), mask_task, &m);
    return KERNEL_OK;
}

const KernelDef TABLE[] = {
    { "dropout", "cpu", "any>any", LEVEL, drop, NULL, floats_fit },
    { 0 },
};
