/* hyper_fast.c - hyper-connections: weights of tokens, streams that are read and written by them.
 */
#include "ops/column_sums.h"
#include "ops/hyper.h"
#include "ops/hyper_sinkhorn.h"
#include "ops/kernels.h"

enum { ROWS = 16 }; /* tokens of a task */

/* Scratch of a thread: weights, their gradients and the divisors of a token; then, of gradients,
 * sums of blocks of tokens (column_sums.h): of base, and of what scales are sums of. */
typedef struct Tokens {
    const Launch *l;
    const HyperWeights *a;
    int64_t n, m, of_thread;
    double *room;
    float *sums[2];
} Tokens;

static int64_t thread_numbers(const HyperWeights *a)
{
    return (2 * hyper_width(a) + hyper_divisors(a) + 7) / 8 * 8;
}

static Tokens tokens_of(const Launch *l)
{
    const HyperWeights *a = l->attrs;
    const int64_t m = hyper_width(a), n = tensor_count(&l->in[0]) / m;
    return (Tokens){ l, a, n, m, thread_numbers(a), l->scratch, { NULL, NULL } };
}

INLINE double number_at(const Tensor *t, int64_t i)
{
    return t->dtype == F32 ? ((const float *)t->data)[i] : vec_get(t->dtype, t->data, i, 1)[0];
}

static void load_logits(const Tokens *t, int64_t row, double *y)
{
    for (int64_t i = 0; i < t->m; i++)
        y[i] =
            number_at(&t->l->in[2], hyper_part(t->a, i)) * number_at(&t->l->in[0], row * t->m + i) +
            number_at(&t->l->in[1], i);
}

static void put_number(const Tensor *t, int64_t i, double x)
{
    vec_put(t->dtype, t->data, i, 1, vec_set((float)x));
}

static void weights_task(void *arg, int64_t task, int thread)
{
    const Tokens *t = arg;
    double *y = t->room + thread * t->of_thread, *by = y + 2 * t->m;
    const Range r = chunk(t->n, ROWS, task);
    for (int64_t row = r.from; row < r.to; row++) {
        load_logits(t, row, y);
        hyper_forward(t->a, y, by);
        for (int64_t i = 0; i < t->m; i++) put_number(&t->l->out[0], row * t->m + i, y[i]);
    }
}

static int run_weights(const Launch *l)
{
    Tokens t = tokens_of(l);
    pool_run(l->stream->pool, chunk_count(t.n, ROWS), weights_task, &t);
    return KERNEL_OK;
}

static size_t room_bytes(const Launch *l, int n_threads)
{
    return sizeof(double) * (size_t)(n_threads * thread_numbers(l->attrs));
}

/* A block of rows of the column sums. */
static void weights_grad_task(void *arg, int64_t task, int thread)
{
    const Tokens *t = arg;
    const Launch *l = t->l;
    const int64_t m = t->m, stride = sum_stride(m);
    double *y = t->room + thread * t->of_thread, *dy = y + m, *by = dy + m;
    float *of_base = t->sums[0] + task * stride, *of_scale = t->sums[1] + task * stride;
    for (int64_t i = 0; i < stride; i++) of_base[i] = of_scale[i] = 0;
    const Range r = chunk(t->n, sum_block_rows(t->n), task);
    for (int64_t row = r.from; row < r.to; row++) {
        load_logits(t, row, y);
        hyper_forward(t->a, y, by);
        for (int64_t i = 0; i < m; i++) dy[i] = number_at(&l->in[3], row * m + i);
        hyper_backward(t->a, y, dy, by);
        for (int64_t i = 0; i < m; i++) {
            of_base[i] += (float)dy[i];
            of_scale[i] += (float)(dy[i] * number_at(&l->in[0], row * m + i));
            put_number(&l->out[0], row * m + i, dy[i] * number_at(&l->in[2], hyper_part(t->a, i)));
        }
    }
}

static int run_weights_grad(const Launch *l)
{
    Tokens t = tokens_of(l);
    const int64_t n_blocks = sum_blocks(t.n), stride = sum_stride(t.m);
    t.sums[0] = l->scratch;
    t.sums[1] = t.sums[0] + n_blocks * stride;
    t.room = (double *)(t.sums[1] + n_blocks * stride);
    pool_run(l->stream->pool, n_blocks, weights_grad_task, &t);
    sum_total(l, 1, t.sums[0], t.n, t.m);
    double sum[3] = { 0 };
    for (int64_t b = 0; b < n_blocks; b++)
        for (int64_t i = 0; i < t.m; i++) sum[hyper_part(t.a, i)] += t.sums[1][b * stride + i];
    for (int64_t i = 0; i < l->out[2].size[0]; i++)
        vec_put(l->out[2].dtype, l->out[2].data, i, 1,
                vec_set((float)sum[i]) + vec_before(l, 2, i, 1));
    return KERNEL_OK;
}

static size_t grad_bytes(const Launch *l, int n_threads)
{
    const int64_t m = hyper_width(l->attrs), n = tensor_count(&l->in[0]) / m;
    return 2 * sum_scratch(n, m) + room_bytes(l, n_threads);
}

/* ---- streams ---- */

typedef struct Streams {
    const Launch *l;
    int64_t n, k, d, m; /* tokens, streams, their width, weights of a token */
} Streams;

static Streams streams_of(const Launch *l, const Tensor *w)
{
    const Tensor *x = &l->in[0];
    const int64_t k = x->size[x->n_dims - 2], d = x->size[x->n_dims - 1];
    return (Streams){ l, tensor_count(x) / (k * d), k, d, w->size[w->n_dims - 1] };
}

static int run_streams(const Streams *s, void (*task)(void *arg, int64_t i, int thread))
{
    pool_run(s->l->stream->pool, chunk_count(s->n, ROWS), task, (void *)s);
    return KERNEL_OK;
}

INLINE int64_t at_most(int64_t n)
{
    return n < LANES ? n : LANES;
}

INLINE Vec elements(const Tensor *t, int64_t at, int64_t n)
{
    return vec_get(t->dtype, t->data, at, n);
}

INLINE Vec weight_at(const Tensor *w, int64_t i)
{
    return vec_set((float)number_at(w, i));
}

static void read_task(void *arg, int64_t task, int thread)
{
    (void)thread;
    const Streams *s = arg;
    const Tensor *x = &s->l->in[0], *w = &s->l->in[1], *y = &s->l->out[0];
    const Range r = chunk(s->n, ROWS, task);
    for (int64_t row = r.from; row < r.to; row++)
        for (int64_t e = 0; e < s->d; e += LANES) {
            const int64_t n = at_most(s->d - e);
            Vec sum = vec_set(0);
            for (int64_t j = 0; j < s->k; j++)
                sum = vec_fma(weight_at(w, row * s->m + j),
                              elements(x, (row * s->k + j) * s->d + e, n), sum);
            vec_put(y->dtype, y->data, row * s->d + e, n, sum);
        }
}

static void read_grad_task(void *arg, int64_t task, int thread)
{
    (void)thread;
    const Streams *s = arg;
    const Tensor *x = &s->l->in[0], *w = &s->l->in[1], *dy = &s->l->in[2], *dx = &s->l->out[0],
                 *dw = &s->l->out[1];
    const Range r = chunk(s->n, ROWS, task);
    for (int64_t row = r.from; row < r.to; row++) {
        for (int64_t j = s->k; j < s->m; j++) put_number(dw, row * s->m + j, 0);
        for (int64_t j = 0; j < s->k; j++) {
            const Vec weight = weight_at(w, row * s->m + j);
            Vec sum = vec_set(0);
            for (int64_t e = 0; e < s->d; e += LANES) {
                const int64_t n = at_most(s->d - e), at = (row * s->k + j) * s->d + e;
                const Vec of = elements(dy, row * s->d + e, n);
                sum = vec_fma(of, elements(x, at, n), sum);
                vec_put(dx->dtype, dx->data, at, n, of * weight);
            }
            put_number(dw, row * s->m + j, vec_sum(sum));
        }
    }
}

static void write_task(void *arg, int64_t task, int thread)
{
    (void)thread;
    const Streams *s = arg;
    const Tensor *x = &s->l->in[0], *y = &s->l->in[1], *w = &s->l->in[2], *to = &s->l->out[0];
    const Range r = chunk(s->n, ROWS, task);
    for (int64_t row = r.from; row < r.to; row++)
        for (int64_t j = 0; j < s->k; j++) {
            const int64_t own = row * s->m + s->k, mix = own + s->k;
            const bool mixes = s->m > 2 * s->k;
            for (int64_t e = 0; e < s->d; e += LANES) {
                const int64_t n = at_most(s->d - e);
                Vec sum = weight_at(w, own + j) * elements(y, row * s->d + e, n);
                if (!mixes) sum += elements(x, (row * s->k + j) * s->d + e, n);
                for (int64_t i = 0; i < s->k && mixes; i++)
                    sum = vec_fma(weight_at(w, mix + i * s->k + j),
                                  elements(x, (row * s->k + i) * s->d + e, n), sum);
                vec_put(to->dtype, to->data, (row * s->k + j) * s->d + e, n, sum);
            }
        }
}

/* Of all features of the rows `at` and `from`. */
INLINE float dot(const Tensor *x, int64_t at, const Tensor *y, int64_t from, int64_t d)
{
    Vec sum = vec_set(0);
    for (int64_t e = 0; e < d; e += LANES) {
        const int64_t n = at_most(d - e);
        sum = vec_fma(elements(x, at * d + e, n), elements(y, from * d + e, n), sum);
    }
    return vec_sum(sum);
}

/* to = the sum of k rows of x from `first` on, by weights that lie `step` apart. */
INLINE void weighted(const Tensor *to, int64_t row, const Tensor *x, int64_t first, const Tensor *w,
                     int64_t at, int64_t step, int64_t k, int64_t d)
{
    for (int64_t e = 0; e < d; e += LANES) {
        const int64_t n = at_most(d - e);
        Vec sum = vec_set(0);
        for (int64_t j = 0; j < k; j++)
            sum = vec_fma(weight_at(w, at + j * step), elements(x, (first + j) * d + e, n), sum);
        vec_put(to->dtype, to->data, row * d + e, n, sum);
    }
}

INLINE void copied(const Tensor *to, const Tensor *x, int64_t row, int64_t d)
{
    for (int64_t e = 0; e < d; e += LANES) {
        const int64_t n = at_most(d - e), at = row * d + e;
        vec_put(to->dtype, to->data, at, n, elements(x, at, n));
    }
}

static void write_grad_task(void *arg, int64_t task, int thread)
{
    (void)thread;
    const Streams *s = arg;
    const Tensor *x = &s->l->in[0], *y = &s->l->in[1], *w = &s->l->in[2], *dto = &s->l->in[3];
    const Tensor *dx = &s->l->out[0], *dy = &s->l->out[1], *dw = &s->l->out[2];
    const Range r = chunk(s->n, ROWS, task);
    const int64_t k = s->k, d = s->d;
    const bool mixes = s->m > 2 * k;
    for (int64_t row = r.from; row < r.to; row++) {
        const int64_t own = row * s->m + k, mix = own + k, first = row * k;
        weighted(dy, row, dto, first, w, own, 1, k, d);
        for (int64_t i = 0; i < k; i++) {
            if (mixes)
                weighted(dx, first + i, dto, first, w, mix + i * k, 1, k, d);
            else
                copied(dx, dto, first + i, d);
            put_number(dw, row * s->m + i, 0);
            put_number(dw, own + i, dot(y, row, dto, first + i, d));
            for (int64_t j = 0; j < k && mixes; j++)
                put_number(dw, mix + i * k + j, dot(x, first + i, dto, first + j, d));
        }
    }
}

static int run_read(const Launch *l)
{
    const Streams s = streams_of(l, &l->in[1]);
    return run_streams(&s, read_task);
}

static int run_read_grad(const Launch *l)
{
    const Streams s = streams_of(l, &l->in[1]);
    return run_streams(&s, read_grad_task);
}

static int run_write(const Launch *l)
{
    const Streams s = streams_of(l, &l->in[2]);
    return run_streams(&s, write_task);
}

static int run_write_grad(const Launch *l)
{
    const Streams s = streams_of(l, &l->in[2]);
    return run_streams(&s, write_grad_task);
}

const KernelDef TABLE[] = {
    { "hyper_weights", "cpu", "any any any>any", LEVEL, run_weights, room_bytes, floats_fit },
    { "hyper_weights_grad", "cpu", "any any any any>any any any", LEVEL, run_weights_grad,
      grad_bytes, floats_fit },
    { "hyper_read", "cpu", "any any>any", LEVEL, run_read, NULL, floats_fit },
    { "hyper_read_grad", "cpu", "any any any>any any", LEVEL, run_read_grad, NULL, floats_fit },
    { "hyper_write", "cpu", "any any any>any", LEVEL, run_write, NULL, floats_fit },
    { "hyper_write_grad", "cpu", "any any any any>any any any", LEVEL, run_write_grad, NULL,
      floats_fit },
    { 0 },
};
