/* attention_tiles.h - pieces of attention: blocks of queries against blocks of keys.
 *
 * Queries that share a key/value head are rows s * n_repeat + r. LANES of QV vectors hold the rows
 * of one block, keys run down: scores are a tile [key][row], so that the softmax over keys has no
 * horizontal step, and probabilities are at once the right operand of the product with the values.
 * Of the queries only, a block is transposed. Keys and values of a head are copied to rows of
 * `width` floats, padded with zeros, which also widens bf16. Scores are in units of log 2, so that
 * probabilities are powers of 2. */
#ifndef OPS_ATTENTION_TILES_H
#define OPS_ATTENTION_TILES_H
#include "ops/dropout.h"
#include "ops/ops.h"
#include "ops/vector/chunks.h"
#include "ops/vector/vector_math.h"
#include <math.h>

/* QV vectors of queries times KR keys, or DR features: as many sums as there are registers for. */
enum {
    QV = LANES == 8          ? 3
         : PANEL_VECTORS > 1 ? 2
                             : 1,
    QUERIES = QV * LANES,
    KR = PANEL_VECTORS == 4 ? 12 : 4,
    DR = PANEL_VECTORS == 4 ? 8 : 4,
    SUM_KEYS = 6,     /* of a tile of sum_rows */
    KEYS_BEYOND = 12, /* whole tiles may reach so far behind the last key */
    KEYS = 96,        /* of a block; a multiple of KR and SUM_KEYS */
};

/* One launch. */
typedef struct Heads {
    const Launch *l;
    const Attention *a;
    const Tensor *q, *k, *v;
    const int32_t *query_document, *key_document; /* NULL: one document */
    int64_t n_batch, n_query, n_key, n_group, n_repeat, d;
    int64_t width;  /* d rounded up to whole vectors */
    int64_t n_rows; /* per batch and group */
    int64_t n_row_blocks, n_key_blocks;
    float scale;       /* of the products */
    float query_scale; /* of the products, so that scores are as described above */
    uint64_t dropout_key;
} Heads;

INLINE Heads heads_of(const Launch *l)
{
    const Tensor *q = &l->in[0], *k = &l->in[1];
    bool documents = l->n_in == 5 || l->n_in == 8;
    Heads h = { .l = l, .a = l->attrs, .q = q, .k = k, .v = &l->in[2] };
    h.query_document = documents ? l->in[3].data : NULL;
    h.key_document = documents ? l->in[4].data : NULL;
    h.n_batch = q->size[0], h.n_query = q->size[1], h.n_group = q->size[2];
    h.n_repeat = q->size[3], h.d = q->size[4], h.n_key = k->size[1];
    h.width = (h.d + LANES - 1) / LANES * LANES;
    h.n_rows = h.n_query * h.n_repeat;
    h.n_row_blocks = chunk_count(h.n_rows, QUERIES);
    h.n_key_blocks = chunk_count(h.n_key, KEYS);
    h.scale = (float)(h.a->scale != 0 ? h.a->scale : 1 / sqrt((double)h.d));
    h.query_scale = h.a->soft_cap > 0 ? h.scale / (float)h.a->soft_cap : h.scale * log2_e;
    if (h.a->dropout > 0 && l->now) h.dropout_key = dropout_key(l->now, h.a->salt);
    return h;
}

/* The first element of row `row` of q, and of anything shaped like it. */
INLINE int64_t query_at(const Heads *h, int64_t b, int64_t g, int64_t row)
{
    int64_t s = row / h->n_repeat, r = row % h->n_repeat;
    return (((b * h->n_query + s) * h->n_group + g) * h->n_repeat + r) * h->d;
}

INLINE int64_t key_at(const Heads *h, int64_t b, int64_t g, int64_t key)
{
    return ((b * h->n_key + key) * h->n_group + g) * h->d;
}

/* ---- which keys a query sees ---- */

typedef struct Bounds {
    int32_t low, high;
} Bounds;

INLINE Bounds widen(Bounds b, int32_t x)
{
    return (Bounds){ x < b.low ? x : b.low, x > b.high ? x : b.high };
}

/* Positions and documents of the keys of one sequence; scratch of a thread. */
typedef struct KeyPlaces {
    int32_t *position, *document;  /* [n_key] */
    Bounds *positions, *documents; /* of each block */
} KeyPlaces;

INLINE size_t key_places_bytes(const Heads *h)
{
    size_t keys = 2 * sizeof(int32_t) * (size_t)h->n_key;
    return (keys + 2 * sizeof(Bounds) * (size_t)h->n_key_blocks + 63) / 64 * 64;
}

INLINE KeyPlaces key_places(const Heads *h, void *room, int64_t b)
{
    KeyPlaces k = { .positions = room };
    k.documents = k.positions + h->n_key_blocks;
    k.position = (int32_t *)(k.documents + h->n_key_blocks);
    k.document = k.position + h->n_key;
    for (int64_t j = 0; j < h->n_key; j++) {
        int64_t block = j / KEYS;
        k.position[j] = (int32_t)global_index(h->k, 1, j);
        k.document[j] = h->key_document ? h->key_document[b * h->n_key + j] : 0;
        Bounds p = { k.position[j], k.position[j] }, d = { k.document[j], k.document[j] };
        k.positions[block] = j % KEYS ? widen(k.positions[block], k.position[j]) : p;
        k.documents[block] = j % KEYS ? widen(k.documents[block], k.document[j]) : d;
    }
    return k;
}

/* The same of a block of rows; missing rows repeat the last one. */
typedef struct RowPlaces {
    int32_t position[QUERIES], document[QUERIES];
    Bounds positions, documents;
} RowPlaces;

INLINE void row_places(const Heads *h, int64_t b, int64_t first, int64_t n, RowPlaces *out)
{
    for (int64_t i = 0; i < QUERIES; i++) {
        int64_t s = (first + (i < n ? i : n - 1)) / h->n_repeat;
        int32_t p = (int32_t)(global_index(h->q, 1, s) + h->l->now->position);
        int32_t d = h->query_document ? h->query_document[b * h->n_query + s] : 0;
        out->position[i] = p;
        out->document[i] = d;
        out->positions = i ? widen(out->positions, p) : (Bounds){ p, p };
        out->documents = i ? widen(out->documents, d) : (Bounds){ d, d };
    }
}

/* The keys [from, to) of one block that some of the rows may see; `masked`: not all of them do. */
typedef struct Seen {
    int64_t from, to;
    bool masked;
} Seen;

INLINE Seen keys_seen(const Heads *h, const KeyPlaces *k, const RowPlaces *rows, int64_t block)
{
    int64_t from = block * KEYS, to = h->n_key - from < KEYS ? h->n_key : from + KEYS;
    Bounds docs = k->documents[block], places = k->positions[block];
    if (docs.low > rows->documents.high || docs.high < rows->documents.low) return (Seen){ 0 };
    bool masked = docs.low != docs.high || rows->documents.low != rows->documents.high;
    if (!h->a->causal) return (Seen){ from, to, masked };
    int64_t window = h->a->window ? h->a->window : INT32_MAX;
    int64_t oldest = (int64_t)rows->positions.low - window;
    while (to > from && k->position[to - 1] > rows->positions.high) to--;
    while (from < to && k->position[from] <= oldest) from++;
    masked |= places.high > rows->positions.low;
    masked |= places.low <= (int64_t)rows->positions.high - window;
    return (Seen){ from, to, masked };
}

/* Minus infinity where a row does not see a key: scores[key - seen->from][row]. */
INLINE void mask_scores(const Heads *h, const KeyPlaces *k, const RowPlaces *rows, const Seen *seen,
                        float *scores)
{
    int32_t window = h->a->window ? (int32_t)h->a->window : INT32_MAX;
    for (int64_t j = seen->from; j < seen->to; j++, scores += QUERIES)
        for (int v = 0; v < QV; v++) {
            VecInt position = vec_bits(vec_load((const Word *)rows->position + v * LANES));
            VecInt document = vec_bits(vec_load((const Word *)rows->document + v * LANES));
            VecInt sees = document == vec_int_set(k->document[j]);
            if (h->a->causal) {
                VecInt ago = position - vec_int_set(k->position[j]);
                sees &= (ago >= 0) & (ago < vec_int_set(window));
            }
            Vec s = vec_load(scores + v * LANES);
            vec_store(scores + v * LANES, vec_select(sees, s, vec_set(-INFINITY)));
        }
}

/* What dropout multiplies probabilities with: factors[key - seen->from][row]. */
INLINE void drop_factors(const Heads *h, int64_t b, int64_t g, int64_t first, int64_t n,
                         const Seen *seen, float *factors)
{
    const Tensor *q = h->q;
    int64_t n_whole_rows = 1, n_keys = global_size(h->k, 1);
    for (int d = 0; d < 4; d++) n_whole_rows *= global_size(q, d);
    for (int64_t i = 0; i < n; i++) {
        int64_t row = global_element(q, query_at(h, b, g, first + i)) / h->d;
        row += h->l->now->microbatch * n_whole_rows;
        for (int64_t j = seen->from; j < seen->to; j++) {
            int64_t element = row * n_keys + global_index(h->k, 1, j);
            dropout_factors(h->dropout_key, element, 1, h->a->dropout,
                            &factors[(j - seen->from) * QUERIES + i]);
        }
    }
}

/* ---- moving rows ---- */

/* Keys or values [0, n) of a head as rows of h->width floats. */
INLINE void copy_keys(const Heads *h, const Tensor *t, int64_t b, int64_t g, int64_t n, float *to)
{
    for (int64_t j = 0; j < n; j++)
        for (int64_t i = 0; i < h->width; i += LANES) {
            int64_t left = h->d - i < LANES ? h->d - i : LANES;
            vec_store(to + j * h->width + i,
                      vec_get(t->dtype, t->data, key_at(h, b, g, j) + i, left));
        }
}

/* Rows [first, first + n) of something like q, as rows of h->width floats; QUERIES rows are
 * written, the missing ones as 0. */
INLINE void copy_rows(const Heads *h, const Tensor *t, int64_t b, int64_t g, int64_t first,
                      int64_t n, float *to)
{
    for (int64_t r = 0; r < QUERIES; r++)
        for (int64_t i = 0; i < h->width; i += LANES) {
            int64_t left = r >= n ? 0 : h->d - i < LANES ? h->d - i : LANES;
            int64_t at = r < n ? query_at(h, b, g, first + r) + i : 0;
            vec_store(to + r * h->width + i, vec_get(t->dtype, t->data, at, left));
        }
}

/* [QUERIES][width] times `factor` becomes [width][QUERIES]. */
INLINE void transpose_rows(const Heads *h, const float *rows, float factor, float *to)
{
    for (int64_t r = 0; r < QUERIES; r += LANES)
        for (int64_t i = 0; i < h->width; i += LANES) {
            Vec square[LANES];
#pragma GCC unroll 16
            for (int j = 0; j < LANES; j++)
                square[j] = vec_load(rows + (r + j) * h->width + i) * vec_set(factor);
            vec_transpose(square);
#pragma GCC unroll 16
            for (int j = 0; j < LANES; j++) vec_store(to + (i + j) * QUERIES + r, square[j]);
        }
}

/* Writes n columns of [width][QUERIES], each times its factor, to rows of something like q. */
INLINE void put_columns(const Heads *h, const float *columns, const float *factor, const Tensor *t,
                        int64_t b, int64_t g, int64_t first, int64_t n)
{
    for (int64_t r = 0; r < n; r += LANES)
        for (int64_t i = 0; i < h->d; i += LANES) {
            Vec square[LANES];
#pragma GCC unroll 16
            for (int j = 0; j < LANES; j++) square[j] = vec_load(columns + (i + j) * QUERIES + r);
            vec_transpose(square);
            int64_t left = h->d - i < LANES ? h->d - i : LANES;
            for (int j = 0; j < LANES && r + j < n; j++)
                vec_put(t->dtype, t->data, query_at(h, b, g, first + r + j) + i, left,
                        square[j] * vec_set(factor[r + j]));
        }
}

/* ---- products: c[rows][vectors] += a[rows][steps] b[steps][vectors] ---- */

/* Element (i, k) of a lies at i * row + k * step; row k of b at k * b_row. Rows come in threes, so
 * that addresses are a base plus once or twice a stride. */
INLINE void small_product(Vec *c, const int rows, const int vectors, int64_t steps, const float *a,
                          int64_t row, int64_t step, const float *b, int64_t b_row)
{
    const float *base[4] = { a, a + 3 * row, a + 6 * row, a + 9 * row };
#pragma GCC unroll 2
    for (int64_t k = 0; k < steps; k++) {
        Vec right[4];
#pragma GCC unroll 4
        for (int j = 0; j < vectors; j++) right[j] = vec_load(b + j * LANES);
#pragma GCC unroll 12
        for (int i = 0; i < rows; i++) {
            Vec x = vec_set(base[i / 3][i % 3 * row]);
#pragma GCC unroll 4
            for (int j = 0; j < vectors; j++) vec_add_product(&c[i * vectors + j], x, right[j]);
        }
#pragma GCC unroll 4
        for (int i = 0; i * 3 < rows; i++) base[i] += step;
        b += b_row;
    }
}

INLINE void load_tile(Vec *c, const int rows, const int vectors, const float *from, int64_t stride)
{
#pragma GCC unroll 12
    for (int i = 0; i < rows; i++)
#pragma GCC unroll 4
        for (int j = 0; j < vectors; j++)
            c[i * vectors + j] = from ? vec_load(from + i * stride + j * LANES) : vec_set(0);
}

INLINE void store_tile(const Vec *c, const int rows, const int vectors, float *to, int64_t stride)
{
#pragma GCC unroll 12
    for (int i = 0; i < rows; i++)
#pragma GCC unroll 4
        for (int j = 0; j < vectors; j++)
            vec_store(to + i * stride + j * LANES, c[i * vectors + j]);
}

/* to[key][row] = keys[key][width] columns[width][row], for whole tiles of keys. */
NOINLINE void score_keys(int64_t d, const float *keys, int64_t width, int64_t n_keys,
                         const float *columns, float *to)
{
    for (int64_t j = 0; j < n_keys; j += KR) {
        Vec c[KR * QV];
        load_tile(c, KR, QV, NULL, 0);
        small_product(c, KR, QV, d, keys + j * width, width, 1, columns, QUERIES);
        store_tile(c, KR, QV, to + j * QUERIES, QUERIES);
    }
}

/* to[width][row] += keys[key][width] (transposed) weights[key][row]. */
NOINLINE void sum_keys(int64_t d, const float *keys, int64_t width, int64_t n_keys,
                       const float *weights, float *to)
{
    for (int64_t i = 0; i < d; i += DR) {
        Vec c[DR * QV];
        load_tile(c, DR, QV, to + i * QUERIES, QUERIES);
        small_product(c, DR, QV, n_keys, keys + i, 1, width, weights, QUERIES);
        store_tile(c, DR, QV, to + i * QUERIES, QUERIES);
    }
}

INLINE void sum_rows_tile(const int n_keys, const int vectors, int64_t n_rows, const float *weights,
                          const float *rows, int64_t width, float *to)
{
    Vec c[24];
    load_tile(c, n_keys, vectors, to, width);
    small_product(c, n_keys, vectors, n_rows, weights, QUERIES, 1, rows, width);
    store_tile(c, n_keys, vectors, to, width);
}

/* to[key][width] += weights[key][row] rows[row][width], for whole tiles of keys. */
NOINLINE void sum_rows(int64_t n_keys, int64_t n_rows, const float *weights, const float *rows,
                       int64_t width, float *to)
{
    for (int64_t j = 0; j < n_keys; j += SUM_KEYS) {
        const float *w = weights + j * QUERIES;
        float *at = to + j * width;
        int64_t i = 0;
        if (PANEL_VECTORS == 4)
            for (; i + 4 * LANES <= width; i += 4 * LANES)
                sum_rows_tile(SUM_KEYS, 4, n_rows, w, rows + i, width, at + i);
        for (; i + 2 * LANES <= width; i += 2 * LANES)
            sum_rows_tile(SUM_KEYS, 2, n_rows, w, rows + i, width, at + i);
        for (; i < width; i += LANES)
            sum_rows_tile(SUM_KEYS, 1, n_rows, w, rows + i, width, at + i);
    }
}

/* scores become cap tanh(score) log2(e), where a cap is set. */
INLINE void cap_scores(const Heads *h, int64_t n_keys, float *scores)
{
    if (h->a->soft_cap <= 0) return;
    Vec cap = vec_set((float)h->a->soft_cap * log2_e);
    for (int64_t i = 0; i < n_keys * QUERIES; i += LANES)
        vec_store(scores + i, cap * vec_tanh(vec_load(scores + i)));
}

#endif
