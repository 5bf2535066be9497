/* attention_grad_fast.c - gradients of queries, keys and values, block by block.
 *
 * Weights P = exp(score - lse) are computed again. With D = sum(do * o) of a row, the gradient of a
 * score is dS = P (dP - D) with dP = do v^T; then dv = P^T do, dk = dS^T q, dq = dS k. A task takes
 * all rows of one head, so that sums over rows stay in its own memory; where there are few heads,
 * their rows are dealt out to a number of pieces that depends on the sizes only, and the sums of
 * the pieces are added in order. */
#include "ops/attention_ring.h"
#include "ops/attention_tiles.h"
#include "ops/kernels.h"

enum { WANTED_TASKS = 16, ROW_BLOCKS_PER_PIECE = 4 };

typedef struct Backward {
    Heads h;
    const Tensor *o, *lse, *out_grad;
    int64_t n_pieces;
    char *pieces; /* scratch: sums of each head and piece, if there are several pieces */
} Backward;

/* Scratch of one thread. What is marked with a star are words in pairs where these are multiplied,
 * and then takes half of its place. */
typedef struct Room {
    Word *keys, *values;            /* [n_key, padded][width] * along the features */
    Word *key_steps;                /* the keys, * along the keys */
    Word *q, *out_grad;             /* [QUERIES][width] * along the rows */
    Word *rows;                     /* [QUERIES][width], to be transposed */
    Word *q_columns, *grad_columns; /* [width][QUERIES] * along the features */
    float *q_grad;                  /* [width][QUERIES] */
    float *weights, *slopes;        /* [KEYS][QUERIES] */
    float *factors;                 /* [KEYS][QUERIES] */
    Word *weight_rows, *slope_rows; /* [KEYS][QUERIES] * along the rows */
    Word *slope_keys;               /* [KEYS][QUERIES] * along the keys */
    float *sums;                    /* gradients of keys, then of values */
    void *places;
} Room;

/* What is known of each row of a block: lse in units of log 2, and D. */
typedef struct RowValues {
    float shift[QUERIES], d[QUERIES];
} RowValues;

static Backward backward_of(const Launch *l)
{
    Backward w = { .h = heads_of(l), .o = &l->in[l->n_in - 3] };
    w.lse = w.o + 1;
    w.out_grad = w.o + 2;
    heads_take_pairs(&w.h, w.out_grad);
    int64_t n_heads = w.h.n_batch * w.h.n_group, most = w.h.n_row_blocks / ROW_BLOCKS_PER_PIECE;
    w.n_pieces = chunk_count(WANTED_TASKS, n_heads > 0 ? n_heads : 1);
    if (w.n_pieces > most) w.n_pieces = most;
    if (w.n_pieces < 1) w.n_pieces = 1;
    return w;
}

/* Whole tiles of keys may reach after the last key. */
static int64_t key_floats(const Heads *h)
{
    return (h->n_key + KEYS_BEYOND) * h->width;
}

static size_t piece_bytes(const Heads *h)
{
    return 2 * sizeof(float) * (size_t)key_floats(h);
}

static size_t pieces_bytes(const Backward *w)
{
    const Heads *h = &w->h;
    return w->n_pieces > 1 ? piece_bytes(h) * (size_t)(h->n_batch * h->n_group * w->n_pieces) : 0;
}

static size_t thread_bytes(const Heads *h)
{
    int64_t floats = 5 * key_floats(h) + 6 * QUERIES * h->width + 6 * KEYS * QUERIES;
    return sizeof(float) * (size_t)floats + key_places_bytes(h);
}

static Room room_of(const Backward *w, int thread)
{
    const Heads *h = &w->h;
    int64_t block = QUERIES * h->width, scores = KEYS * QUERIES;
    char *at = (char *)h->l->scratch + pieces_bytes(w) + thread_bytes(h) * (size_t)thread;
    Room r = { .keys = (Word *)at };
    r.values = r.keys + key_floats(h);
    r.key_steps = h->pairs ? r.values + key_floats(h) : r.keys;
    r.sums = (float *)r.values + 2 * key_floats(h);
    r.rows = r.sums + 2 * key_floats(h);
    r.q = r.rows + block;
    r.out_grad = r.q + block;
    r.q_columns = r.out_grad + block;
    r.grad_columns = r.q_columns + block;
    r.q_grad = (float *)r.grad_columns + block;
    r.weights = r.q_grad + block;
    r.slopes = r.weights + scores;
    r.factors = r.slopes + scores;
    r.weight_rows = h->pairs ? r.factors + scores : r.weights;
    r.slope_rows = h->pairs ? r.factors + 2 * scores : r.slopes;
    r.slope_keys = h->pairs ? r.factors + 3 * scores : r.slopes;
    r.places = r.factors + 4 * scores;
    return r;
}

/* Missing rows get weight 0 by an infinite shift; rows that see no key have only masked scores. */
static void row_values(const Backward *w, int64_t b, int64_t g, int64_t first, int64_t n,
                       RowValues *out)
{
    const Heads *h = &w->h;
    for (int64_t r = 0; r < QUERIES; r++) {
        out->shift[r] = INFINITY;
        out->d[r] = 0;
        if (r >= n) continue;
        int64_t at = query_at(h, b, g, first + r);
        float lse = ((const float *)w->lse->data)[at / h->d];
        out->shift[r] = lse == -INFINITY ? 0 : lse * log2_e;
        Vec sum = vec_set(0);
        for (int64_t i = 0; i < h->d; i += LANES) {
            int64_t left = h->d - i < LANES ? h->d - i : LANES;
            Vec o = vec_get(w->o->dtype, w->o->data, at + i, left);
            sum = vec_fma(o, vec_get(w->out_grad->dtype, w->out_grad->data, at + i, left), sum);
        }
        out->d[r] = vec_sum(sum);
    }
}

/* Scores become weights P, dP becomes dS; for the products with rows, P has the factors of dropout.
 */
INLINE void slopes_of(const Heads *h, const Room *room, const RowValues *rows, int64_t n_keys,
                      bool pairs)
{
    enum { STEP = 2 };
    const int step = pairs ? STEP : 1;
    const bool capped = h->a->soft_cap > 0, drops = h->a->dropout > 0;
    const float *scores = room->weights, *dp_at = room->slopes, *factors = room->factors;
    Word *weight_rows = room->weight_rows, *slope_rows = room->slope_rows;
    Word *slope_keys = room->slope_keys;
    const Vec scale = vec_set(h->scale), score_scale = vec_set(capped_scale(h));
    const Vec per_cap = vec_set(capped ? 1 / ((float)h->a->soft_cap * log2_e) : 0);
    for (int64_t j = 0; j < n_keys; j += step) {
        Vec p[STEP * QV], ds[STEP * QV];
        const int64_t at = j * QUERIES;
#pragma GCC unroll 6
        for (int v = 0; v < step * QV; v++) {
            Vec s = vec_load(scores + at + v * LANES);
            Vec shift = vec_load(rows->shift + v % QV * LANES);
            p[v] = pairs ? vec_fma(s, score_scale, -shift) : s - shift;
        }
        vec_exp2_each(p, step * QV);
#pragma GCC unroll 6
        for (int v = 0; v < step * QV; v++) {
            Vec d = vec_load(rows->d + v % QV * LANES), dp = vec_load(dp_at + at + v * LANES);
            Vec drop = drops ? vec_load(factors + at + v * LANES) : vec_set(1);
            if (drops) dp *= drop;
            ds[v] = p[v] * (dp - d) * scale;
            if (capped) { /* the slope of tanh; a masked score counts as its lower bound */
                Vec t = vec_max(vec_load(scores + at + v * LANES) * per_cap, vec_set(-1));
                ds[v] *= vec_fnma(t, t, vec_set(1));
            }
            if (drops) p[v] *= drop;
            if (pairs) {
                vec_store_bf16((bf16 *)weight_rows + at + v * LANES, p[v]);
                vec_store_bf16((bf16 *)slope_rows + at + v * LANES, ds[v]);
            } else {
                vec_store(weight_rows + at + v * LANES, p[v]);
                vec_store(slope_rows + at + v * LANES, ds[v]);
            }
        }
#pragma GCC unroll 3
        for (int v = 0; v < QV && pairs; v++)
            vec_store(slope_keys + at / step + v * LANES,
                      vec_round_pairs(ds[v], ds[(step - 1) * QV + v]));
    }
}

/* An odd last key gets a partner that nobody sees. */
INLINE void add_partner(const Room *room, int64_t n_keys)
{
    for (int64_t i = n_keys * QUERIES; i < (n_keys + n_keys % 2) * QUERIES; i++) {
        room->weights[i] = -INFINITY;
        room->slopes[i] = room->factors[i] = 0;
    }
}

/* Keys that fill up the last tile of sum_rows exist, but these rows do not see them. */
INLINE void clear_to_whole_tile(int64_t n_keys, Word *weights, bool pairs)
{
    int64_t to = (n_keys + SUM_KEYS_AT_ONCE - 1) / SUM_KEYS_AT_ONCE * SUM_KEYS_AT_ONCE;
    int64_t words = QUERIES / (pairs ? 2 : 1);
    memset(weights + n_keys * words, 0, sizeof(Word) * (size_t)((to - n_keys) * words));
}

/* One block of rows against one block of keys. */
INLINE void add_block(const Backward *w, const Room *room, const KeyPlaces *places,
                      const RowPlaces *rows, const RowValues *values, const Seen *seen, int64_t b,
                      int64_t g, int64_t first, int64_t n, float *sums, bool pairs)
{
    const Heads *h = &w->h;
    int64_t n_keys = seen->to - seen->from, at = seen->from * h->width;
    float *masked = room->weights + (seen->masked - seen->from) * QUERIES;
    (pairs ? score_keys_pairs : score_keys)(h->steps, room->keys + at, h->width, n_keys,
                                            room->q_columns, room->weights);
    (pairs ? score_keys_pairs : score_keys)(h->steps, room->values + at, h->width, n_keys,
                                            room->grad_columns, room->slopes);
    cap_scores(h, n_keys, room->weights);
    lower_scores(h, places, rows, seen, room->weights);
    mask_scores(h, places, rows, seen, masked);
    if (h->a->dropout > 0) drop_factors(h, b, g, first, n, seen, room->factors);
    if (pairs) add_partner(room, n_keys);
    slopes_of(h, room, values, n_keys, pairs);
    clear_to_whole_tile(n_keys, room->slope_rows, pairs);
    clear_to_whole_tile(n_keys, room->weight_rows, pairs);
    int64_t row_steps = pairs ? (n + 1) / 2 : n, key_steps = pairs ? (n_keys + 1) / 2 : n_keys;
    (pairs ? sum_rows_pairs : sum_rows)(n_keys, row_steps, room->slope_rows, room->q, h->width,
                                        sums + at);
    (pairs ? sum_rows_pairs : sum_rows)(n_keys, row_steps, room->weight_rows, room->out_grad,
                                        h->width, sums + key_floats(h) + at);
    if (pairs)
        sum_keys_pairs(h->d, keys_to_sum_from(h, room->key_steps, seen->from), sum_row(h),
                       key_steps, room->slope_keys, room->q_grad);
    else
        sum_keys(h->d, room->key_steps + at, h->width, key_steps, room->slope_keys, room->q_grad);
}

/* Rows of something like q as columns, and as the right operand of a product. */
INLINE void take_rows(const Heads *h, const Room *room, const Tensor *t, int64_t b, int64_t g,
                      int64_t first, int64_t n, float factor, Word *columns, Word *rows, bool pairs)
{
    Word *copy = pairs ? room->rows : rows;
    copy_rows(h, t, b, g, first, n, copy, pairs);
    transpose_rows(h, copy, factor, columns, pairs);
    if (pairs) pair_rows(h, t, b, g, first, n, rows);
}

INLINE void add_rows(const Backward *w, const Room *room, const KeyPlaces *places, int64_t b,
                     int64_t g, int64_t first, float *sums, bool pairs)
{
    const Heads *h = &w->h;
    int64_t n = h->n_rows - first < QUERIES ? h->n_rows - first : QUERIES;
    RowPlaces rows;
    RowValues values;
    row_places(h, b, g, first, n, &rows);
    take_rows(h, room, h->q, b, g, first, n, h->query_scale, room->q_columns, room->q, pairs);
    take_rows(h, room, w->out_grad, b, g, first, n, 1, room->grad_columns, room->out_grad, pairs);
    row_values(w, b, g, first, n, &values);
    memset(room->q_grad, 0, sizeof(float) * (size_t)(QUERIES * h->width));
    for (int64_t block = 0; block < h->n_key_blocks; block++) {
        Seen seen = keys_seen(h, places, &rows, block);
        if (seen.to > seen.from)
            add_block(w, room, places, &rows, &values, &seen, b, g, first, n, sums, pairs);
    }
    float ones[QUERIES];
    for (int i = 0; i < QUERIES; i++) ones[i] = 1;
    put_columns(h, room->q_grad, ones, &h->l->out[0], b, g, first, n);
}

NOINLINE void add_rows_floats(const Backward *w, const Room *room, const KeyPlaces *places,
                              int64_t b, int64_t g, int64_t first, float *sums)
{
    add_rows(w, room, places, b, g, first, sums, false);
}

NOINLINE void add_rows_pairs(const Backward *w, const Room *room, const KeyPlaces *places,
                             int64_t b, int64_t g, int64_t first, float *sums)
{
    add_rows(w, room, places, b, g, first, sums, true);
}

/* Writes the gradients of the keys and values of a head: the sum of `n` arrays. */
static void put_sums(const Heads *h, const float *sums, int64_t n, int64_t b, int64_t g)
{
    int64_t next = (int64_t)(piece_bytes(h) / sizeof(float));
    for (int which = 0; which < 2; which++)
        for (int64_t j = 0; j < h->n_key; j++)
            for (int64_t i = 0; i < h->d; i += LANES) {
                const Tensor *t = &h->l->out[1 + which];
                const float *at = sums + which * key_floats(h) + j * h->width + i;
                Vec sum = vec_load(at);
                for (int64_t p = 1; p < n; p++) sum += vec_load(at + p * next);
                vec_put(t->dtype, t->data, key_at(h, b, g, j) + i,
                        h->d - i < LANES ? h->d - i : LANES, sum);
            }
}

/* One piece of the rows of a head; the pieces take row blocks in turn. */
static void piece_task(void *arg, int64_t i, int thread)
{
    const Backward *w = arg;
    const Heads *h = &w->h;
    const Room room = room_of(w, thread);
    int64_t head = i / w->n_pieces, b = head / h->n_group, g = head % h->n_group;
    float *sums = w->n_pieces > 1 ? (float *)(w->pieces + piece_bytes(h) * (size_t)i) : room.sums;
    KeyPlaces places = key_places(h, room.places, b);
    copy_keys(h, h->k, b, g, room.keys, h->pairs);
    copy_keys(h, h->v, b, g, room.values, h->pairs);
    if (h->pairs) keys_to_sum(h, h->k, b, g, room.key_steps);
    memset(sums, 0, piece_bytes(h));
    if (TILES) amx_begin();
    for (int64_t block = i % w->n_pieces; block < h->n_row_blocks; block += w->n_pieces)
        (TILES || h->pairs ? add_rows_pairs : add_rows_floats)(w, &room, &places, b, g,
                                                               block * QUERIES, sums);
    if (TILES) amx_end();
    if (w->n_pieces == 1) put_sums(h, sums, 1, b, g);
}

static void put_task(void *arg, int64_t head, int thread)
{
    (void)thread;
    const Backward *w = arg;
    const Heads *h = &w->h;
    const char *sums = w->pieces + piece_bytes(h) * (size_t)(head * w->n_pieces);
    put_sums(h, (const float *)sums, w->n_pieces, head / h->n_group, head % h->n_group);
}

static int backward(const Launch *l)
{
    Backward w = backward_of(l);
    int64_t n_heads = w.h.n_batch * w.h.n_group;
    w.pieces = l->scratch;
    pool_run(l->stream->pool, n_heads * w.n_pieces, piece_task, &w);
    if (w.n_pieces > 1) pool_run(l->stream->pool, n_heads, put_task, &w);
    return KERNEL_OK;
}

static int ring(const Launch *l)
{
    return attention_ring_grad(l, backward, l->scratch,
                               (char *)l->scratch + attention_ring_bytes(l));
}

static size_t scratch(const Launch *l, int n_threads)
{
    Backward w = backward_of(l);
    return attention_ring_bytes(l) + pieces_bytes(&w) + thread_bytes(&w.h) * (size_t)n_threads;
}

static bool serves(const Launch *l)
{
    Heads h;
    return floats_fit(l) && tensor_count(&l->in[0]) > 0 && tensor_count(&l->in[1]) > 0 &&
           l->in[l->n_in - 2].dtype == F32 &&
           (!TILES || heads_would_pair(l, &l->in[l->n_in - 1], &h));
}

/* clang-format off */
const KernelDef TABLE[] = {
    { "attention_grad", "cpu", TILES ? "bf16 bf16 bf16 any f32 bf16>any any any" : "any any any any f32 any>any any any", PRODUCT_LEVEL, backward, scratch, serves },
    { "attention_grad", "cpu", TILES ? "bf16 bf16 bf16 i32 i32 any f32 bf16>any any any" : "any any any i32 i32 any f32 any>any any any", PRODUCT_LEVEL, backward, scratch, serves },
    { "ring_attention_grad", "cpu", TILES ? "bf16 bf16 bf16 any f32 bf16>any any any" : "any any any any f32 any>any any any", PRODUCT_LEVEL, ring, scratch, serves },
    { "ring_attention_grad", "cpu", TILES ? "bf16 bf16 bf16 i32 i32 any f32 bf16>any any any" : "any any any i32 i32 any f32 any>any any any", PRODUCT_LEVEL, ring, scratch, serves },
    { 0 },
};
/* clang-format on */
