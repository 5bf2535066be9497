/* selected_attention_fast.c - attention to the keys of a list, one query after the other: keys and
 * values are read where they lie, those of the list alone.
 *
 * A task of the forward pass is some rows of a head of keys, one of the gradient all of them, so
 * that what they add to a key is added in one order. */
#include "ops/dropout_mask.h"
#include "ops/kernels.h"
#include "ops/selected_attention.h"
#include "ops/vector/chunks.h"
#include "ops/vector/vector_math.h"
#include <string.h>

enum { ROWS_PER_TASK = 16, AT_ONCE = 4 };

typedef struct Rows {
    const Launch *l;
    const SelectedAttention *a;
    const Tensor *q, *k, *v;
    int64_t n_query, n_key, n_group, n_repeat, d, n;
    int64_t width; /* d rounded up to whole vectors */
    float scale;
    uint64_t dropout_key;
    size_t thread_bytes;
} Rows;

static int64_t whole_vectors(int64_t n)
{
    return (n + LANES - 1) / LANES * LANES;
}

static Rows rows_of(const Launch *l)
{
    Rows w = { .l = l, .a = l->attrs, .q = &l->in[0], .k = &l->in[1], .v = &l->in[2] };
    w.n_query = w.q->size[1], w.n_key = w.k->size[1], w.n_group = w.q->size[2];
    w.n_repeat = w.q->size[3], w.d = w.q->size[4], w.n = l->in[3].size[2];
    w.width = whole_vectors(w.d);
    w.scale = (float)(w.a->scale != 0 ? w.a->scale : 1 / sqrt((double)w.d));
    return w;
}

static size_t up_to_lines(int64_t floats)
{
    return (sizeof(float) * (size_t)floats + 63) / 64 * 64;
}

/* The list of query s of sequence b, and how many keys it has. */
static const int32_t *list_of(const Rows *w, int64_t b, int64_t s, int64_t *count)
{
    const int32_t *list = (const int32_t *)w->l->in[3].data + (b * w->n_query + s) * w->n;
    *count = 0;
    while (*count < w->n && list[*count] >= 0) ++*count;
    return list;
}

/* Whether all keys of all lists are there. */
static bool lists_fit(const Rows *w)
{
    const int32_t *list = w->l->in[3].data;
    int32_t most = -1;
    for (int64_t i = 0; i < tensor_count(&w->l->in[3]); i++) most = list[i] > most ? list[i] : most;
    return most < w->n_key;
}

static int64_t row_at(const Rows *w, int64_t b, int64_t s, int64_t g, int64_t r)
{
    return ((b * w->n_query + s) * w->n_group + g) * w->n_repeat + r;
}

static int64_t key_at(const Rows *w, int64_t b, int64_t g, int64_t j)
{
    return ((b * w->n_key + j) * w->n_group + g) * w->d;
}

static float kept(const Rows *w, int64_t row, int64_t j)
{
    float factor = 1;
    if (w->a->dropout <= 0) return factor;
    const int64_t first = dropout_row(w->l->now, w->q, row, global_size(w->k, 1));
    dropout_factors(w->dropout_key, first + global_index(w->k, 1, j), 1, w->a->dropout, &factor);
    return factor;
}

/* LANES elements of a row of d from element i on; those beyond it are 0. */
INLINE Vec row_vector(const Rows *w, const Tensor *t, Dtype of, int64_t at, int64_t i)
{
    return vec_get(of, t->data, at + i, w->d - i < LANES ? w->d - i : LANES);
}

static void load_row(const Rows *w, const Tensor *t, int64_t at, float *to)
{
    for (int64_t i = 0; i < w->d; i += LANES) vec_store(to + i, row_vector(w, t, t->dtype, at, i));
}

INLINE float dot(const Rows *w, const float *own, const Tensor *t, Dtype of, int64_t at)
{
    Vec sum[2] = { vec_set(0), vec_set(0) };
    int64_t i = 0;
    for (; i + 2 * LANES <= w->d; i += 2 * LANES)
        for (int k = 0; k < 2; k++)
            sum[k] = vec_fma(vec_load(own + i + k * LANES), row_vector(w, t, of, at, i + k * LANES),
                             sum[k]);
    for (; i < w->d; i += LANES)
        sum[0] = vec_fma(vec_load(own + i), row_vector(w, t, of, at, i), sum[0]);
    return vec_sum(sum[0] + sum[1]);
}

NOINLINE void dots_of_floats(const Rows *w, const float *own, const Tensor *t, int64_t b, int64_t g,
                             const int32_t *list, int64_t n, float *to)
{
    for (int64_t i = 0; i < n; i++) to[i] = dot(w, own, t, F32, key_at(w, b, g, list[i]));
}

NOINLINE void dots_of_halves(const Rows *w, const float *own, const Tensor *t, int64_t b, int64_t g,
                             const int32_t *list, int64_t n, float *to)
{
    for (int64_t i = 0; i < n; i++) to[i] = dot(w, own, t, BF16, key_at(w, b, g, list[i]));
}

static void dots(const Rows *w, const float *own, const Tensor *t, int64_t b, int64_t g,
                 const int32_t *list, int64_t n, float *to)
{
    (t->dtype == BF16 ? dots_of_halves : dots_of_floats)(w, own, t, b, g, list, n, to);
}

/* to = sum of the rows of the list by their weights. */
INLINE void sum_rows(const Rows *w, const Tensor *t, Dtype of, int64_t b, int64_t g,
                     const int32_t *list, int64_t n, const float *weight, float *to)
{
    for (int64_t i = 0; i < w->width; i += AT_ONCE * LANES) {
        Vec sum[AT_ONCE];
        for (int k = 0; k < AT_ONCE; k++) sum[k] = vec_set(0);
        for (int64_t j = 0; j < n; j++) {
            const int64_t at = key_at(w, b, g, list[j]);
            for (int k = 0; k < AT_ONCE; k++)
                if (i + k * LANES < w->width)
                    sum[k] = vec_fma(vec_set(weight[j]), row_vector(w, t, of, at, i + k * LANES),
                                     sum[k]);
        }
        for (int k = 0; k < AT_ONCE; k++)
            if (i + k * LANES < w->width) vec_store(to + i + k * LANES, sum[k]);
    }
}

NOINLINE void sum_of_floats(const Rows *w, const Tensor *t, int64_t b, int64_t g,
                            const int32_t *list, int64_t n, const float *weight, float *to)
{
    sum_rows(w, t, F32, b, g, list, n, weight, to);
}

NOINLINE void sum_of_halves(const Rows *w, const Tensor *t, int64_t b, int64_t g,
                            const int32_t *list, int64_t n, const float *weight, float *to)
{
    sum_rows(w, t, BF16, b, g, list, n, weight, to);
}

static void sums(const Rows *w, const Tensor *t, int64_t b, int64_t g, const int32_t *list,
                 int64_t n, const float *weight, float *to)
{
    (t->dtype == BF16 ? sum_of_halves : sum_of_floats)(w, t, b, g, list, n, weight, to);
}

static void put_row(const Rows *w, const Tensor *t, int64_t at, const float *from)
{
    for (int64_t i = 0; i < w->d; i += LANES)
        vec_put(t->dtype, t->data, at + i, w->d - i < LANES ? w->d - i : LANES, vec_load(from + i));
}

/* x[i] becomes exp(scale x[i] - shift); returns the sum. */
static float exponentials(float *x, int64_t n, float scale, float shift)
{
    Vec sum = vec_set(0);
    for (int64_t i = 0; i < n; i += LANES) {
        const int64_t left = n - i < LANES ? n - i : LANES;
        const Vec p = vec_exp(vec_load_n(x + i, left) * vec_set(scale) - vec_set(shift));
        vec_store_n(x + i, left, p);
        for (int64_t k = 0; left < LANES && k < left; k++) sum[0] += p[k];
        if (left == LANES) sum += p;
    }
    return vec_sum(sum);
}

static float largest(const float *x, int64_t n)
{
    float most = x[0];
    for (int64_t i = 1; i < n; i++) most = x[i] > most ? x[i] : most;
    return most;
}

/* One row of q: o and lse. */
static void attend(const Rows *w, int64_t b, int64_t g, int64_t row, const int32_t *list, int64_t n,
                   float *query, float *score)
{
    float *lse = (float *)w->l->out[1].data + row, *result = query + w->width;
    if (n == 0) {
        memset(result, 0, sizeof *result * (size_t)w->width);
        put_row(w, &w->l->out[0], row * w->d, result);
        *lse = -INFINITY;
        return;
    }
    load_row(w, w->q, row * w->d, query);
    dots(w, query, w->k, b, g, list, n, score);
    float shift = w->scale > 0 ? w->scale * largest(score, n) : 0;
    const float sum = exponentials(score, n, w->scale, shift), inverse = 1 / sum;
    *lse = shift + (float)log(sum);
    for (int64_t i = 0; i < n; i++) score[i] *= inverse * kept(w, row, list[i]);
    sums(w, w->v, b, g, list, n, score, result);
    put_row(w, &w->l->out[0], row * w->d, result);
}

static size_t forward_bytes(const Rows *w)
{
    return up_to_lines(2 * w->width + w->n);
}

typedef struct Work {
    Rows rows;
    int64_t tasks_of_head;
} Work;

static void forward_task(void *arg, int64_t i, int thread)
{
    const Work *work = arg;
    const Rows *w = &work->rows;
    const int64_t head = i / work->tasks_of_head, b = head / w->n_group, g = head % w->n_group;
    const Range rows = chunk(w->n_query * w->n_repeat, ROWS_PER_TASK, i % work->tasks_of_head);
    float *query = (float *)((char *)w->l->scratch + w->thread_bytes * (size_t)thread);
    for (int64_t row = rows.from; row < rows.to; row++) {
        int64_t n;
        const int64_t s = row / w->n_repeat, at = row_at(w, b, s, g, row % w->n_repeat);
        const int32_t *list = list_of(w, b, s, &n);
        attend(w, b, g, at, list, n, query, query + 2 * w->width);
    }
}

static int forward(const Launch *l)
{
    Work w = { .rows = rows_of(l) };
    if (!lists_fit(&w.rows)) return KERNEL_BAD_INDEX;
    w.rows.thread_bytes = forward_bytes(&w.rows);
    if (w.rows.a->dropout > 0) w.rows.dropout_key = dropout_key(l->now, w.rows.a->salt);
    w.tasks_of_head = chunk_count(w.rows.n_query * w.rows.n_repeat, ROWS_PER_TASK);
    pool_run(l->stream->pool, w.rows.q->size[0] * w.rows.n_group * w.tasks_of_head, forward_task,
             &w);
    return KERNEL_OK;
}

static size_t scratch(const Launch *l, int n_threads)
{
    const Rows w = rows_of(l);
    return forward_bytes(&w) * (size_t)n_threads;
}

/* ---- the sums of probabilities ---- */

static size_t share_bytes(const Rows *w)
{
    return up_to_lines(w->width + 2 * w->n);
}

/* Of a query: the heads one after the other. */
static void shares_task(void *arg, int64_t i, int thread)
{
    const Rows *w = arg;
    const int64_t b = i / w->n_query, s = i % w->n_query;
    float *query = (float *)((char *)w->l->scratch + w->thread_bytes * (size_t)thread),
          *score = query + w->width, *sum = score + w->n;
    const float *lse = w->l->in[2].data;
    int64_t n;
    const int32_t *list = list_of(w, b, s, &n);
    memset(sum, 0, sizeof *sum * (size_t)w->n);
    for (int64_t g = 0; g < w->n_group && n; g++)
        for (int64_t r = 0; r < w->n_repeat; r++) {
            const int64_t row = row_at(w, b, s, g, r);
            load_row(w, w->q, row * w->d, query);
            dots(w, query, w->k, b, g, list, n, score);
            exponentials(score, n, w->scale, lse[row]);
            for (int64_t j = 0; j < n; j++) sum[j] += score[j];
        }
    memcpy((float *)w->l->out[0].data + i * w->n, sum, sizeof *sum * (size_t)w->n);
}

static int shares(const Launch *l)
{
    Rows w = rows_of(l);
    if (!lists_fit(&w)) return KERNEL_BAD_INDEX;
    w.thread_bytes = share_bytes(&w);
    pool_run(l->stream->pool, w.q->size[0] * w.n_query, shares_task, &w);
    return KERNEL_OK;
}

static size_t shares_scratch(const Launch *l, int n_threads)
{
    const Rows w = rows_of(l);
    return share_bytes(&w) * (size_t)n_threads;
}

/* ---- the gradient ---- */

/* Of a thread: sums for all keys and values of a head [n_key][width]; rows; numbers per key. */
typedef struct Room {
    float *keys, *values, *query, *slope, *result, *weight, *share, *product;
} Room;

static size_t backward_bytes(const Rows *w)
{
    return up_to_lines(2 * w->n_key * w->width + 3 * w->width + 3 * w->n);
}

static Room room_of(const Rows *w, int thread)
{
    Room m = { .keys = (float *)((char *)w->l->scratch + w->thread_bytes * (size_t)thread) };
    m.values = m.keys + w->n_key * w->width;
    m.query = m.values + w->n_key * w->width;
    m.slope = m.query + w->width;
    m.result = m.slope + w->width;
    m.weight = m.result + w->width;
    m.share = m.weight + w->n;
    m.product = m.share + w->n;
    return m;
}

/* Adds a row by each key's weight to the sums of the keys. */
NOINLINE void add_to_keys(const Rows *w, const float *row, const int32_t *list, int64_t n,
                          const float *weight, float *sum)
{
    for (int64_t j = 0; j < n; j++) {
        float *to = sum + list[j] * w->width;
        for (int64_t i = 0; i < w->width; i += LANES)
            vec_store(to + i, vec_fma(vec_set(weight[j]), vec_load(row + i), vec_load(to + i)));
    }
}

static void pass_back(const Rows *w, int64_t b, int64_t g, int64_t row, const int32_t *list,
                      int64_t n, const Room *m)
{
    const Launch *l = w->l;
    const float lse = ((const float *)l->in[5].data)[row];
    load_row(w, w->q, row * w->d, m->query);
    load_row(w, &l->in[6], row * w->d, m->slope);
    const float flow = dot(w, m->slope, &l->in[4], l->in[4].dtype, row * w->d);
    dots(w, m->query, w->k, b, g, list, n, m->weight);
    if (n) exponentials(m->weight, n, w->scale, lse);
    dots(w, m->slope, w->v, b, g, list, n, m->product);
    for (int64_t i = 0; i < n; i++) {
        const float p = m->weight[i], keep = kept(w, row, list[i]);
        m->share[i] = p * keep;
        m->weight[i] = p * (m->product[i] * keep - flow) * w->scale;
    }
    sums(w, w->k, b, g, list, n, m->weight, m->result);
    put_row(w, &l->out[0], row * w->d, m->result);
    add_to_keys(w, m->query, list, n, m->weight, m->keys);
    add_to_keys(w, m->slope, list, n, m->share, m->values);
}

static void backward_task(void *arg, int64_t head, int thread)
{
    const Rows *w = arg;
    const int64_t b = head / w->n_group, g = head % w->n_group;
    const Room m = room_of(w, thread);
    memset(m.keys, 0, sizeof(float) * (size_t)(2 * w->n_key * w->width + 3 * w->width));
    for (int64_t s = 0; s < w->n_query; s++) {
        int64_t n;
        const int32_t *list = list_of(w, b, s, &n);
        for (int64_t k = 0; k < w->n_repeat; k++)
            pass_back(w, b, g, row_at(w, b, s, g, k), list, n, &m);
    }
    for (int64_t j = 0; j < w->n_key; j++) {
        put_row(w, &w->l->out[1], key_at(w, b, g, j), m.keys + j * w->width);
        put_row(w, &w->l->out[2], key_at(w, b, g, j), m.values + j * w->width);
    }
}

static int backward(const Launch *l)
{
    Rows w = rows_of(l);
    if (!lists_fit(&w)) return KERNEL_BAD_INDEX;
    w.thread_bytes = backward_bytes(&w);
    if (w.a->dropout > 0) w.dropout_key = dropout_key(l->now, w.a->salt);
    pool_run(l->stream->pool, w.q->size[0] * w.n_group, backward_task, &w);
    return KERNEL_OK;
}

static size_t backward_scratch(const Launch *l, int n_threads)
{
    const Rows w = rows_of(l);
    return backward_bytes(&w) * (size_t)n_threads;
}

/* clang-format off */
const KernelDef TABLE[] = {
    { "selected_attention", "cpu", "any any any i32>any f32", LEVEL, forward, scratch, floats_fit },
    { "selected_attention_grad", "cpu", "any any any i32 any f32 any>any any any", LEVEL, backward, backward_scratch, floats_fit },
    { "selected_shares", "cpu", "any any f32 i32>f32", LEVEL, shares, shares_scratch, floats_fit },
    { 0 },
};
/* clang-format on */
