/* repeat_heads_fast.c - heads several times over, and the sums of their gradients. */
#include "ops/kernels.h"
#include "ops/repeat_heads.h"
#include "ops/vector/chunks.h"

enum { TOKENS = 16 }; /* of a task */

typedef struct Heads {
    const Launch *l;
    const Tensor *few, *many; /* [b s g d], [b s h d] */
    int64_t n;                /* tokens */
} Heads;

static void copy_task(void *arg, int64_t task, int thread)
{
    (void)thread;
    const Heads *w = arg;
    const int64_t g = w->few->size[2], h = w->many->size[2];
    const size_t bytes = (size_t)w->few->size[3] * dtype_size(w->few->dtype);
    const Range r = chunk(w->n, TOKENS, task);
    const char *from = (const char *)w->few->data;
    char *to = (char *)w->many->data + (size_t)(r.from * h) * bytes;
    for (int64_t t = r.from; t < r.to; t++)
        for (int64_t j = 0; j < h; j++, to += bytes)
            memcpy(to, from + (size_t)(t * g + repeated_head(w->few, w->many, j)) * bytes, bytes);
}

static int run_repeat(const Launch *l)
{
    Heads w = { l, &l->in[0], &l->out[0], l->in[0].size[0] * l->in[0].size[1] };
    pool_run(l->stream->pool, chunk_count(w.n, TOKENS), copy_task, &w);
    return KERNEL_OK;
}

/* Of one token: `head` from the heads [from, to) that repeat it. */
INLINE void sum_heads(const Heads *w, int64_t token, int64_t head, int64_t from, int64_t to)
{
    const int64_t d = w->few->size[3], first = token * w->many->size[2];
    for (int64_t i = 0; i < d; i += LANES) {
        const int64_t n = d - i < LANES ? d - i : LANES;
        Vec sum = vec_set(0);
        for (int64_t j = from; j < to; j++)
            sum += vec_get(w->many->dtype, w->many->data, (first + j) * d + i, n);
        vec_put(w->few->dtype, w->few->data, (token * w->few->size[2] + head) * d + i, n, sum);
    }
}

static void sum_task(void *arg, int64_t task, int thread)
{
    (void)thread;
    const Heads *w = arg;
    const int64_t h = w->many->size[2];
    const Range r = chunk(w->n, TOKENS, task);
    for (int64_t t = r.from; t < r.to; t++)
        for (int64_t k = 0, from = 0, to; k < w->few->size[2]; k++, from = to) {
            to = from;
            while (to < h && repeated_head(w->few, w->many, to) == k) to++;
            sum_heads(w, t, k, from, to);
        }
}

static int run_grad(const Launch *l)
{
    Heads w = { l, &l->out[0], &l->in[0], l->in[0].size[0] * l->in[0].size[1] };
    pool_run(l->stream->pool, chunk_count(w.n, TOKENS), sum_task, &w);
    return KERNEL_OK;
}

static bool same_types(const Launch *l)
{
    return l->in[0].dtype == l->out[0].dtype;
}

const KernelDef TABLE[] = {
    { "repeat_heads", "cpu", "any>any", LEVEL, run_repeat, NULL, same_types },
    { "repeat_heads_grad", "cpu", "any>any", LEVEL, run_grad, NULL, floats_fit },
    { 0 },
};
