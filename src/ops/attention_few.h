/* attention_few.h - attention of so few queries that keys and values are only read once: one token
 * against a cache. Scores are dot products along the width; no keys are copied. */
#ifndef OPS_ATTENTION_FEW_H
#define OPS_ATTENTION_FEW_H
#include "ops/attention_tiles.h"

enum { FEW_QUERIES = 4 };

INLINE bool few_rows(const Heads *h)
{
    return h->n_rows <= FEW_QUERIES && h->a->dropout <= 0;
}

/* Scratch of a thread: scores of one row, one result. */
INLINE size_t few_rows_bytes(const Heads *h)
{
    size_t floats = (size_t)(h->n_key + LANES + h->width);
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

INLINE float few_score(const Heads *h, int64_t query, int64_t key)
{
    Vec sum = vec_set(0);
    for (int64_t i = 0; i < h->d; i += LANES) {
        int64_t n = h->d - i < LANES ? h->d - i : LANES;
        sum = vec_fma(vec_get(h->q->dtype, h->q->data, query + i, n),
                      vec_get(h->k->dtype, h->k->data, key + i, n), sum);
    }
    float score = vec_sum(sum) * h->scale, cap = (float)h->a->soft_cap;
    return cap > 0 ? cap * tanhf(score / cap) : score;
}

/* Row `row` of a head: scores, softmax, weighted sum of the values. */
INLINE void few_attend(const Heads *h, int64_t b, int64_t g, int64_t row, float *scores,
                       float *result)
{
    int64_t query = query_at(h, b, g, row), padded = (h->n_key + LANES - 1) / LANES * LANES;
    float largest = -INFINITY;
    for (int64_t j = 0; j < padded; j++) {
        bool sees = j < h->n_key && few_sees(h, b, row / h->n_repeat, j);
        scores[j] = sees ? few_score(h, query, key_at(h, b, g, j)) : -INFINITY;
        if (!(scores[j] <= largest)) largest = scores[j];
    }
    Vec sum = vec_set(0), shift = vec_set(largest == -INFINITY ? 0 : largest);
    for (int64_t j = 0; j < padded; j += LANES) {
        Vec p = vec_exp(vec_load(scores + j) - shift);
        vec_store(scores + j, p);
        sum += p;
    }
    float total = vec_sum(sum);
    memset(result, 0, sizeof(float) * (size_t)h->width);
    for (int64_t j = 0; j < h->n_key; j++) {
        if (scores[j] == 0) continue;
        for (int64_t i = 0; i < h->width; i += LANES) {
            int64_t n = h->d - i < LANES ? h->d - i : LANES;
            Vec v = vec_get(h->v->dtype, h->v->data, key_at(h, b, g, j) + i, n);
            vec_store(result + i, vec_fma(vec_set(scores[j]), v, vec_load(result + i)));
        }
    }
    const Tensor *o = &h->l->out[0];
    Vec inverse = vec_set(total == 0 ? 0 : 1 / total);
    for (int64_t i = 0; i < h->d; i += LANES)
        vec_put(o->dtype, o->data, query + i, h->d - i < LANES ? h->d - i : LANES,
                vec_load(result + i) * inverse);
    ((float *)h->l->out[1].data)[query / h->d] =
        total == 0 ? -INFINITY : (float)(largest + log(total));
}

static void few_task(void *arg, int64_t i, int thread)
{
    const Heads *h = arg;
    float *scores = (float *)((char *)h->l->scratch + few_rows_bytes(h) * (size_t)thread);
    float *result = scores + (h->n_key + LANES - 1) / LANES * LANES;
    for (int64_t row = 0; row < h->n_rows; row++)
        few_attend(h, i / h->n_group, i % h->n_group, row, scores, result);
}

INLINE int attend_few(Heads *h)
{
    pool_run(h->l->stream->pool, h->n_batch * h->n_group, few_task, h);
    return KERNEL_OK;
}

#endif
