/* moe_fast.c - rows of tokens to their experts and back, in one pass over memory. */
#include "ops/kernels.h"
#include "ops/vector/chunks.h"
#include <string.h>

enum { ROWS = 32 }; /* of a task */

/* A launch whose tokens [n d] have k rows each. */
typedef struct Tokens {
    const Launch *l;
    const int32_t *row; /* [n k], -1: the pair was dropped; of identities the expert instead */
    int64_t n, k, d;
} Tokens;

static Tokens tokens_of(const Launch *l, const Tensor *row, const Tensor *wide)
{
    const int64_t k = row->size[2];
    return (Tokens){ l, row->data, k ? tensor_count(row) / k : 0, k, wide->size[wide->n_dims - 1] };
}

static void run_tokens(const Tokens *t, void (*task)(void *arg, int64_t i, int thread))
{
    pool_run(t->l->stream->pool, chunk_count(t->n, ROWS), task, (void *)t);
}

INLINE int64_t at_most(int64_t n)
{
    return n < LANES ? n : LANES;
}

INLINE float number_at(const Tensor *t, int64_t i)
{
    return vec_sum(vec_get(t->dtype, t->data, i, 1));
}

/* ---- from tokens to rows ---- */

static void gather_task(void *arg, int64_t i, int thread)
{
    (void)thread;
    const Launch *l = arg;
    const Tensor *x = &l->in[0], *y = &l->out[0];
    const int32_t *pair = l->in[1].data;
    const int64_t d = y->size[1], k = l->in[2].size[2];
    const Range r = chunk(y->size[0], ROWS, i);
    for (int64_t m = r.from; m < r.to; m++)
        for (int64_t j = 0; j < d; j += LANES) {
            const int64_t n = at_most(d - j), from = pair[m] < 0 ? 0 : pair[m] / k * d;
            vec_put(y->dtype, y->data, m * d + j, n,
                    pair[m] < 0 ? vec_set(0) : vec_get(x->dtype, x->data, from + j, n));
        }
}

static int run_gather(const Launch *l)
{
    pool_run(l->stream->pool, chunk_count(l->out[0].size[0], ROWS), gather_task, (void *)l);
    return KERNEL_OK;
}

static void grad_rows_task(void *arg, int64_t i, int thread)
{
    (void)thread;
    const Tokens *t = arg;
    const Tensor *dy = &t->l->in[0], *dx = &t->l->out[0];
    const Range r = chunk(t->n, ROWS, i);
    for (int64_t c = r.from * t->k; c < r.to * t->k; c++) {
        if (t->row[c] < 0) continue;
        const Vec weight = vec_set(number_at(&t->l->in[1], c));
        for (int64_t j = 0; j < t->d; j += LANES) {
            const int64_t n = at_most(t->d - j);
            vec_put(dx->dtype, dx->data, t->row[c] * t->d + j, n,
                    vec_get(dy->dtype, dy->data, c / t->k * t->d + j, n) * weight);
        }
    }
}

/* Rows that no pair has are 0. */
static int run_grad_rows(const Launch *l)
{
    const Tokens t = tokens_of(l, &l->in[2], &l->in[0]);
    int64_t n_rows = 0;
    for (int64_t c = 0; c < t.n * t.k; c++) n_rows += t.row[c] >= 0;
    if (n_rows < l->out[0].size[0]) memset(l->out[0].data, 0, tensor_bytes(&l->out[0]));
    run_tokens(&t, grad_rows_task);
    return KERNEL_OK;
}

/* ---- from rows to tokens ---- */

/* The sum of a token's rows, by their weights where there are any. */
INLINE void sum_rows(const Tokens *t, const Tensor *weight, int64_t i)
{
    const Tensor *x = &t->l->in[0], *y = &t->l->out[0];
    const Range r = chunk(t->n, ROWS, i);
    for (int64_t token = r.from; token < r.to; token++)
        for (int64_t j = 0; j < t->d; j += LANES) {
            const int64_t n = at_most(t->d - j);
            Vec sum = vec_set(0);
            for (int64_t c = token * t->k; c < (token + 1) * t->k; c++) {
                if (t->row[c] < 0) continue;
                const Vec v = vec_get(x->dtype, x->data, t->row[c] * t->d + j, n);
                sum = weight ? vec_fma(vec_set(number_at(weight, c)), v, sum) : sum + v;
            }
            vec_put(y->dtype, y->data, token * t->d + j, n, sum);
        }
}

static void scatter_task(void *arg, int64_t i, int thread)
{
    (void)thread;
    sum_rows(arg, NULL, i);
}

static void combine_task(void *arg, int64_t i, int thread)
{
    (void)thread;
    const Tokens *t = arg;
    sum_rows(t, &t->l->in[1], i);
}

static int run_scatter(const Launch *l)
{
    const Tokens t = tokens_of(l, &l->in[1], &l->in[0]);
    run_tokens(&t, scatter_task);
    return KERNEL_OK;
}

static int run_combine(const Launch *l)
{
    const Tokens t = tokens_of(l, &l->in[2], &l->in[0]);
    run_tokens(&t, combine_task);
    return KERNEL_OK;
}

static void grad_weight_task(void *arg, int64_t i, int thread)
{
    (void)thread;
    const Tokens *t = arg;
    const Tensor *x = &t->l->in[0], *dy = &t->l->in[1], *dweight = &t->l->out[0];
    const Range r = chunk(t->n, ROWS, i);
    for (int64_t c = r.from * t->k; c < r.to * t->k; c++) {
        Vec sum = vec_set(0);
        for (int64_t j = 0; t->row[c] >= 0 && j < t->d; j += LANES) {
            const int64_t n = at_most(t->d - j);
            sum = vec_fma(vec_get(dy->dtype, dy->data, c / t->k * t->d + j, n),
                          vec_get(x->dtype, x->data, t->row[c] * t->d + j, n), sum);
        }
        vec_put(dweight->dtype, dweight->data, c, 1, vec_set(vec_sum(sum)));
    }
}

static int run_grad_weight(const Launch *l)
{
    const Tokens t = tokens_of(l, &l->in[2], &l->in[0]);
    run_tokens(&t, grad_weight_task);
    return KERNEL_OK;
}

/* ---- experts that give tokens back as they are ---- */

INLINE int64_t first_identity(const Launch *l)
{
    return *(const int64_t *)l->attrs;
}

static void identity_task(void *arg, int64_t i, int thread)
{
    (void)thread;
    const Tokens *t = arg;
    const Tensor *x = &t->l->in[0], *weight = &t->l->in[1], *y = &t->l->out[0];
    const int64_t first = first_identity(t->l);
    const Range r = chunk(t->n, ROWS, i);
    for (int64_t token = r.from; token < r.to; token++) {
        float sum = 0;
        for (int64_t c = token * t->k; c < (token + 1) * t->k; c++)
            if (t->row[c] >= first) sum += number_at(weight, c);
        for (int64_t j = 0; j < t->d; j += LANES) {
            const int64_t n = at_most(t->d - j), at = token * t->d + j;
            vec_put(y->dtype, y->data, at, n, vec_get(x->dtype, x->data, at, n) * vec_set(sum));
        }
    }
}

static void identity_grad_task(void *arg, int64_t i, int thread)
{
    (void)thread;
    const Tokens *t = arg;
    const Tensor *x = &t->l->in[0], *dy = &t->l->in[1], *dweight = &t->l->out[0];
    const int64_t first = first_identity(t->l);
    const Range r = chunk(t->n, ROWS, i);
    for (int64_t token = r.from; token < r.to; token++) {
        Vec sum = vec_set(0);
        for (int64_t j = 0; j < t->d; j += LANES) {
            const int64_t n = at_most(t->d - j), at = token * t->d + j;
            sum = vec_fma(vec_get(dy->dtype, dy->data, at, n), vec_get(x->dtype, x->data, at, n),
                          sum);
        }
        for (int64_t c = token * t->k; c < (token + 1) * t->k; c++)
            vec_put(dweight->dtype, dweight->data, c, 1,
                    vec_set(t->row[c] >= first ? vec_sum(sum) : 0));
    }
}

static int run_identity(const Launch *l)
{
    const Tokens t = tokens_of(l, &l->in[2], &l->in[0]);
    run_tokens(&t, identity_task);
    return KERNEL_OK;
}

static int run_identity_grad(const Launch *l)
{
    const Tokens t = tokens_of(l, &l->in[2], &l->in[0]);
    run_tokens(&t, identity_grad_task);
    return KERNEL_OK;
}

/* ---- biases of experts ---- */

static void bias_task(void *arg, int64_t i, int thread)
{
    (void)thread;
    const Launch *l = arg;
    const Tensor *x = &l->in[0], *bias = &l->in[1], *y = &l->out[0];
    const int32_t *of = l->in[2].data;
    const int64_t d = y->size[2];
    const Range r = chunk(tensor_count(&l->in[2]), ROWS, i);
    for (int64_t row = r.from; row < r.to; row++)
        for (int64_t j = 0; j < d; j += LANES) {
            const int64_t n = at_most(d - j);
            Vec v = vec_get(x->dtype, x->data, row * d + j, n);
            if (of[row] >= 0) v += vec_get(bias->dtype, bias->data, of[row] * d + j, n);
            vec_put(y->dtype, y->data, row * d + j, n, v);
        }
}

/* Columns: rows are sorted by expert, so that each expert's sum is made in one piece. */
static void bias_grad_task(void *arg, int64_t i, int thread)
{
    (void)thread;
    const Launch *l = arg;
    const Tensor *dy = &l->in[0], *to = &l->out[0];
    const int32_t *of = l->in[1].data;
    const int64_t d = to->size[1], n_rows = tensor_count(&l->in[1]), j = i * LANES,
                  n = at_most(d - j);
    int64_t row = 0;
    for (int32_t expert = 0; expert < to->size[0]; expert++) {
        Vec sum = vec_set(0);
        for (; row < n_rows && of[row] == expert; row++)
            sum += vec_get(dy->dtype, dy->data, row * d + j, n);
        vec_put(to->dtype, to->data, expert * d + j, n, sum);
    }
}

static int run_bias(const Launch *l)
{
    const int32_t *of = l->in[2].data;
    const int64_t n = tensor_count(&l->in[2]);
    for (int64_t i = 0; i < n; i++)
        if (of[i] >= l->in[1].size[0]) return KERNEL_BAD_INDEX;
    pool_run(l->stream->pool, chunk_count(n, ROWS), bias_task, (void *)l);
    return KERNEL_OK;
}

static int run_bias_grad(const Launch *l)
{
    pool_run(l->stream->pool, chunk_count(l->out[0].size[1], LANES), bias_grad_task, (void *)l);
    return KERNEL_OK;
}

const KernelDef TABLE[] = {
    { "moe_gather", "cpu", "any i32 i32>any", LEVEL, run_gather, NULL, floats_fit },
    { "moe_scatter", "cpu", "any i32>any", LEVEL, run_scatter, NULL, floats_fit },
    { "moe_combine", "cpu", "any any i32>any", LEVEL, run_combine, NULL, floats_fit },
    { "moe_gather_weighted", "cpu", "any any i32>any", LEVEL, run_grad_rows, NULL, floats_fit },
    { "moe_combine_grad_weight", "cpu", "any any i32>any", LEVEL, run_grad_weight, NULL,
      floats_fit },
    { "moe_identity", "cpu", "any any i32>any", LEVEL, run_identity, NULL, floats_fit },
    { "moe_identity_grad_weight", "cpu", "any any i32>any", LEVEL, run_identity_grad, NULL,
      floats_fit },
    { "grouped_bias", "cpu", "any any i32>any", LEVEL, run_bias, NULL, floats_fit },
    { "grouped_bias_grad", "cpu", "any i32>any", LEVEL, run_bias_grad, NULL, floats_fit },
    { 0 },
};
