/* attention_grad_fast.c - gradients of queries, keys and values, block by block.
 *
 * Weights P = exp(score - lse) are computed again. With D = sum(do * o) of a row, the gradient of a
 * score is dS = P (dP - D) with dP = do v^T; then dv = P^T do, dk = dS^T q, dq = dS k. A task takes
 * all rows of one head, so that sums over rows stay in its own memory; where there are few heads,
 * their rows are dealt out to a number of pieces that depends on the sizes only, and the sums of
 * the pieces are added in order. */
#include "ops/attention_tiles.h"
#include "ops/kernels.h"

enum { WANTED_TASKS = 16, ROW_BLOCKS_PER_PIECE = 4 };

typedef struct Backward {
    Heads h;
    const Tensor *o, *lse, *out_grad;
    int64_t n_pieces;
    char *pieces; /* scratch: sums of each head and piece, if there are several pieces */
} Backward;

/* Scratch of one thread. */
typedef struct Room {
    float *keys, *values;                     /* [n_key, padded][width] */
    float *q, *out_grad;                      /* [QUERIES][width] */
    float *q_columns, *grad_columns, *q_grad; /* [width][QUERIES] */
    float *weights, *slopes, *factors;        /* [KEYS][QUERIES] */
    float *sums;                              /* gradients of keys, then of values */
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
    int64_t n_heads = w.h.n_batch * w.h.n_group, most = w.h.n_row_blocks / ROW_BLOCKS_PER_PIECE;
    w.n_pieces = chunk_count(WANTED_TASKS, n_heads > 0 ? n_heads : 1);
    if (w.n_pieces > most) w.n_pieces = most;
    if (w.n_pieces < 1) w.n_pieces = 1;
    return w;
}

/* Whole tiles of keys may reach behind the last key. */
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
    int64_t floats = 4 * key_floats(h) + 5 * QUERIES * h->width + 3 * KEYS * QUERIES;
    return sizeof(float) * (size_t)floats + key_places_bytes(h);
}

static Room room_of(const Backward *w, int thread)
{
    const Heads *h = &w->h;
    int64_t block = QUERIES * h->width, scores = KEYS * QUERIES;
    char *at = (char *)h->l->scratch + pieces_bytes(w) + thread_bytes(h) * (size_t)thread;
    Room r = { .keys = (float *)at };
    r.values = r.keys + key_floats(h);
    r.sums = r.values + key_floats(h);
    r.q = r.sums + 2 * key_floats(h);
    r.out_grad = r.q + block;
    r.q_columns = r.out_grad + block;
    r.grad_columns = r.q_columns + block;
    r.q_grad = r.grad_columns + block;
    r.weights = r.q_grad + block;
    r.slopes = r.weights + scores;
    r.factors = r.slopes + scores;
    r.places = r.factors + scores;
    return r;
}

/* Missing rows get weight 0 by an infinite shift; rows that see no key have only masked scores. */
static void row_values(const Backward *w, const Room *room, int64_t b, int64_t g, int64_t first,
                       int64_t n, RowValues *out)
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
            Vec o = vec_get(w->o->dtype, w->o->data, at + i, h->d - i < LANES ? h->d - i : LANES);
            sum = vec_fma(o, vec_load(room->out_grad + r * h->width + i), sum);
        }
        out->d[r] = vec_sum(sum);
    }
}

/* Scores become weights P, dP becomes dS. */
INLINE void slopes_of(const Heads *h, const RowValues *rows, int64_t n_keys, float *weights,
                      float *slopes)
{
    bool capped = h->a->soft_cap > 0;
    Vec scale = vec_set(h->scale);
    Vec per_cap = vec_set(capped ? 1 / ((float)h->a->soft_cap * log2_e) : 0);
    for (int64_t j = 0; j < n_keys * QUERIES; j += QUERIES) {
        Vec p[QV];
#pragma GCC unroll 3
        for (int v = 0; v < QV; v++)
            p[v] = vec_load(weights + j + v * LANES) - vec_load(rows->shift + v * LANES);
        vec_exp2_each(p, QV);
#pragma GCC unroll 3
        for (int v = 0; v < QV; v++) {
            float *weight = weights + j + v * LANES, *slope = slopes + j + v * LANES;
            Vec ds = p[v] * (vec_load(slope) - vec_load(rows->d + v * LANES)) * scale;
            if (capped) { /* the slope of tanh; a masked score counts as its lower bound */
                Vec t = vec_max(vec_load(weight) * per_cap, vec_set(-1));
                ds *= vec_fnma(t, t, vec_set(1));
            }
            vec_store(slope, ds);
            vec_store(weight, p[v]);
        }
    }
}

INLINE void multiply_factors(int64_t n_keys, const float *factors, float *to)
{
    for (int64_t i = 0; i < n_keys * QUERIES; i += LANES)
        vec_store(to + i, vec_load(to + i) * vec_load(factors + i));
}

/* Keys that fill up the last tile of sum_rows exist, but these rows do not see them. */
INLINE void clear_to_whole_tile(int64_t n_keys, float *weights)
{
    int64_t to = (n_keys + SUM_KEYS - 1) / SUM_KEYS * SUM_KEYS;
    memset(weights + n_keys * QUERIES, 0, sizeof(float) * (size_t)((to - n_keys) * QUERIES));
}

/* One block of rows against one block of keys. */
static void add_block(const Backward *w, const Room *room, const KeyPlaces *places,
                      const RowPlaces *rows, const RowValues *values, const Seen *seen, int64_t b,
                      int64_t g, int64_t first, int64_t n, float *sums)
{
    const Heads *h = &w->h;
    int64_t n_keys = seen->to - seen->from, at = seen->from * h->width;
    bool drops = h->a->dropout > 0;
    score_keys(h->d, room->keys + at, h->width, n_keys, room->q_columns, room->weights);
    score_keys(h->d, room->values + at, h->width, n_keys, room->grad_columns, room->slopes);
    cap_scores(h, n_keys, room->weights);
    if (seen->masked) mask_scores(h, places, rows, seen, room->weights);
    if (drops) {
        drop_factors(h, b, g, first, n, seen, room->factors);
        multiply_factors(n_keys, room->factors, room->slopes);
    }
    slopes_of(h, values, n_keys, room->weights, room->slopes);
    if (drops) multiply_factors(n_keys, room->factors, room->weights);
    clear_to_whole_tile(n_keys, room->slopes);
    clear_to_whole_tile(n_keys, room->weights);
    sum_rows(n_keys, n, room->slopes, room->q, h->width, sums + at);
    sum_rows(n_keys, n, room->weights, room->out_grad, h->width, sums + key_floats(h) + at);
    sum_keys(h->d, room->keys + at, h->width, n_keys, room->slopes, room->q_grad);
}

static void add_rows(const Backward *w, const Room *room, const KeyPlaces *places, int64_t b,
                     int64_t g, int64_t first, float *sums)
{
    const Heads *h = &w->h;
    int64_t n = h->n_rows - first < QUERIES ? h->n_rows - first : QUERIES;
    RowPlaces rows;
    RowValues values;
    row_places(h, b, first, n, &rows);
    copy_rows(h, h->q, b, g, first, n, room->q);
    copy_rows(h, w->out_grad, b, g, first, n, room->out_grad);
    transpose_rows(h, room->q, h->query_scale, room->q_columns);
    transpose_rows(h, room->out_grad, 1, room->grad_columns);
    row_values(w, room, b, g, first, n, &values);
    memset(room->q_grad, 0, sizeof(float) * (size_t)(QUERIES * h->width));
    for (int64_t block = 0; block < h->n_key_blocks; block++) {
        Seen seen = keys_seen(h, places, &rows, block);
        if (seen.to > seen.from)
            add_block(w, room, places, &rows, &values, &seen, b, g, first, n, sums);
    }
    float ones[QUERIES];
    for (int i = 0; i < QUERIES; i++) ones[i] = 1;
    put_columns(h, room->q_grad, ones, &h->l->out[0], b, g, first, n);
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
    copy_keys(h, h->k, b, g, h->n_key, room.keys);
    copy_keys(h, h->v, b, g, h->n_key, room.values);
    memset(sums, 0, piece_bytes(h));
    for (int64_t block = i % w->n_pieces; block < h->n_row_blocks; block += w->n_pieces)
        add_rows(w, &room, &places, b, g, block * QUERIES, sums);
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

static size_t scratch(const Launch *l, int n_threads)
{
    Backward w = backward_of(l);
    return pieces_bytes(&w) + thread_bytes(&w.h) * (size_t)n_threads;
}

static bool serves(const Launch *l)
{
    return floats_fit(l) && tensor_count(&l->in[0]) > 0 && tensor_count(&l->in[1]) > 0 &&
           l->in[l->n_in - 2].dtype == F32;
}

/* clang-format off */
const KernelDef TABLE[] = {
    { "attention_grad", "cpu", "any any any any f32 any>any any any", LEVEL, backward, scratch, serves },
    { "attention_grad", "cpu", "any any any i32 i32 any f32 any>any any any", LEVEL, backward, scratch, serves },
    { 0 },
};
/* clang-format on */
