/* attention_fast.c - softmax(q k^T) v in one pass over the keys (Dao et al. 2022).
 *
 * For each block of rows, running maximum and sum of the exponentials are kept; when a block of
 * keys raises the maximum, what was summed before is scaled down. Nothing of size rows times keys
 * is stored. A task is one block of rows of one head. */
#include "ops/attention_few.h"
#include "ops/attention_tiles.h"
#include "ops/kernels.h"

enum { ROW_BLOCKS_PER_TASK = 16 };

/* Scratch of one thread. */
typedef struct Room {
    float *keys, *values;           /* [n_key, padded][width] */
    float *rows, *columns, *result; /* [QUERIES][width], [width][QUERIES] twice */
    float *scores, *factors;        /* [KEYS][QUERIES] */
    void *places;
} Room;

typedef struct Forward {
    Heads h;
    int64_t n_tasks_per_head;
    size_t thread_bytes;
} Forward;

static int64_t key_floats(const Heads *h)
{
    return (h->n_key + KEYS_BEYOND) * h->width;
}

static size_t thread_bytes(const Heads *h)
{
    int64_t floats = 2 * key_floats(h) + 3 * QUERIES * h->width + 2 * KEYS * QUERIES;
    return sizeof(float) * (size_t)floats + key_places_bytes(h);
}

static Room room_of(const Forward *f, int thread)
{
    const Heads *h = &f->h;
    int64_t block = QUERIES * h->width;
    Room r = { .keys = (float *)((char *)h->l->scratch + f->thread_bytes * (size_t)thread) };
    r.values = r.keys + key_floats(h);
    r.rows = r.values + key_floats(h);
    r.columns = r.rows + block;
    r.result = r.columns + block;
    r.scores = r.result + block;
    r.factors = r.scores + KEYS * QUERIES;
    r.places = r.factors + KEYS * QUERIES;
    return r;
}

/* Running maximum and sum of a block of rows. */
typedef struct Running {
    Vec largest[QV], sum[QV];
} Running;

/* Scores of one block of keys become weights 2^(score - largest); earlier results are scaled to the
 * new maximum. A row that has seen no key yet has maximum minus infinity: 0 stands in for it. */
INLINE void soften(const Heads *h, Running *run, int64_t n_keys, float *scores, float *result)
{
    Vec largest[QV], sum[QV], factor[QV];
#pragma GCC unroll 3
    for (int v = 0; v < QV; v++) largest[v] = run->largest[v];
    for (int64_t j = 0; j < n_keys; j++)
#pragma GCC unroll 3
        for (int v = 0; v < QV; v++)
            largest[v] = vec_max(largest[v], vec_load(scores + j * QUERIES + v * LANES));
#pragma GCC unroll 3
    for (int v = 0; v < QV; v++) {
        VecInt none = largest[v] == vec_set(-INFINITY);
        factor[v] = run->largest[v];
        run->largest[v] = largest[v];
        largest[v] = vec_keep(~none, largest[v]);
        factor[v] -= largest[v];
        sum[v] = vec_set(0);
    }
    for (int64_t j = 0; j < n_keys; j++) {
        Vec p[QV];
        float *at = scores + j * QUERIES;
#pragma GCC unroll 3
        for (int v = 0; v < QV; v++) p[v] = vec_load(at + v * LANES) - largest[v];
        vec_exp2_each(p, QV);
#pragma GCC unroll 3
        for (int v = 0; v < QV; v++) {
            vec_store(at + v * LANES, p[v]);
            sum[v] += p[v];
        }
    }
    vec_exp2_each(factor, QV);
#pragma GCC unroll 3
    for (int v = 0; v < QV; v++) run->sum[v] = vec_fma(run->sum[v], factor[v], sum[v]);
    for (int64_t i = 0; i < h->d; i++)
#pragma GCC unroll 3
        for (int v = 0; v < QV; v++) {
            float *at = result + i * QUERIES + v * LANES;
            vec_store(at, vec_load(at) * factor[v]);
        }
}

/* Writes o = result / sum and lse; a row without keys gets 0 and minus infinity. */
static void finish_rows(const Heads *h, const Room *room, const Running *run, int64_t b, int64_t g,
                        int64_t first, int64_t n)
{
    float sum[QUERIES], largest[QUERIES], inverse[QUERIES];
    for (int v = 0; v < QV; v++) {
        vec_store(sum + v * LANES, run->sum[v]);
        vec_store(largest + v * LANES, run->largest[v]);
    }
    float *lse = h->l->out[1].data;
    for (int64_t i = 0; i < n; i++) {
        inverse[i] = sum[i] == 0 ? 0 : 1 / sum[i];
        lse[query_at(h, b, g, first + i) / h->d] =
            sum[i] == 0 ? -INFINITY : (float)(largest[i] * (double)log_2 + log(sum[i]));
    }
    put_columns(h, room->result, inverse, &h->l->out[0], b, g, first, n);
}

static void attend(const Heads *h, const Room *room, const KeyPlaces *places, int64_t b, int64_t g,
                   int64_t first)
{
    int64_t n = h->n_rows - first < QUERIES ? h->n_rows - first : QUERIES;
    RowPlaces rows;
    Running run;
    row_places(h, b, first, n, &rows);
    copy_rows(h, h->q, b, g, first, n, room->rows);
    transpose_rows(h, room->rows, h->query_scale, room->columns);
    memset(room->result, 0, sizeof(float) * (size_t)(QUERIES * h->width));
    for (int v = 0; v < QV; v++) {
        run.largest[v] = vec_set(-INFINITY);
        run.sum[v] = vec_set(0);
    }
    for (int64_t block = 0; block < h->n_key_blocks; block++) {
        Seen seen = keys_seen(h, places, &rows, block);
        int64_t n_keys = seen.to - seen.from;
        if (n_keys <= 0) continue;
        const float *keys = room->keys + seen.from * h->width;
        score_keys(h->d, keys, h->width, n_keys, room->columns, room->scores);
        cap_scores(h, n_keys, room->scores);
        if (seen.masked) mask_scores(h, places, &rows, &seen, room->scores);
        soften(h, &run, n_keys, room->scores, room->result);
        if (h->a->dropout > 0) {
            drop_factors(h, b, g, first, n, &seen, room->factors);
            for (int64_t i = 0; i < n_keys * QUERIES; i += LANES)
                vec_store(room->scores + i,
                          vec_load(room->scores + i) * vec_load(room->factors + i));
        }
        sum_keys(h->d, room->values + seen.from * h->width, h->width, n_keys, room->scores,
                 room->result);
    }
    finish_rows(h, room, &run, b, g, first, n);
}

/* Some row blocks of one head. The last ones, which see most keys, come first. */
static void attend_task(void *arg, int64_t i, int thread)
{
    const Forward *f = arg;
    const Heads *h = &f->h;
    const Room room = room_of(f, thread);
    int64_t n_heads = h->n_batch * h->n_group, head = i % n_heads;
    int64_t b = head / h->n_group, g = head % h->n_group,
            task = f->n_tasks_per_head - 1 - i / n_heads;
    KeyPlaces places = key_places(h, room.places, b);
    copy_keys(h, h->k, b, g, h->n_key, room.keys);
    copy_keys(h, h->v, b, g, h->n_key, room.values);
    int64_t from, to;
    split_range(h->n_row_blocks, f->n_tasks_per_head, task, &from, &to);
    for (int64_t block = from; block < to; block++)
        attend(h, &room, &places, b, g, block * QUERIES);
}

static int forward(const Launch *l)
{
    Forward f = { .h = heads_of(l) };
    if (few_rows(&f.h)) return attend_few(&f.h);
    f.n_tasks_per_head = chunk_count(f.h.n_row_blocks, ROW_BLOCKS_PER_TASK);
    f.thread_bytes = thread_bytes(&f.h);
    pool_run(l->stream->pool, f.h.n_batch * f.h.n_group * f.n_tasks_per_head, attend_task, &f);
    return KERNEL_OK;
}

static size_t scratch(const Launch *l, int n_threads)
{
    Heads h = heads_of(l);
    return (size_t)n_threads * (few_rows(&h) ? few_rows_bytes(&h) : thread_bytes(&h));
}

static bool serves(const Launch *l)
{
    return floats_fit(l) && tensor_count(&l->in[0]) > 0 && tensor_count(&l->in[1]) > 0;
}

const KernelDef TABLE[] = {
    { "attention", "cpu", "any any any>any f32", LEVEL, forward, scratch, serves },
    { "attention", "cpu", "any any any i32 i32>any f32", LEVEL, forward, scratch, serves },
    { 0 },
};
