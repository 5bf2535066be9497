/* select_keys_fast.c - the keys that a lightning indexer scores highest.
 *
 * A task is a query, or, where threads are more than queries, some keys of one. Its scores are
 * written down, and a key counts if its score is above the n-th highest, which is found by its four
 * bytes from the first to the last. */
#include "ops/kernels.h"
#include "ops/select_keys.h"
#include "ops/vector/chunks.h"
#include <string.h>

enum { BYTES = 256, KEYS_PER_TASK = 512 };

typedef struct Rows {
    const Launch *l;
    const Tensor *q, *k, *w;
    int64_t n_query, n_key, n_heads, d, n, width;
    size_t thread_bytes;
} Rows;

/* Of a thread. */
typedef struct Room {
    float *query;    /* [heads, whole vectors][width] */
    float *weight;   /* [heads, whole vectors] */
    uint32_t *order; /* of the scores of what is seen, and the keys themselves */
    int32_t *key;
} Room;

static int64_t whole_vectors(int64_t n)
{
    return (n + LANES - 1) / LANES * LANES;
}

static Rows rows_of(const Launch *l)
{
    Rows r = { .l = l, .q = &l->in[0], .k = &l->in[1], .w = &l->in[2] };
    r.n_query = r.q->size[1], r.n_key = r.k->size[1];
    r.n_heads = r.q->size[2], r.d = r.q->size[3], r.n = l->out[0].size[2];
    r.width = whole_vectors(r.d);
    const int64_t heads = whole_vectors(r.n_heads);
    r.thread_bytes = sizeof(float) * (size_t)(heads * (r.width + 1) + 2 * r.n_key);
    r.thread_bytes = (r.thread_bytes + 63) / 64 * 64;
    return r;
}

static Room room_of(const Rows *r, int thread)
{
    const int64_t heads = whole_vectors(r->n_heads);
    Room m = { .query = (float *)((char *)r->l->scratch + r->thread_bytes * (size_t)thread) };
    m.weight = m.query + heads * r->width;
    m.order = (uint32_t *)(m.weight + heads);
    m.key = (int32_t *)(m.order + r->n_key);
    return m;
}

/* The keys that a query sees, in ascending order; returns their number. */
static int64_t find_seen(const Rows *r, int64_t row, int32_t *key)
{
    const int64_t b = row / r->n_query,
                  position = global_index(r->q, 1, row % r->n_query) + row_position(r->l->now, b);
    const bool in_order = !r->k->part[1], by_document = r->l->n_in == 5;
    const int32_t *documents = by_document ? r->l->in[3].data : NULL,
                  *of_keys = by_document ? (const int32_t *)r->l->in[4].data + b * r->n_key : NULL;
    const int64_t end = in_order && position + 1 < r->n_key ? position + 1 : r->n_key;
    int64_t n = 0;
    for (int64_t j = 0; j < end; j++) {
        if (!in_order && global_index(r->k, 1, j) > position) continue;
        if (by_document && documents[row] != of_keys[j]) continue;
        key[n++] = (int32_t)j;
    }
    return n;
}

/* Queries and weights as floats; 0 beyond. */
static void load_query(const Rows *r, int64_t row, Room *m)
{
    const int64_t heads = whole_vectors(r->n_heads);
    memset(m->query, 0, sizeof(float) * (size_t)(heads * (r->width + 1)));
    for (int64_t h = 0; h < r->n_heads; h++)
        for (int64_t i = 0; i < r->d; i += LANES)
            vec_store(m->query + h * r->width + i,
                      vec_get(r->q->dtype, r->q->data, (row * r->n_heads + h) * r->d + i,
                              r->d - i < LANES ? r->d - i : LANES));
    for (int64_t h = 0; h < r->n_heads; h += LANES)
        vec_store(m->weight + h, vec_get(r->w->dtype, r->w->data, row * r->n_heads + h,
                                         r->n_heads - h < LANES ? r->n_heads - h : LANES));
}

INLINE float score_of(const Rows *r, const Room *m, int64_t key, Dtype of)
{
    Vec score = vec_set(0);
    for (int64_t h = 0; h < r->n_heads; h += LANES) {
        Vec part[LANES];
        for (int k = 0; k < LANES; k++) part[k] = vec_set(0);
        for (int64_t i = 0; i < r->d; i += LANES) {
            const Vec x =
                vec_get(of, r->k->data, key * r->d + i, r->d - i < LANES ? r->d - i : LANES);
            const float *query = m->query + h * r->width + i;
#pragma GCC unroll 16
            for (int k = 0; k < LANES; k++)
                part[k] = vec_fma(x, vec_load(query + k * r->width), part[k]);
        }
        score = vec_fma(vec_max(vec_sums(part), vec_set(0)), vec_load(m->weight + h), score);
    }
    return vec_sum(score);
}

/* Of the seen keys [from, to), which are those of a sequence from `first` on. */
NOINLINE void score_all(const Rows *r, const Room *m, int64_t first, int64_t from, int64_t to)
{
    for (int64_t i = from; i < to; i++) {
        const int64_t key = first + m->key[i];
        m->order[i] =
            score_order(r->k->dtype == BF16 ? score_of(r, m, key, BF16) : score_of(r, m, key, F32));
    }
}

/* Keeps the `most` of n keys whose order is highest, of equals the earlier ones. */
static void keep_highest(int64_t n, int64_t most, const uint32_t *order, int32_t *key)
{
    uint32_t prefix = 0, mask = 0;
    int64_t wanted = most; /* of those whose first bytes are `prefix` */
    for (int shift = 24; shift >= 0; shift -= 8) {
        int64_t count[BYTES] = { 0 };
        for (int64_t i = 0; i < n; i++)
            if ((order[i] & mask) == prefix) count[order[i] >> shift & (BYTES - 1)]++;
        int byte = BYTES - 1;
        for (; count[byte] < wanted; byte--) wanted -= count[byte];
        prefix |= (uint32_t)byte << shift;
        mask |= (uint32_t)(BYTES - 1) << shift;
    }
    int64_t kept = 0;
    for (int64_t i = 0; i < n; i++) {
        if (order[i] < prefix || (order[i] == prefix && wanted-- <= 0)) continue;
        key[kept++] = key[i];
    }
}

/* The scores of one query, which threads share. */
typedef struct Shared {
    const Rows *r;
    const Room *m;
    int64_t first, n;
} Shared;

static void score_task(void *arg, int64_t i, int thread)
{
    (void)thread;
    const Shared *w = arg;
    const Range keys = chunk(w->n, KEYS_PER_TASK, i);
    score_all(w->r, w->m, w->first, keys.from, keys.to);
}

/* `pool`: the threads that share the scores; NULL: the caller does them. */
static void select_of_query(const Rows *r, Room *m, int64_t row, struct Pool *pool)
{
    const int64_t first = row / r->n_query * r->n_key;
    int64_t n = find_seen(r, row, m->key);
    if (n > r->n) {
        Shared w = { r, m, first, n };
        load_query(r, row, m);
        if (pool)
            pool_run(pool, chunk_count(n, KEYS_PER_TASK), score_task, &w);
        else
            score_all(r, m, first, 0, n);
        keep_highest(n, r->n, m->order, m->key);
        n = r->n;
    }
    int32_t *to = (int32_t *)r->l->out[0].data + row * r->n;
    for (int64_t i = 0; i < r->n; i++) to[i] = i < n ? m->key[i] : -1;
}

static void task(void *arg, int64_t row, int thread)
{
    const Rows *r = arg;
    Room m = room_of(r, thread);
    select_of_query(r, &m, row, NULL);
}

static int run(const Launch *l)
{
    Rows r = rows_of(l);
    struct Pool *pool = l->stream->pool;
    const int64_t n = r.q->size[0] * r.n_query;
    Room m = room_of(&r, 0);
    if (n >= pool_size(pool))
        pool_run(pool, n, task, &r);
    else
        for (int64_t row = 0; row < n; row++) select_of_query(&r, &m, row, pool);
    return KERNEL_OK;
}

static size_t scratch(const Launch *l, int n_threads)
{
    return rows_of(l).thread_bytes * (size_t)n_threads;
}

const KernelDef TABLE[] = {
    { "select_keys", "cpu", "any any any>i32", LEVEL, run, scratch, floats_fit },
    { "select_keys", "cpu", "any any any i32 i32>i32", LEVEL, run, scratch, floats_fit },
    { 0 },
};
