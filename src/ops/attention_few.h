/* attention_few.h - attention of so few queries that keys and values are only read once: one token
 * against a cache. Scores are dot products along the width; no keys are copied. */
#ifndef OPS_ATTENTION_FEW_H
#define OPS_ATTENTION_FEW_H
#include "ops/attention_tiles.h"

enum {
    FEW_QUERIES = 4,
    FEW_HEADS = 16, /* of a task, at most */
    FEW_TASKS = 4,  /* per thread, where they cannot have as many each */
    FEW_VALUES = 4, /* added at once */
    FEW_AHEAD_BYTES = 8192,
};

INLINE bool few_rows(const Heads *h)
{
    const Dtype t = h->q->dtype;
    return h->n_rows <= FEW_QUERIES && h->a->dropout <= 0 && h->k->dtype == t && h->v->dtype == t;
}

INLINE bool few_sees(const Heads *h, int64_t b, int64_t s, int64_t key)
{
    if (h->query_document &&
        h->query_document[b * h->n_query + s] != h->key_document[b * h->n_key + key])
        return false;
    if (!h->a->causal) return true;
    const int64_t position = global_index(h->q, 1, s) + row_position(h->l->now, b),
                  at = global_index(h->k, 1, key);
    return at <= position && at >= attention_oldest(h->a, position);
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
    const int64_t position = s + row_position(h->l->now, b),
                  oldest = attention_oldest(h->a, position);
    if (position + 1 < f.high) f.high = position + 1;
    if (oldest > 0) f.low = oldest;
    if (f.low > f.high) f.low = f.high;
    return f;
}

/* What is loaded has this dtype; the compiler knows which, and the width of usual heads. */
INLINE Vec few_get(const Tensor *t, Dtype of, int64_t at, int64_t n)
{
    return n >= LANES ? vec_get(of, t->data, at, LANES) : vec_get(of, t->data, at, n);
}

/* Products of a query with a key, LANES sums of them. */
INLINE Vec few_products(const Heads *h, Dtype of, int64_t d, int64_t query, int64_t key)
{
    Vec sum = vec_set(0);
    if (DOT_PAIRS && of == BF16 && d % 2 == 0) {
        const Word *q = (const Word *)((const bf16 *)h->q->data + query),
                   *k = (const Word *)((const bf16 *)h->k->data + key);
        const int64_t n = d / 2;
        int64_t i = 0;
#pragma GCC unroll 4
        for (; i + LANES <= n; i += LANES)
            sum = vec_dot_pairs(vec_load(q + i), vec_load(k + i), sum);
        if (i < n) sum = vec_dot_pairs(vec_load_n(q + i, n - i), vec_load_n(k + i, n - i), sum);
        return sum;
    }
#pragma GCC unroll 4
    for (int64_t i = 0; i < d; i += LANES)
        sum = vec_fma(few_get(h->q, of, query + i, d - i), few_get(h->k, of, key + i, d - i), sum);
    return sum;
}

INLINE float few_capped(const Heads *h, float score)
{
    const float cap = (float)h->a->soft_cap;
    return cap > 0 ? cap * tanhf(score / cap) : score;
}

/* One row of the heads [group, group + n) of a batch. Their keys lie side by side, so each key is
 * taken by all of them before the next, and memory is read from front to back. */
typedef struct FewHeads {
    const Heads *h;
    int64_t b, group, n, row;
    FewKeys keys;
    float *scores; /* [n][apart] */
    float *sums;   /* [n][width]: of values, by the scores */
    int64_t apart;
    int64_t keys_ahead; /* that are asked for */
} FewHeads;

/* Where what all heads have of the key or value lies that comes some keys later: first values come
 * after the last key, and nothing after the last value: NULL. */
INLINE const char *few_later(const FewHeads *f, const Tensor *t, Dtype of, int64_t key)
{
    const Heads *h = f->h;
    int64_t later = key + f->keys_ahead;
    if (later >= f->keys.high) {
        if (t == h->v) return NULL;
        later += f->keys.low - f->keys.high;
        t = h->v;
    }
    return (const char *)t->data + key_at(h, f->b, f->group, later) * (int64_t)dtype_size(of);
}

/* Asks for a head's part of it: evenly, since memory stands still between bursts. */
INLINE void few_fetch(const char *later, Dtype of, int64_t d, int64_t head)
{
    const int64_t bytes = d * (int64_t)(of == F32 ? sizeof(float) : sizeof(bf16));
    if (!later) return;
#pragma GCC unroll 4
    for (int64_t i = 0; i < bytes; i += 64) __builtin_prefetch(later + head * bytes + i, 0, 2);
}

/* Scores of up to LANES keys for all heads. */
INLINE void few_scores_of_vector(const FewHeads *f, Dtype of, int64_t d, int64_t key, int64_t n)
{
    const Heads *h = f->h;
    const int64_t query = query_at(h, f->b, f->group, f->row);
    Vec part[FEW_HEADS][LANES];
    for (int64_t t = 0; t < n; t++) {
        const int64_t at = key_at(h, f->b, f->group, key + t);
        const char *later = few_later(f, h->k, of, key + t);
        for (int64_t k = 0; k < f->n; k++) {
            few_fetch(later, of, d, k);
            part[k][t] = few_products(h, of, d, query + k * h->n_repeat * d, at + k * d);
        }
    }
    for (int64_t k = 0; k < f->n; k++) {
        float *to = f->scores + k * f->apart + key;
        for (int64_t t = n; t < LANES; t++) part[k][t] = vec_set(0);
        vec_store(to, vec_sums(part[k]) * vec_set(h->scale));
        for (int64_t t = 0; h->a->soft_cap > 0 && t < n; t++) to[t] = few_capped(h, to[t]);
    }
}

/* Scores of the keys that the row sees, one by one. */
INLINE void few_scores_of_seen(const FewHeads *f, Dtype of)
{
    const Heads *h = f->h;
    for (int64_t j = f->keys.low; j < f->keys.high; j++)
        for (int64_t k = 0; k < f->n; k++) {
            float *to = f->scores + k * f->apart + j;
            *to = -INFINITY;
            if (!few_sees(h, f->b, f->row / h->n_repeat, j)) continue;
            const Vec products = few_products(h, of, h->d, query_at(h, f->b, f->group + k, f->row),
                                              key_at(h, f->b, f->group + k, j));
            *to = few_capped(h, vec_sum(products) * h->scale);
        }
}

/* Scores fall with the distance of the keys. */
INLINE void few_lower(const FewHeads *f)
{
    const Heads *h = f->h;
    const int64_t s = f->row / h->n_repeat,
                  position = global_index(h->q, 1, s) + row_position(h->l->now, f->b);
    for (int64_t k = 0; k < f->n; k++) {
        const float fall = fall_of(h, f->group + k, f->row % h->n_repeat);
        float *scores = f->scores + k * f->apart;
        for (int64_t j = f->keys.low; j < f->keys.high; j++)
            scores[j] -= fall * (float)(position - global_index(h->k, 1, j));
    }
}

/* Fills whole vectors of scores, minus infinity where the row sees no key. */
INLINE void few_score_heads(const FewHeads *f, Dtype of, int64_t d)
{
    const int64_t low = f->keys.low, high = f->keys.high;
    for (int64_t j = low / LANES * LANES; f->keys.all && j < high; j += LANES)
        few_scores_of_vector(f, of, d, j, high - j < LANES ? high - j : LANES);
    if (!f->keys.all) few_scores_of_seen(f, of);
    if (f->h->a->alibi > 0) few_lower(f);
    for (int64_t k = 0; k < f->n; k++) {
        float *scores = f->scores + k * f->apart;
        for (int64_t i = low / LANES * LANES; i < low; i++) scores[i] = -INFINITY;
        for (int64_t i = high; i < (high + LANES - 1) / LANES * LANES; i++) scores[i] = -INFINITY;
    }
}

/* Turns scores to exponentials; returns their sum, and in *largest what they are relative to. */
INLINE float few_softmax(const FewKeys *f, float *scores, float *largest)
{
    const int64_t low = f->low / LANES * LANES;
    Vec most = vec_set(-INFINITY);
    for (int64_t j = low; j < f->high; j += LANES) most = vec_max(most, vec_load(scores + j));
    *largest = vec_largest(most);
    Vec sum = vec_set(0), shift = vec_set(*largest == -INFINITY ? 0 : *largest);
    for (int64_t j = low; j < f->high; j += LANES) {
        Vec p = vec_exp(vec_load(scores + j) - shift);
        vec_store(scores + j, p);
        sum += p;
    }
    return vec_sum(sum);
}

/* Adds n values, which lie apart, to the sums of a head by their weights; n is known to the
 * compiler. */
INLINE void few_add_values(const FewHeads *f, Dtype of, int64_t d, int64_t head, int64_t key,
                           const int n)
{
    const Heads *h = f->h;
    const int64_t apart = h->n_group * d, at = key_at(h, f->b, f->group, key) + head * d;
    const float *weight = f->scores + head * f->apart + key;
    float *sums = f->sums + head * h->width;
#pragma GCC unroll 4
    for (int64_t i = 0; i < d; i += LANES) {
        Vec sum = vec_load(sums + i);
#pragma GCC unroll 4
        for (int k = 0; k < n; k++)
            sum = vec_fma(vec_set(weight[k]), few_get(h->v, of, at + k * apart + i, d - i), sum);
        vec_store(sums + i, sum);
    }
}

/* Whether none of FEW_VALUES weights is 0: what no row sees may be anything. */
INLINE bool few_are_seen(const float *weight)
{
    float least = weight[0];
    for (int k = 1; k < FEW_VALUES; k++) least = weight[k] < least ? weight[k] : least;
    return least != 0;
}

INLINE void few_sum_heads(const FewHeads *f, Dtype of, int64_t d)
{
    const Heads *h = f->h;
    for (int64_t k = 0; k < f->n * h->width; k++) f->sums[k] = 0;
    for (int64_t j = f->keys.low, n; j < f->keys.high; j += n) {
        n = f->keys.high - j < FEW_VALUES ? 1 : FEW_VALUES;
        const char *later[FEW_VALUES];
        for (int64_t t = 0; t < n; t++) later[t] = few_later(f, h->v, of, j + t);
        for (int64_t k = 0; k < f->n; k++) {
            for (int64_t t = 0; t < n; t++) few_fetch(later[t], of, d, k);
            const float *weight = f->scores + k * f->apart + j;
            if (n == FEW_VALUES && few_are_seen(weight)) {
                few_add_values(f, of, d, k, j, FEW_VALUES);
                continue;
            }
            for (int64_t t = 0; t < n; t++)
                if (weight[t] != 0) few_add_values(f, of, d, k, j + t, 1);
        }
    }
}

/* Scores, softmax, weighted sums of the values. */
INLINE void few_attend(FewHeads *f, Dtype of, int64_t d)
{
    const Heads *h = f->h;
    const Tensor *o = &h->l->out[0];
    float largest, total[FEW_HEADS] = { 0 };
    f->keys = few_keys(h, f->b, f->row / h->n_repeat);
    const int64_t bytes = f->n * d * (int64_t)dtype_size(of);
    f->keys_ahead = (FEW_AHEAD_BYTES + bytes - 1) / bytes;
    few_score_heads(f, of, d);
    for (int64_t k = 0; k < f->n; k++) {
        total[k] = few_softmax(&f->keys, f->scores + k * f->apart, &largest);
        ((float *)h->l->out[1].data)[query_at(h, f->b, f->group + k, f->row) / h->d] =
            total[k] == 0 ? -INFINITY : (float)(largest + log(total[k]));
    }
    few_sum_heads(f, of, d);
    for (int64_t k = 0; k < f->n; k++) {
        const int64_t to = query_at(h, f->b, f->group + k, f->row);
        const Vec factor = vec_set(total[k] == 0 ? 0 : 1 / total[k]);
        for (int64_t i = 0; i < h->d; i += LANES)
            vec_put(o->dtype, o->data, to + i, h->d - i < LANES ? h->d - i : LANES,
                    vec_load(f->sums + k * h->width + i) * factor);
    }
}

#define FEW_KERNEL(of, width)                                                                      \
    NOINLINE void few_attend_##of##_##width(FewHeads *f)                                           \
    {                                                                                              \
        few_attend(f, of, width ? width : f->h->d);                                                \
    }
FEW_KERNEL(F32, 64)
FEW_KERNEL(F32, 128)
FEW_KERNEL(F32, 0)
FEW_KERNEL(BF16, 64)
FEW_KERNEL(BF16, 128)
FEW_KERNEL(BF16, 0)
#undef FEW_KERNEL

typedef void FewKernel(FewHeads *f);

INLINE FewKernel *few_kernel(const Heads *h)
{
    const bool narrow = h->q->dtype == BF16;
    if (h->d == 64) return narrow ? few_attend_BF16_64 : few_attend_F32_64;
    if (h->d == 128) return narrow ? few_attend_BF16_128 : few_attend_F32_128;
    return narrow ? few_attend_BF16_0 : few_attend_F32_0;
}

/* Heads of a task: as many as threads can share evenly, or nearly so. */
INLINE int64_t few_heads(const Heads *h)
{
    const int64_t threads = pool_size(h->l->stream->pool);
    int64_t parts = 1; /* of the heads of a batch */
    while (parts < h->n_group && parts * h->n_batch % threads &&
           parts * h->n_batch < FEW_TASKS * threads)
        parts++;
    const int64_t heads = chunk_count(h->n_group, parts);
    return heads < FEW_HEADS ? heads : FEW_HEADS;
}

INLINE int64_t few_apart(const Heads *h)
{
    return (h->n_key + LANES - 1) / LANES * LANES;
}

/* Scratch of a thread. */
INLINE size_t few_rows_bytes(const Heads *h)
{
    const int64_t heads = h->n_group < FEW_HEADS ? h->n_group : FEW_HEADS;
    return (sizeof(float) * (size_t)(heads * (few_apart(h) + h->width)) + 63) / 64 * 64;
}

static void few_task(void *arg, int64_t i, int thread)
{
    const Heads *h = arg;
    const int64_t heads = few_heads(h), n_tasks = chunk_count(h->n_group, heads);
    FewHeads f = { .h = h, .b = i / n_tasks, .group = i % n_tasks * heads, .apart = few_apart(h) };
    f.n = f.group + heads < h->n_group ? heads : h->n_group - f.group;
    f.scores = (float *)((char *)h->l->scratch + few_rows_bytes(h) * (size_t)thread);
    f.sums = f.scores + heads * f.apart;
    FewKernel *kernel = few_kernel(h);
    for (f.row = 0; f.row < h->n_rows; f.row++) kernel(&f);
}

INLINE int attend_few(Heads *h)
{
    const int64_t heads = few_heads(h);
    pool_run(h->l->stream->pool, h->n_batch * chunk_count(h->n_group, heads), few_task, h);
    return KERNEL_OK;
}

#endif
