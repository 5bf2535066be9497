/* index_scores.h - what the heads of an indexer make of a query and a key (ops/select_keys.h), on
 * vectors. */
#ifndef OPS_INDEX_SCORES_H
#define OPS_INDEX_SCORES_H
#include "device/device.h"
#include "ops/vector/chunks.h"

/* Of a launch whose first inputs are queries, keys and weights. */
typedef struct Indexer {
    const Tensor *q, *k, *w;
    int64_t n_query, n_key, n_heads, d;
    int64_t heads, width; /* n_heads and d, rounded up to whole vectors */
} Indexer;

/* A query as floats; 0 beyond its heads and features. */
typedef struct IndexQuery {
    float *rows;   /* [heads][width] */
    float *weight; /* [heads] */
} IndexQuery;

INLINE int64_t whole_vectors(int64_t n)
{
    return (n + LANES - 1) / LANES * LANES;
}

INLINE Indexer indexer_of(const Launch *l)
{
    Indexer x = { .q = &l->in[0], .k = &l->in[1], .w = &l->in[2] };
    x.n_query = x.q->size[1], x.n_key = x.k->size[1];
    x.n_heads = x.q->size[2], x.d = x.q->size[3];
    x.heads = whole_vectors(x.n_heads);
    x.width = whole_vectors(x.d);
    return x;
}

/* Floats that a query takes. */
INLINE int64_t index_query_floats(const Indexer *x)
{
    return x->heads * (x->width + 1);
}

INLINE IndexQuery index_query_at(const Indexer *x, float *room)
{
    return (IndexQuery){ .rows = room, .weight = room + x->heads * x->width };
}

/* Query `row` of all sequences together. */
INLINE void index_query_load(const Indexer *x, int64_t row, const IndexQuery *to)
{
    memset(to->rows, 0, sizeof(float) * (size_t)index_query_floats(x));
    for (int64_t h = 0; h < x->n_heads; h++)
        for (int64_t i = 0; i < x->d; i += LANES)
            vec_store(to->rows + h * x->width + i,
                      vec_get(x->q->dtype, x->q->data, (row * x->n_heads + h) * x->d + i,
                              x->d - i < LANES ? x->d - i : LANES));
    for (int64_t h = 0; h < x->n_heads; h += LANES)
        vec_store(to->weight + h, vec_get(x->w->dtype, x->w->data, row * x->n_heads + h,
                                          x->n_heads - h < LANES ? x->n_heads - h : LANES));
}

/* max(q k, 0) of the heads from h on, of a key that begins at element `at` of data. */
INLINE Vec index_products(const Indexer *x, const IndexQuery *query, int64_t h, Dtype of,
                          const void *data, int64_t at)
{
    Vec part[LANES];
    for (int k = 0; k < LANES; k++) part[k] = vec_set(0);
    for (int64_t i = 0; i < x->d; i += LANES) {
        const Vec key = vec_get(of, data, at + i, x->d - i < LANES ? x->d - i : LANES);
        const float *row = query->rows + h * x->width + i;
#pragma GCC unroll 16
        for (int k = 0; k < LANES; k++)
            part[k] = vec_fma(key, vec_load(row + k * x->width), part[k]);
    }
    return vec_max(vec_sums(part), vec_set(0));
}

/* Of key number `key` of all sequences together. */
INLINE float index_score(const Indexer *x, const IndexQuery *query, int64_t key, Dtype of)
{
    Vec score = vec_set(0);
    for (int64_t h = 0; h < x->n_heads; h += LANES)
        score = vec_fma(index_products(x, query, h, of, x->k->data, key * x->d),
                        vec_load(query->weight + h), score);
    return vec_sum(score);
}
#endif
