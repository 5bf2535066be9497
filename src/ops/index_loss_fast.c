/* index_loss_fast.c - the divergence of an indexer's scores from shares of attention.
 *
 * A task of the loss is a query, one of the gradient some queries of a sequence, whose number does
 * not depend on that of threads: each adds to keys of its own, which are then added up in order. */
#include "ops/index_loss.h"
#include "ops/index_scores.h"
#include "ops/kernels.h"
#include "ops/vector/vector_math.h"
#include <string.h>

enum { MOST_PARTS = 16, ROWS_OF_PART = 32, ROWS_AT_ONCE = 4, VECTORS_AT_ONCE = 2 };

typedef struct Lists {
    const Launch *l;
    Indexer x;
    const int32_t *selected;
    const float *share;
    int64_t n;
    float scale;
    float slope; /* of the gradient: that of a query's loss, times the scale */
    size_t thread_bytes;
    int64_t n_parts, rows_of_part; /* of the queries of a sequence */
    float *parts;                  /* [b n_parts][n_key][width], gradients of keys */
} Lists;

static double all_rows(const Tensor *q)
{
    return (double)global_size(q, 0) * (double)global_size(q, 1);
}

static Lists lists_of(const Launch *l)
{
    Lists w = { .l = l,
                .x = indexer_of(l),
                .selected = l->in[3].data,
                .share = l->in[4].data,
                .n = l->in[3].size[2],
                .scale = (float)((const IndexLoss *)l->attrs)->scale };
    return w;
}

static size_t up_to_lines(int64_t floats)
{
    return (sizeof(float) * (size_t)floats + 63) / 64 * 64;
}

/* Whether all keys of all lists are there. */
static bool lists_fit(const Lists *w)
{
    int32_t most = -1;
    for (int64_t i = 0; i < tensor_count(&w->l->in[3]); i++)
        most = w->selected[i] > most ? w->selected[i] : most;
    return most < w->x.n_key;
}

/* Of a row: keys of its list that count, and in *sum that of their shares. None do where it is 0.
 */
static int64_t keys_of(const Lists *w, int64_t row, double *sum)
{
    const int32_t *list = w->selected + row * w->n;
    int64_t n = 0;
    *sum = 0;
    for (; n < w->n && list[n] >= 0; n++) *sum += (double)w->share[row * w->n + n];
    return *sum > 0 ? n : 0;
}

/* The log-sum-exp of scores, at least one. */
static double sum_scores(const float *score, int64_t n)
{
    float most = score[0];
    double sum = 0;
    for (int64_t i = 1; i < n; i++) most = score[i] > most ? score[i] : most;
    int64_t i = 0;
    do {
        const int64_t left = n - i < LANES ? n - i : LANES;
        const Vec e = vec_exp(vec_load_n(score + i, left) - vec_set(most));
        sum += (double)vec_sum(vec_keep_first(e, left));
        i += LANES;
    } while (i < n);
    return (double)most + log(sum);
}

static double loss_of(const Lists *w, int64_t row, const float *score, int64_t n, double shares)
{
    const float *share = w->share + row * w->n;
    const double all = sum_scores(score, n);
    double sum = 0;
    for (int64_t i = 0; i < n; i++) {
        const double p = (double)share[i] / shares;
        if (p > 0) sum += p * (log(p) - (double)score[i] + all);
    }
    return sum;
}

/* ---- the loss ---- */

NOINLINE void score_list(const Lists *w, const IndexQuery *query, int64_t row, int64_t n, float *to)
{
    const int64_t first = row / w->x.n_query * w->x.n_key;
    const int32_t *list = w->selected + row * w->n;
    for (int64_t i = 0; i < n; i++)
        to[i] =
            w->scale * (w->x.k->dtype == BF16 ? index_score(&w->x, query, first + list[i], BF16)
                                              : index_score(&w->x, query, first + list[i], F32));
}

static size_t forward_bytes(const Lists *w)
{
    return up_to_lines(index_query_floats(&w->x) + w->n);
}

static int64_t n_rows(const Lists *w)
{
    return w->x.q->size[0] * w->x.n_query;
}

static size_t losses_bytes(const Lists *w)
{
    return (sizeof(double) * (size_t)n_rows(w) + 63) / 64 * 64;
}

static void loss_task(void *arg, int64_t row, int thread)
{
    const Lists *w = arg;
    char *scratch = w->l->scratch;
    float *room = (float *)(scratch + losses_bytes(w) + w->thread_bytes * (size_t)thread),
          *score = room + index_query_floats(&w->x);
    const IndexQuery query = index_query_at(&w->x, room);
    double *to = (double *)scratch + row, shares;
    const int64_t n = keys_of(w, row, &shares);
    *to = 0;
    if (!n) return;
    index_query_load(&w->x, row, &query);
    score_list(w, &query, row, n, score);
    *to = loss_of(w, row, score, n, shares);
}

static int forward(const Launch *l)
{
    Lists w = lists_of(l);
    const double *loss = l->scratch;
    double sum = 0;
    if (!lists_fit(&w)) return KERNEL_BAD_INDEX;
    w.thread_bytes = forward_bytes(&w);
    pool_run(l->stream->pool, n_rows(&w), loss_task, &w);
    for (int64_t i = 0; i < n_rows(&w); i++) sum += loss[i];
    *(float *)l->out[0].data = (float)(sum / all_rows(w.x.q));
    return KERNEL_OK;
}

static size_t scratch(const Launch *l, int n_threads)
{
    const Lists w = lists_of(l);
    return losses_bytes(&w) + forward_bytes(&w) * (size_t)n_threads;
}

/* ---- the gradient ---- */

/* Of a thread. */
typedef struct Room {
    IndexQuery query;
    float *keys;    /* [n][width], those of the list */
    float *product; /* [n][heads], max(q k, 0); then what multiplies rows of q and k */
    float *score;   /* [n]; then their gradients */
    float *result;  /* [heads][width], and [heads] of the weights */
} Room;

static int64_t room_floats(const Lists *w)
{
    return 2 * index_query_floats(&w->x) + w->n * (w->x.width + w->x.heads + 1);
}

static Room room_of(const Lists *w, float *room)
{
    Room m = { .query = index_query_at(&w->x, room) };
    m.keys = room + index_query_floats(&w->x);
    m.product = m.keys + w->n * w->x.width;
    m.result = m.product + w->n * w->x.heads;
    m.score = m.result + index_query_floats(&w->x);
    return m;
}

static void load_keys(const Lists *w, int64_t row, int64_t n, const Room *m)
{
    const Indexer *x = &w->x;
    const int64_t first = row / x->n_query * x->n_key;
    for (int64_t j = 0; j < n; j++)
        for (int64_t i = 0; i < x->d; i += LANES)
            vec_store(m->keys + j * x->width + i,
                      vec_get(x->k->dtype, x->k->data,
                              (first + w->selected[row * w->n + j]) * x->d + i,
                              x->d - i < LANES ? x->d - i : LANES));
}

/* Products of all heads with all keys, and scores. */
NOINLINE void multiply(const Lists *w, int64_t n, const Room *m)
{
    const Indexer *x = &w->x;
    for (int64_t j = 0; j < n; j++) {
        Vec score = vec_set(0);
        for (int64_t h = 0; h < x->heads; h += LANES) {
            const Vec p = index_products(x, &m->query, h, F32, m->keys, j * x->width);
            vec_store(m->product + j * x->heads + h, p);
            score = vec_fma(p, vec_load(m->query.weight + h), score);
        }
        m->score[j] = w->scale * vec_sum(score);
    }
}

/* Gradients of scores in their place. */
static void slopes(const Lists *w, int64_t row, int64_t n, double shares, float *score)
{
    const float *share = w->share + row * w->n;
    const float all = n ? (float)sum_scores(score, n) : 0;
    for (int64_t i = 0; i < n; i += LANES) {
        const int64_t left = n - i < LANES ? n - i : LANES;
        const Vec p = vec_load_n(share + i, left) * vec_set((float)(1 / shares)),
                  s = vec_exp(vec_load_n(score + i, left) - vec_set(all));
        vec_store_n(score + i, left, vec_set(w->slope) * (s - p));
    }
}

/* Gradients of weights, and products in their place as what goes to queries and keys. */
NOINLINE void weigh(const Lists *w, int64_t n, const Room *m)
{
    const Indexer *x = &w->x;
    for (int64_t h = 0; h < x->heads; h += LANES) {
        const Vec weight = vec_load(m->query.weight + h);
        Vec sum = vec_set(0);
        for (int64_t j = 0; j < n; j++) {
            float *at = m->product + j * x->heads + h;
            const Vec p = vec_load(at), slope = vec_set(m->score[j]);
            sum = vec_fma(p, slope, sum);
            vec_store(at, vec_keep(p > vec_set(0), weight * slope));
        }
        vec_store(m->result + x->heads * x->width + h, sum);
    }
}

/* Sums of rows of x [steps][width] from element i on: of `rows` of them at once, by factors
 * factor[step * of_step + row * of_row]. */
INLINE void sum_rows(const float *factor, int64_t of_step, int64_t of_row, int64_t steps,
                     const float *x, int64_t width, const int rows, const int vectors, Vec *sum)
{
    for (int k = 0; k < rows * vectors; k++) sum[k] = vec_set(0);
    for (int64_t s = 0; s < steps; s++)
#pragma GCC unroll 4
        for (int v = 0; v < vectors; v++) {
            const Vec row = vec_load(x + s * width + v * LANES);
#pragma GCC unroll 4
            for (int r = 0; r < rows; r++)
                sum[r * vectors + v] =
                    vec_fma(vec_set(factor[s * of_step + r * of_row]), row, sum[r * vectors + v]);
        }
}

/* The gradient of the query's heads. */
INLINE void sum_keys(const Lists *w, int64_t n, const Room *m, int64_t i, const int vectors)
{
    const Indexer *x = &w->x;
    Vec sum[ROWS_AT_ONCE * VECTORS_AT_ONCE];
    for (int64_t h = 0; h < x->heads; h += ROWS_AT_ONCE) {
        sum_rows(m->product + h, x->heads, 1, n, m->keys + i, x->width, ROWS_AT_ONCE, vectors, sum);
        for (int r = 0; r < ROWS_AT_ONCE; r++)
            for (int v = 0; v < vectors; v++)
                vec_store(m->result + (h + r) * x->width + i + v * LANES, sum[r * vectors + v]);
    }
}

NOINLINE void pass_to_query(const Lists *w, int64_t n, const Room *m)
{
    int64_t i = 0;
    for (; i + VECTORS_AT_ONCE * LANES <= w->x.width; i += VECTORS_AT_ONCE * LANES)
        sum_keys(w, n, m, i, VECTORS_AT_ONCE);
    for (; i < w->x.width; i += LANES) sum_keys(w, n, m, i, 1);
}

/* Adds to `rows` keys of the list from j on. */
INLINE void add_queries(const Lists *w, const Room *m, const int32_t *list, int64_t j,
                        const int rows, float *keys)
{
    const Indexer *x = &w->x;
    for (int64_t i = 0; i < x->width; i += LANES) {
        Vec sum[ROWS_AT_ONCE];
        sum_rows(m->product + j * x->heads, 1, x->heads, x->n_heads, m->query.rows + i, x->width,
                 rows, 1, sum);
        for (int r = 0; r < rows; r++) {
            float *to = keys + list[j + r] * x->width + i;
            vec_store(to, vec_load(to) + sum[r]);
        }
    }
}

NOINLINE void pass_to_keys(const Lists *w, const Room *m, const int32_t *list, int64_t n,
                           float *keys)
{
    int64_t j = 0;
    for (; j + ROWS_AT_ONCE <= n; j += ROWS_AT_ONCE) add_queries(w, m, list, j, ROWS_AT_ONCE, keys);
    for (; j < n; j++) add_queries(w, m, list, j, 1, keys);
}

static void put_rows(const Tensor *t, int64_t first, int64_t n, int64_t d, int64_t width,
                     const float *from)
{
    for (int64_t h = 0; h < n; h++)
        for (int64_t i = 0; i < d; i += LANES)
            vec_put(t->dtype, t->data, (first + h) * d + i, d - i < LANES ? d - i : LANES,
                    vec_load(from + h * width + i));
}

static void pass_back(const Lists *w, int64_t row, const Room *m, float *keys)
{
    const Indexer *x = &w->x;
    double shares;
    const int64_t n = keys_of(w, row, &shares);
    index_query_load(x, row, &m->query);
    load_keys(w, row, n, m);
    multiply(w, n, m);
    slopes(w, row, n, shares, m->score);
    weigh(w, n, m);
    pass_to_query(w, n, m);
    pass_to_keys(w, m, w->selected + row * w->n, n, keys);
    put_rows(&w->l->out[0], row * x->n_heads, x->n_heads, x->d, x->width, m->result);
    put_rows(&w->l->out[2], row, 1, x->n_heads, x->heads, m->result + x->heads * x->width);
}

static void part_task(void *arg, int64_t i, int thread)
{
    const Lists *w = arg;
    const int64_t b = i / w->n_parts, floats = w->x.n_key * w->x.width;
    const Range rows = chunk(w->x.n_query, w->rows_of_part, i % w->n_parts);
    float *keys = w->parts + i * floats;
    char *room = (char *)(w->parts + w->x.q->size[0] * w->n_parts * floats);
    const Room m = room_of(w, (float *)(room + w->thread_bytes * (size_t)thread));
    memset(keys, 0, sizeof *keys * (size_t)floats);
    for (int64_t s = rows.from; s < rows.to; s++) pass_back(w, b * w->x.n_query + s, &m, keys);
}

/* A key's gradients of all parts. */
static void key_task(void *arg, int64_t key, int thread)
{
    (void)thread;
    const Lists *w = arg;
    const Indexer *x = &w->x;
    const int64_t floats = x->n_key * x->width;
    const float *part = w->parts + key / x->n_key * w->n_parts * floats + key % x->n_key * x->width;
    for (int64_t i = 0; i < x->d; i += LANES) {
        Vec sum = vec_load(part + i);
        for (int64_t k = 1; k < w->n_parts; k++) sum += vec_load(part + k * floats + i);
        vec_put(w->l->out[1].dtype, w->l->out[1].data, key * x->d + i,
                x->d - i < LANES ? x->d - i : LANES, sum);
    }
}

static Lists parts_of(const Launch *l)
{
    Lists w = lists_of(l);
    w.rows_of_part = chunk_count(w.x.n_query, MOST_PARTS);
    if (w.rows_of_part < ROWS_OF_PART) w.rows_of_part = ROWS_OF_PART;
    w.n_parts = chunk_count(w.x.n_query, w.rows_of_part);
    w.thread_bytes = up_to_lines(room_floats(&w));
    w.parts = l->scratch;
    return w;
}

static int backward(const Launch *l)
{
    Lists w = parts_of(l);
    if (!lists_fit(&w)) return KERNEL_BAD_INDEX;
    w.slope = (float)((double)*(const float *)l->in[5].data / all_rows(w.x.q)) * w.scale;
    pool_run(l->stream->pool, w.x.q->size[0] * w.n_parts, part_task, &w);
    pool_run(l->stream->pool, w.x.q->size[0] * w.x.n_key, key_task, &w);
    return KERNEL_OK;
}

static size_t backward_scratch(const Launch *l, int n_threads)
{
    const Lists w = parts_of(l);
    return sizeof(float) * (size_t)(w.x.q->size[0] * w.n_parts * w.x.n_key * w.x.width) +
           w.thread_bytes * (size_t)n_threads;
}

/* clang-format off */
const KernelDef TABLE[] = {
    { "index_loss", "cpu", "any any any i32 f32>f32", LEVEL, forward, scratch, floats_fit },
    { "index_loss_grad", "cpu", "any any any i32 f32 f32>any any any", LEVEL, backward, backward_scratch, floats_fit },
    { 0 },
};
/* clang-format on */
