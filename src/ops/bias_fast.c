/* bias_fast.c - adds a vector to every row; its gradient, the sum of all rows. */
#include "ops/column_sums.h"
#include "ops/kernels.h"

typedef struct Rows {
    const Launch *l;
    int64_t n, width;
} Rows;

static void add_bias_task(void *arg, int64_t i, int thread)
{
    (void)thread;
    const Rows *w = arg;
    const Tensor *x = &w->l->in[0], *bias = &w->l->in[1], *out = &w->l->out[0];
    Range r = chunk(w->n, chunk_rows(w->width), i);
    for (int64_t row = r.from; row < r.to; row++)
        for (int64_t j = 0; j < w->width; j += LANES) {
            int64_t n = w->width - j < LANES ? w->width - j : LANES, at = row * w->width + j;
            Vec v = vec_get(x->dtype, x->data, at, n) + vec_get(bias->dtype, bias->data, j, n);
            vec_put(out->dtype, out->data, at, n, v);
        }
}

static int add_bias(const Launch *l)
{
    int64_t width = l->in[1].size[0];
    Rows w = { l, width ? tensor_count(&l->in[0]) / width : 0, width };
    pool_run(l->stream->pool, chunk_count(w.n, chunk_rows(width)), add_bias_task, &w);
    return KERNEL_OK;
}

/* Sums of one block of rows, a few columns at a time so that they stay in registers. */
static void add_bias_grad_task(void *arg, int64_t i, int thread)
{
    (void)thread;
    enum { COLUMNS = 4 * LANES };
    const Rows *w = arg;
    const Tensor *x = &w->l->in[0];
    float *sums = (float *)w->l->scratch + i * sum_stride(w->width);
    Range r = chunk(w->n, sum_block_rows(w->n), i);
    for (int64_t j = 0; j < w->width; j += COLUMNS) {
        Vec sum[4] = { { 0 } };
        int64_t n = w->width - j;
        for (int64_t row = r.from; row < r.to; row++)
            for (int q = 0; q < 4; q++) {
                int64_t left = n - q * LANES;
                if (left <= 0) break;
                sum[q] += vec_get(x->dtype, x->data, row * w->width + j + q * LANES,
                                  left < LANES ? left : LANES);
            }
        for (int q = 0; q < 4 && n > q * LANES; q++) vec_store(sums + j + q * LANES, sum[q]);
    }
}

static int add_bias_grad(const Launch *l)
{
    int64_t width = l->out[0].size[0];
    Rows w = { l, width ? tensor_count(&l->in[0]) / width : 0, width };
    pool_run(l->stream->pool, sum_blocks(w.n), add_bias_grad_task, &w);
    sum_total(l, 0, l->scratch, w.n, width);
    return KERNEL_OK;
}

static size_t grad_scratch(const Launch *l, int n_threads)
{
    (void)n_threads;
    int64_t width = l->out[0].size[0];
    return sum_scratch(width ? tensor_count(&l->in[0]) / width : 0, width);
}

const KernelDef TABLE[] = {
    { "add_bias", "cpu", "any any>any", LEVEL, add_bias, NULL, floats_fit },
    { "add_bias_grad", "cpu", "any>any", LEVEL, add_bias_grad, grad_scratch, floats_fit },
    { 0 },
};
