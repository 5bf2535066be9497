/* select_keys_fast.c - the keys that a lightning indexer scores highest.
 *
 * A task is a query, or, where threads are more than queries, some keys of one. Its scores are
 * written down, and a key counts if its score is above the n-th highest, which is found by its four
 * bytes from the first to the last. */
#include "ops/index_scores.h"
#include "ops/kernels.h"
#include "ops/select_keys.h"
#include <string.h>

enum { BYTES = 256, KEYS_PER_TASK = 512 };

typedef struct Rows {
    const Launch *l;
    Indexer x;
    int64_t n;
    size_t thread_bytes;
} Rows;

/* Of a thread. */
typedef struct Room {
    IndexQuery query;
    uint32_t *order; /* of the scores of what is seen, and the keys themselves */
    int32_t *key;
} Room;

static Rows rows_of(const Launch *l)
{
    Rows r = { .l = l, .x = indexer_of(l), .n = l->out[0].size[2] };
    r.thread_bytes = sizeof(float) * (size_t)(index_query_floats(&r.x) + 2 * r.x.n_key);
    r.thread_bytes = (r.thread_bytes + 63) / 64 * 64;
    return r;
}

static Room room_of(const Rows *r, int thread)
{
    float *room = (float *)((char *)r->l->scratch + r->thread_bytes * (size_t)thread);
    Room m = { .query = index_query_at(&r->x, room) };
    m.order = (uint32_t *)(room + index_query_floats(&r->x));
    m.key = (int32_t *)(m.order + r->x.n_key);
    return m;
}

/* The keys that a query sees, in ascending order; returns their number. */
static int64_t find_seen(const Rows *r, int64_t row, int32_t *key)
{
    const int64_t b = row / r->x.n_query, position = global_index(r->x.q, 1, row % r->x.n_query) +
                                                     row_position(r->l->now, b);
    const int64_t rate = ((const SelectKeys *)r->l->attrs)->rate,
                  seen = position < 0 ? 0 : (position + 1) / rate;
    const bool in_order = !r->x.k->part[1], by_document = r->l->n_in == 5;
    const int32_t *documents = by_document ? r->l->in[3].data : NULL,
                  *of_keys =
                      by_document ? (const int32_t *)r->l->in[4].data + b * r->x.n_key : NULL;
    const int64_t end = in_order && seen < r->x.n_key ? seen : r->x.n_key;
    int64_t n = 0;
    for (int64_t j = 0; j < end; j++) {
        if (!in_order && global_index(r->x.k, 1, j) >= seen) continue;
        if (by_document && documents[row] != of_keys[j]) continue;
        key[n++] = (int32_t)j;
    }
    return n;
}

/* Of the seen keys [from, to), which are those of a sequence from `first` on. */
NOINLINE void score_all(const Rows *r, const Room *m, int64_t first, int64_t from, int64_t to)
{
    for (int64_t i = from; i < to; i++) {
        const int64_t key = first + m->key[i];
        m->order[i] = score_order(r->x.k->dtype == BF16 ? index_score(&r->x, &m->query, key, BF16)
                                                        : index_score(&r->x, &m->query, key, F32));
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
    const int64_t first = row / r->x.n_query * r->x.n_key;
    int64_t n = find_seen(r, row, m->key);
    if (n > r->n) {
        Shared w = { r, m, first, n };
        index_query_load(&r->x, row, &m->query);
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
    const int64_t n = r.x.q->size[0] * r.x.n_query;
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
