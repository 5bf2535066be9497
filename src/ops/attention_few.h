/* attention_few.h - attention of so few queries that keys and values are only read once: one token
 * against a cache. Scores are dot products along the width; no keys are copied. */
#ifndef OPS_ATTENTION_FEW_H
#define OPS_ATTENTION_FEW_H
#include "ops/attention_tiles.h"

enum { FEW_QUERIES = 4 };

INLINE bool few_rows(const Heads *h)
{
    const Dtype t = h->q->dtype;
    return h->n_rows <= FEW_QUERIES && h->a->dropout <= 0 && h->k->dtype == t && h->v->dtype == t;
}

/* Scratch of a thread: scores of one row. */
INLINE size_t few_rows_bytes(const Heads *h)
{
    const size_t floats = (size_t)(h->n_key + LANES);
    return (sizeof(float) * floats + 63) / 64 * 64;
}

INLINE bool few_sees(const Heads *h, int64_t b, int64_t s, int64_t key)
{
    if (h->query_document &&
        h->query_document[b * h->n_query + s] != h->key_document[b * h->n_key + key])
        return false;
    if (!h->a->causal) return true;
    int64_t ago =
        global_index(h->q, 1, s) + row_position(h->l->now, b) - global_index(h->k, 1, key);
    return ago >= 0 && (!h->a->window || ago < h->a->window);
}

/* The keys [low, high) hold all that a row sees; `all`: it sees each of them. */
typedef struct FewKeys {
    int64_t low, high;
    bool all;
} FewKeys;

INLINE FewKeys few_keys(const Heads *h, int64_t b, int64_t s)
{
    FewKeys f = { 0, h->n_key, false };
    if (h->query_document || h->q->part[1] || h->k->part[1]) return f;
    f.all = true;
    if (!h->a->causal) return f;
    const int64_t position = s + row_position(h->l->now, b), window = h->a->window;
    if (position + 1 < f.high) f.high = position + 1;
    if (window && position + 1 > window) f.low = position + 1 - window;
    if (f.low > f.high) f.low = f.high;
    return f;
}

/* What is loaded has this dtype; the compiler knows which. */
INLINE Vec few_get(const Tensor *t, Dtype of, int64_t at, int64_t n)
{
    return n >= LANES ? vec_get(of, t->data, at, LANES) : vec_get(of, t->data, at, n);
}

/* Asks for n keys or values from `at` on. */
INLINE void few_fetch(const Heads *h, const Tensor *t, Dtype of, int64_t at, int n)
{
    const int64_t size = (int64_t)dtype_size(of), apart = h->n_group * h->d * size;
    const char *from = (const char *)t->data + at * size;
    for (int k = 0; k < n; k++)
        for (int64_t b = 0; b < h->d * size; b += 64) __builtin_prefetch(from + k * apart + b);
}

/* Scores of LANES keys. Meanwhile their values and the next keys are asked for: those of a head lie
 * too far apart for the hardware to foresee them. */
INLINE void few_scores_of_vector(const Heads *h, Dtype of, int64_t query, int64_t key, float *to)
{
    const int64_t apart = h->n_group * h->d;
    const float cap = (float)h->a->soft_cap;
    Vec sum[LANES];
    few_fetch(h, h->v, of, key, LANES);
    few_fetch(h, h->k, of, key + LANES * apart, LANES);
#pragma GCC unroll 16
    for (int k = 0; k < LANES; k++) sum[k] = vec_set(0);
    for (int64_t i = 0; i < h->d; i += LANES) {
        const Vec q = few_get(h->q, of, query + i, h->d - i);
#pragma GCC unroll 16
        for (int k = 0; k < LANES; k++)
            sum[k] = vec_fma(q, few_get(h->k, of, key + k * apart + i, h->d - i), sum[k]);
    }
    vec_store(to, vec_sums(sum) * vec_set(h->scale));
    for (int k = 0; cap > 0 && k < LANES; k++) to[k] = cap * tanhf(to[k] / cap);
}

/* Scores of n keys, of which so many lie apart; n is known to the compiler. */
INLINE void few_scores(const Heads *h, Dtype of, int64_t query, int64_t key, const int n, float *to)
{
    const int64_t apart = h->n_group * h->d;
    const float cap = (float)h->a->soft_cap;
    Vec sum[4];
    for (int k = 0; k < n; k++) sum[k] = vec_set(0);
    for (int64_t i = 0; i < h->d; i += LANES) {
        const Vec q = few_get(h->q, of, query + i, h->d - i);
#pragma GCC unroll 4
        for (int k = 0; k < n; k++)
            sum[k] = vec_fma(q, few_get(h->k, of, key + k * apart + i, h->d - i), sum[k]);
    }
    for (int k = 0; k < n; k++) {
        const float score = vec_sum(sum[k]) * h->scale;
        to[k] = cap > 0 ? cap * tanhf(score / cap) : score;
    }
}

/* Fills scores from a whole vector on, minus infinity where the row sees no key; returns the
 * largest. */
INLINE float few_score_row(const Heads *h, Dtype of, int64_t b, int64_t g, int64_t row,
                           const FewKeys *f, float *scores)
{
    const int64_t query = query_at(h, b, g, row), padded = (f->high + LANES - 1) / LANES * LANES;
    float largest = -INFINITY;
    int64_t j = f->low;
    for (int64_t i = f->low / LANES * LANES; i < f->low; i++) scores[i] = -INFINITY;
    for (; f->all && j + LANES <= f->high; j += LANES)
        few_scores_of_vector(h, of, query, key_at(h, b, g, j), scores + j);
    for (; f->all && j + 4 <= f->high; j += 4)
        few_scores(h, of, query, key_at(h, b, g, j), 4, scores + j);
    for (; j < f->high; j++) {
        scores[j] = -INFINITY;
        if (f->all || few_sees(h, b, row / h->n_repeat, j))
            few_scores(h, of, query, key_at(h, b, g, j), 1, scores + j);
    }
    for (; j < padded; j++) scores[j] = -INFINITY;
    for (j = f->low; j < f->high; j++)
        if (!(scores[j] <= largest)) largest = scores[j];
    return largest;
}

/* `vectors` of the features from i on: the sum of the values by the scores, times `factor`. */
INLINE void few_sum_values(const Heads *h, Dtype of, int64_t b, int64_t g, const FewKeys *f,
                           const float *scores, int64_t i, const int vectors, float factor,
                           int64_t to)
{
    const Tensor *o = &h->l->out[0];
    Vec sum[4];
    for (int v = 0; v < vectors; v++) sum[v] = vec_set(0);
    for (int64_t j = f->low; j < f->high; j++) {
        if (scores[j] == 0) continue;
        const int64_t at = key_at(h, b, g, j) + i;
        const Vec weight = vec_set(scores[j]);
#pragma GCC unroll 4
        for (int v = 0; v < vectors; v++)
            sum[v] =
                vec_fma(weight, few_get(h->v, of, at + v * LANES, h->d - i - v * LANES), sum[v]);
    }
    for (int v = 0; v < vectors; v++) {
        const int64_t left = h->d - i - v * LANES;
        vec_put(o->dtype, o->data, to + i + v * LANES, left < LANES ? left : LANES,
                sum[v] * vec_set(factor));
    }
}

/* Row `row` of a head: scores, softmax, weighted sum of the values. */
INLINE void few_attend(const Heads *h, Dtype of, int64_t b, int64_t g, int64_t row, float *scores)
{
    const FewKeys f = few_keys(h, b, row / h->n_repeat);
    const int64_t query = query_at(h, b, g, row);
    const float largest = few_score_row(h, of, b, g, row, &f, scores);
    Vec sum = vec_set(0), shift = vec_set(largest == -INFINITY ? 0 : largest);
    for (int64_t j = f.low / LANES * LANES; j < f.high; j += LANES) {
        Vec p = vec_exp(vec_load(scores + j) - shift);
        vec_store(scores + j, p);
        sum += p;
    }
    const float total = vec_sum(sum), inverse = total == 0 ? 0 : 1 / total;
    int64_t i = 0;
    for (; i + 3 * LANES < h->d; i += 4 * LANES)
        few_sum_values(h, of, b, g, &f, scores, i, 4, inverse, query);
    for (; i < h->d; i += LANES) few_sum_values(h, of, b, g, &f, scores, i, 1, inverse, query);
    ((float *)h->l->out[1].data)[query / h->d] =
        total == 0 ? -INFINITY : (float)(largest + log(total));
}

NOINLINE void few_attend_floats(const Heads *h, int64_t b, int64_t g, int64_t row, float *scores)
{
    few_attend(h, F32, b, g, row, scores);
}

NOINLINE void few_attend_bf16(const Heads *h, int64_t b, int64_t g, int64_t row, float *scores)
{
    few_attend(h, BF16, b, g, row, scores);
}

static void few_task(void *arg, int64_t i, int thread)
{
    const Heads *h = arg;
    float *scores = (float *)((char *)h->l->scratch + few_rows_bytes(h) * (size_t)thread);
    const bool is_bf16 = h->q->dtype == BF16;
    for (int64_t row = 0; row < h->n_rows; row++)
        (is_bf16 ? few_attend_bf16 : few_attend_floats)(h, i / h->n_group, i % h->n_group, row,
                                                        scores);
}

INLINE int attend_few(Heads *h)
{
    pool_run(h->l->stream->pool, h->n_batch * h->n_group, few_task, h);
    return KERNEL_OK;
}

#endif
