/* attention_fast.c - softmax(q k^T) v in one pass over the keys (Dao et al. 2022).
 *
 * For each block of rows, running maximum and sum of the exponentials are kept; when a block of
 * keys raises the maximum, what was summed before is scaled down. Nothing of size rows times keys
 * is stored. A task is one block of rows of one head. */
#include "ops/attention_few.h"
#include "ops/attention_ring.h"
#include "ops/attention_tiles.h"
#include "ops/kernels.h"

enum { ROW_BLOCKS_PER_TASK = 16 };

/* Scratch of one thread. */
typedef struct Room {
    Word *keys, *values;     /* [n_key, padded][width]; values in pairs: [n_key / 2][width] */
    Word *rows, *columns;    /* [QUERIES][width], [width][QUERIES] */
    float *result;           /* [width][QUERIES] */
    float *scores, *factors; /* [KEYS][QUERIES] */
    Word *weights;           /* the same as scores, or in pairs: [KEYS / 2][QUERIES] */
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
    int64_t floats = 2 * key_floats(h) + 3 * QUERIES * h->width + 3 * KEYS * QUERIES;
    return sizeof(float) * (size_t)floats + key_places_bytes(h);
}

static Room room_of(const Forward *f, int thread)
{
    const Heads *h = &f->h;
    int64_t block = QUERIES * h->width;
    Room r = { .keys = (Word *)((char *)h->l->scratch + f->thread_bytes * (size_t)thread) };
    r.values = r.keys + key_floats(h);
    r.rows = r.values + key_floats(h);
    r.columns = r.rows + block;
    r.result = (float *)r.columns + block;
    r.scores = r.result + block;
    r.factors = r.scores + KEYS * QUERIES;
    r.weights = h->pairs ? r.factors + KEYS * QUERIES : r.scores;
    r.places = r.factors + 2 * KEYS * QUERIES;
    return r;
}

/* Running maximum and sum of a block of rows. */
typedef struct Running {
    Vec largest[QV], sum[QV];
} Running;

/* What is the maximum so far becomes that of the scores, too; returns what to take off each score
 * in units of log 2, and the factor for earlier results. A row that has seen no key yet has maximum
 * minus infinity: 0 stands in for it. */
INLINE void raise_largest(Running *run, int64_t n_keys, const float *scores, Vec scale,
                          Vec shift[QV], Vec factor[QV])
{
    Vec largest[QV];
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
        factor[v] = (factor[v] - largest[v]) * scale;
        shift[v] = largest[v] * scale;
    }
    vec_exp2_each(factor, QV);
}

/* Scores of one block of keys become weights 2^(score - largest), times the factors of dropout;
 * earlier results are scaled to the new maximum. In pairs, an odd last key has a partner that
 * nobody sees. */
INLINE void soften(const Heads *h, const Room *room, Running *run, int64_t n_keys, bool pairs)
{
    enum { STEP = 2 };
    const int step = pairs ? STEP : 1;
    const Vec scale = vec_set(capped_scale(h));
    const bool drops = h->a->dropout > 0;
    const float *scores = room->scores, *factors = room->factors;
    Word *weights = room->weights;
    float *result = room->result;
    Vec shift[QV], factor[QV], sum[QV];
    raise_largest(run, n_keys, scores, scale, shift, factor);
#pragma GCC unroll 3
    for (int v = 0; v < QV; v++) sum[v] = vec_set(0);
    for (int64_t j = 0; j < n_keys; j += step) {
        Vec p[STEP * QV];
        const float *at = scores + j * QUERIES;
#pragma GCC unroll 6
        for (int v = 0; v < step * QV; v++) {
            Vec s = vec_load(at + v * LANES);
            p[v] = pairs ? vec_fma(s, scale, -shift[v % QV]) : s - shift[v % QV];
        }
        vec_exp2_each(p, step * QV);
#pragma GCC unroll 6
        for (int v = 0; v < step * QV; v++) {
            sum[v % QV] += p[v];
            if (drops) p[v] *= vec_load(factors + j * QUERIES + v * LANES);
        }
#pragma GCC unroll 3
        for (int v = 0; v < QV; v++) {
            Word *to = weights + j / step * QUERIES + v * LANES;
            vec_store(to, pairs ? vec_round_pairs(p[v], p[(step - 1) * QV + v]) : p[v]);
        }
    }
#pragma GCC unroll 3
    for (int v = 0; v < QV; v++) run->sum[v] = vec_fma(run->sum[v], factor[v], sum[v]);
    for (int64_t i = 0, d = h->d; i < d; i++)
#pragma GCC unroll 3
        for (int v = 0; v < QV; v++) {
            float *to = result + i * QUERIES + v * LANES;
            vec_store(to, vec_load(to) * factor[v]);
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
    double to_log = (double)log_2 * capped_scale(h);
    for (int64_t i = 0; i < n; i++) {
        inverse[i] = sum[i] == 0 ? 0 : 1 / sum[i];
        lse[query_at(h, b, g, first + i) / h->d] =
            sum[i] == 0 ? -INFINITY : (float)(largest[i] * to_log + log(sum[i]));
    }
    put_columns(h, room->result, inverse, &h->l->out[0], b, g, first, n);
}

/* One block of rows against the keys [from, to) of one block. */
INLINE void attend_block(const Heads *h, const Room *room, const KeyPlaces *places,
                         const RowPlaces *rows, const Seen *seen, int64_t b, int64_t g,
                         int64_t first, int64_t n, Running *run, bool pairs)
{
    int64_t n_keys = seen->to - seen->from;
    const Word *keys = room->keys + seen->from * h->width;
    float *masked = room->scores + (seen->masked - seen->from) * QUERIES;
    (pairs ? score_keys_pairs : score_keys)(h->steps, keys, h->width, n_keys, room->columns,
                                            room->scores);
    cap_scores(h, n_keys, room->scores);
    lower_scores(h, places, rows, seen, room->scores);
    mask_scores(h, places, rows, seen, masked);
    if (h->a->dropout > 0) drop_factors(h, b, g, first, n, seen, room->factors);
    for (int64_t i = n_keys * QUERIES; pairs && i < (n_keys + n_keys % 2) * QUERIES; i++) {
        room->scores[i] = -INFINITY;
        room->factors[i] = 0;
    }
    soften(h, room, run, n_keys, pairs);
    if (pairs)
        sum_keys_pairs(h->d, keys_to_sum_from(h, room->values, seen->from), sum_row(h),
                       (n_keys + 1) / 2, room->weights, room->result);
    else
        sum_keys(h->d, room->values + seen->from * h->width, h->width, n_keys, room->weights,
                 room->result);
}

INLINE void attend(const Heads *h, const Room *room, const KeyPlaces *places, int64_t b, int64_t g,
                   int64_t first, bool pairs)
{
    int64_t n = h->n_rows - first < QUERIES ? h->n_rows - first : QUERIES;
    RowPlaces rows;
    Running run;
    row_places(h, b, g, first, n, &rows);
    copy_rows(h, h->q, b, g, first, n, room->rows, pairs);
    transpose_rows(h, room->rows, h->query_scale, room->columns, pairs);
    memset(room->result, 0, sizeof(float) * (size_t)(QUERIES * h->width));
    for (int v = 0; v < QV; v++) {
        run.largest[v] = vec_set(-INFINITY);
        run.sum[v] = vec_set(0);
    }
    for (int64_t block = 0; block * KEYS < h->n_seen; block++) {
        Seen seen = keys_seen(h, places, &rows, block);
        if (seen.to > seen.from)
            attend_block(h, room, places, &rows, &seen, b, g, first, n, &run, pairs);
    }
    finish_rows(h, room, &run, b, g, first, n);
}

NOINLINE void attend_floats(const Heads *h, const Room *room, const KeyPlaces *places, int64_t b,
                            int64_t g, int64_t first)
{
    attend(h, room, places, b, g, first, false);
}

NOINLINE void attend_pairs(const Heads *h, const Room *room, const KeyPlaces *places, int64_t b,
                           int64_t g, int64_t first)
{
    attend(h, room, places, b, g, first, true);
}

/* Some row blocks of one head. The last ones, which see most keys, come first. */
static void attend_task(void *arg, int64_t i, int thread)
{
    const Forward *f = arg;
    const Room room = room_of(f, thread);
    const int64_t n_heads = f->h.n_batch * f->h.n_group, head = i % n_heads;
    const int64_t b = head / f->h.n_group, g = head % f->h.n_group,
                  task = f->n_tasks_per_head - 1 - i / n_heads;
    int64_t from, to;
    split_range(f->h.n_row_blocks, f->n_tasks_per_head, task, &from, &to);
    Heads h = f->h;
    heads_look_at(&h, b, to * QUERIES < h.n_rows ? to * QUERIES : h.n_rows);
    const KeyPlaces places = key_places(&h, room.places, b);
    copy_keys(&h, h.k, b, g, room.keys, h.pairs);
    if (h.pairs)
        keys_to_sum(&h, h.v, b, g, room.values);
    else
        copy_keys(&h, h.v, b, g, room.values, false);
    if (TILES) amx_begin();
    for (int64_t block = from; block < to; block++)
        (TILES || h.pairs ? attend_pairs : attend_floats)(&h, &room, &places, b, g,
                                                          block * QUERIES);
    if (TILES) amx_end();
}

static int forward(const Launch *l)
{
    Forward f = { .h = heads_of(l) };
    if (few_rows(&f.h)) return attend_few(&f.h);
    heads_take_pairs(&f.h, NULL);
    f.n_tasks_per_head = chunk_count(f.h.n_row_blocks, ROW_BLOCKS_PER_TASK);
    f.thread_bytes = thread_bytes(&f.h);
    pool_run(l->stream->pool, f.h.n_batch * f.h.n_group * f.n_tasks_per_head, attend_task, &f);
    return KERNEL_OK;
}

static int ring(const Launch *l)
{
    return attention_ring(l, forward, attention_ring_join, l->scratch,
                          (char *)l->scratch + attention_ring_bytes(l));
}

static size_t scratch(const Launch *l, int n_threads)
{
    Heads h = heads_of(l);
    return attention_ring_bytes(l) +
           (size_t)n_threads * (few_rows(&h) ? few_rows_bytes(&h) : thread_bytes(&h));
}

static bool serves(const Launch *l)
{
    if (!floats_fit(l) || tensor_count(&l->in[0]) == 0 || tensor_count(&l->in[1]) == 0)
        return false;
    Heads h;
    return !TILES || (heads_would_pair(l, NULL, &h) && !few_rows(&h));
}

/* clang-format off */
const KernelDef TABLE[] = {
    { "attention", "cpu", TILES ? "bf16 bf16 bf16>any f32" : "any any any>any f32", PRODUCT_LEVEL, forward, scratch, serves },
    { "attention", "cpu", TILES ? "bf16 bf16 bf16 i32 i32>any f32" : "any any any i32 i32>any f32", PRODUCT_LEVEL, forward, scratch, serves },
    { "ring_attention", "cpu", TILES ? "bf16 bf16 bf16>any f32" : "any any any>any f32", PRODUCT_LEVEL, ring, scratch, serves },
    { "ring_attention", "cpu", TILES ? "bf16 bf16 bf16 i32 i32>any f32" : "any any any i32 i32>any f32", PRODUCT_LEVEL, ring, scratch, serves },
    { 0 },
};
/* clang-format on */
