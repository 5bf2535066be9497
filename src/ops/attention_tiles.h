/* attention_tiles.h - pieces of attention: blocks of queries against blocks of keys.
 *
 * Queries that share a key/value head are rows s * n_repeat + r. LANES of QV vectors hold the rows
 * of one block, keys run down: scores are a tile [key][row], so that the softmax over keys has no
 * horizontal step, and probabilities are at once the right operand of the product with the values.
 * Of the queries only, a block is transposed. Keys and values of a head are copied to rows of
 * `width` words, padded with zeros. A word is a float, or (`pairs`) two bf16 that one instruction
 * multiplies: neighbours along what is summed over, which are features, keys or rows. In tiles of
 * AMX pairs alone are multiplied; what whole tiles reach beyond the last step is 0. */
#ifndef OPS_ATTENTION_TILES_H
#define OPS_ATTENTION_TILES_H
#include "ops/attention_heads.h"

/* ---- moving rows ---- */

/* LANES words along a row, from word i on; elements beyond the row are 0. */
INLINE Vec row_words(const Heads *h, const Tensor *t, int64_t row, int64_t i, bool pairs)
{
    if (!pairs) return vec_get(t->dtype, t->data, row + i, h->d - i < LANES ? h->d - i : LANES);
    const bf16 *from = (const bf16 *)t->data + row;
    if (2 * (i + LANES) <= h->d) return vec_load((const Word *)(from + 2 * i));
    bf16 some[2 * LANES] = { 0 };
    for (int64_t j = 0; j < 2 * LANES && 2 * i + j < h->d; j++) some[j] = from[2 * i + j];
    return vec_load((const Word *)some);
}

/* Words of two rows, element i on; a row below 0 is one of zeros. */
INLINE Vec two_rows(const Heads *h, const Tensor *t, int64_t even, int64_t odd, int64_t i)
{
    const bf16 *from = t->data;
    if (even >= 0 && odd >= 0 && i + LANES <= h->d)
        return vec_pairs(from + even + i, from + odd + i);
    bf16 some[2][LANES] = { { 0 } };
    for (int64_t j = 0; j < LANES && i + j < h->d; j++) {
        some[0][j] = even < 0 ? 0 : from[even + i + j];
        some[1][j] = odd < 0 ? 0 : from[odd + i + j];
    }
    return vec_pairs(some[0], some[1]);
}

/* Keys or values of a head as rows of words along the features. */
INLINE void copy_keys(const Heads *h, const Tensor *t, int64_t b, int64_t g, Word *to, bool pairs)
{
    for (int64_t j = 0; j < h->n_seen; j++)
        for (int64_t i = 0; i < h->steps; i += LANES)
            vec_store(to + j * h->width + i, row_words(h, t, key_at(h, b, g, j), i, pairs));
}

/* The same as rows of words along the keys: [n_seen / 2, up][width]. */
INLINE void pair_keys(const Heads *h, const Tensor *t, int64_t b, int64_t g, Word *to)
{
    for (int64_t j = 0; j < h->n_seen; j += 2)
        for (int64_t i = 0; i < h->d; i += LANES) {
            int64_t odd = j + 1 < h->n_seen ? key_at(h, b, g, j + 1) : -1;
            vec_store(to + j / 2 * h->width + i, two_rows(h, t, key_at(h, b, g, j), odd, i));
        }
}

/* Tiles have pairs of keys along their rows: [width][pairs of keys, padded with zeros]. Rows at
 * distances of pages would share few lines of the caches. */
INLINE int64_t turned_row(const Heads *h)
{
    enum { PAGE_WORDS = 1024 };
    const int64_t words = amx_up((h->n_key + 1) / 2) + AMX_STEPS;
    return words % PAGE_WORDS ? words : words + AMX_STEPS;
}

INLINE void turn_keys(const Heads *h, const Tensor *t, int64_t b, int64_t g, Word *to)
{
    const int64_t row = turned_row(h), filled = amx_up((h->n_seen + 1) / 2) + AMX_STEPS;
    for (int64_t j = 0; j < filled; j += LANES)
        for (int64_t i = 0; i < h->d; i += LANES) {
            Vec square[LANES];
            for (int p = 0; p < LANES; p++) {
                const int64_t key = 2 * (j + p);
                square[p] = key < h->n_seen
                                ? two_rows(h, t, key_at(h, b, g, key),
                                           key + 1 < h->n_seen ? key_at(h, b, g, key + 1) : -1, i)
                                : vec_set(0);
            }
            vec_transpose(square);
#pragma GCC unroll 16
            for (int p = 0; p < LANES; p++) vec_store(to + (i + p) * row + j, square[p]);
        }
}

/* What sum_keys_pairs multiplies, and words from one of its rows to the next. */
INLINE int64_t sum_row(const Heads *h)
{
    return TILES ? turned_row(h) : h->width;
}

INLINE void keys_to_sum(const Heads *h, const Tensor *t, int64_t b, int64_t g, Word *to)
{
    if (TILES)
        turn_keys(h, t, b, g, to);
    else
        pair_keys(h, t, b, g, to);
}

INLINE const Word *keys_to_sum_from(const Heads *h, const Word *keys, int64_t from)
{
    return keys + from / 2 * (TILES ? 1 : h->width);
}

/* Rows [first, first + n) of something like q, as rows of words; QUERIES rows are written, the
 * missing ones as 0. */
INLINE void copy_rows(const Heads *h, const Tensor *t, int64_t b, int64_t g, int64_t first,
                      int64_t n, Word *to, bool pairs)
{
    for (int64_t r = 0; r < QUERIES; r++)
        for (int64_t i = 0; i < h->steps; i += LANES)
            vec_store(to + r * h->width + i,
                      r < n ? row_words(h, t, query_at(h, b, g, first + r), i, pairs) : vec_set(0));
}

/* The same as rows of words along the rows: [QUERIES / 2][width]. */
INLINE void pair_rows(const Heads *h, const Tensor *t, int64_t b, int64_t g, int64_t first,
                      int64_t n, Word *to)
{
    for (int64_t r = 0; r < QUERIES; r += 2)
        for (int64_t i = 0; i < h->d; i += LANES) {
            int64_t even = r < n ? query_at(h, b, g, first + r) : -1;
            int64_t odd = r + 1 < n ? query_at(h, b, g, first + r + 1) : -1;
            vec_store(to + r / 2 * h->width + i, two_rows(h, t, even, odd, i));
        }
}

/* [QUERIES][width] becomes [width][QUERIES]; floats are multiplied with `factor`. */
INLINE void transpose_rows(const Heads *h, const Word *rows, float factor, Word *to, bool pairs)
{
    for (int64_t r = 0; r < QUERIES; r += LANES)
        for (int64_t i = 0; i < h->steps; i += LANES) {
            Vec square[LANES];
#pragma GCC unroll 16
            for (int j = 0; j < LANES; j++) {
                square[j] = vec_load(rows + (r + j) * h->width + i);
                if (!pairs) square[j] *= vec_set(factor);
            }
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

INLINE void add_products(Vec *c, const int vectors, Vec x, const Vec *right)
{
#pragma GCC unroll 4
    for (int j = 0; j < vectors; j++) vec_add_product(&c[j], x, right[j]);
}

INLINE void add_dot_pairs(Vec *c, const int vectors, Vec x, const Vec *right)
{
#pragma GCC unroll 4
    for (int j = 0; j < vectors; j++) c[j] = vec_dot_pairs(x, right[j], c[j]);
}

/* Element (i, k) of a lies at i * row + k * step; row k of b at k * b_row. Rows come in threes, so
 * that addresses are a base plus once or twice a stride. */
INLINE void small_product(Vec *c, const int rows, const int vectors, bool pairs, int64_t steps,
                          const Word *a, int64_t row, int64_t step, const Word *b, int64_t b_row)
{
    const Word *base[4] = { a, a + 3 * row, a + 6 * row, a + 9 * row };
#pragma GCC unroll 2
    for (int64_t k = 0; k < steps; k++) {
        Vec right[4];
#pragma GCC unroll 4
        for (int j = 0; j < vectors; j++) right[j] = vec_load(b + j * LANES);
#pragma GCC unroll 12
        for (int i = 0; i < rows; i++) {
            Vec x = vec_set(base[i / 3][i % 3 * row]);
            if (pairs)
                add_dot_pairs(&c[i * vectors], vectors, x, right);
            else
                add_products(&c[i * vectors], vectors, x, right);
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

/* to[key][row] = keys[key][steps] columns[steps][row], for whole tiles of keys. */
INLINE void score_tiles(bool pairs, int64_t steps, const Word *keys, int64_t width, int64_t n_keys,
                        const Word *columns, float *to)
{
    for (int64_t j = 0; j < n_keys; j += KR) {
        Vec c[KR * QV];
        load_tile(c, KR, QV, NULL, 0);
        small_product(c, KR, QV, pairs, steps, keys + j * width, width, 1, columns, QUERIES);
        store_tile(c, KR, QV, to + j * QUERIES, QUERIES);
    }
}

/* to[width][row] += keys[steps][width] (transposed) weights[steps][row]. */
INLINE void sum_key_tiles(bool pairs, int64_t d, const Word *keys, int64_t width, int64_t steps,
                          const Word *weights, float *to)
{
    for (int64_t i = 0; i < d; i += DR) {
        Vec c[DR * QV];
        load_tile(c, DR, QV, to + i * QUERIES, QUERIES);
        small_product(c, DR, QV, pairs, steps, keys + i, 1, width, weights, QUERIES);
        store_tile(c, DR, QV, to + i * QUERIES, QUERIES);
    }
}

INLINE void sum_rows_tile(const int n_keys, const int vectors, bool pairs, int64_t steps,
                          const Word *weights, int64_t weight_row, const Word *rows, int64_t width,
                          float *to)
{
    Vec c[24];
    load_tile(c, n_keys, vectors, to, width);
    small_product(c, n_keys, vectors, pairs, steps, weights, weight_row, 1, rows, width);
    store_tile(c, n_keys, vectors, to, width);
}

/* to[key][width] += weights[key][steps] rows[steps][width], for whole tiles of keys. */
INLINE void sum_row_tiles(bool pairs, int64_t n_keys, int64_t steps, const Word *weights,
                          int64_t weight_row, const Word *rows, int64_t width, float *to)
{
    for (int64_t j = 0; j < n_keys; j += SUM_KEYS) {
        const Word *w = weights + j * weight_row;
        float *at = to + j * width;
        int64_t i = 0;
        if (PANEL_VECTORS == 4)
            for (; i + 4 * LANES <= width; i += 4 * LANES)
                sum_rows_tile(SUM_KEYS, 4, pairs, steps, w, weight_row, rows + i, width, at + i);
        for (; i + 2 * LANES <= width; i += 2 * LANES)
            sum_rows_tile(SUM_KEYS, 2, pairs, steps, w, weight_row, rows + i, width, at + i);
        for (; i < width; i += LANES)
            sum_rows_tile(SUM_KEYS, 1, pairs, steps, w, weight_row, rows + i, width, at + i);
    }
}

NOINLINE void score_keys(int64_t steps, const Word *keys, int64_t width, int64_t n_keys,
                         const Word *columns, float *to)
{
    score_tiles(false, steps, keys, width, n_keys, columns, to);
}

NOINLINE void score_keys_pairs(int64_t steps, const Word *keys, int64_t width, int64_t n_keys,
                               const Word *columns, float *to)
{
    const AmxFactors f = amx_factors(keys, width, columns, QUERIES);
    if (TILES)
        amx_small(n_keys, QUERIES, &f, steps, false, to, QUERIES);
    else
        score_tiles(true, steps, keys, width, n_keys, columns, to);
}

NOINLINE void sum_keys(int64_t d, const Word *keys, int64_t width, int64_t steps,
                       const Word *weights, float *to)
{
    sum_key_tiles(false, d, keys, width, steps, weights, to);
}

/* `row`: words from one row of keys_to_sum to the next. */
NOINLINE void sum_keys_pairs(int64_t d, const Word *keys, int64_t row, int64_t steps, Word *weights,
                             float *to)
{
    const AmxFactors f = amx_factors(keys, row, weights, QUERIES);
    if (!TILES) {
        sum_key_tiles(true, d, keys, row, steps, weights, to);
        return;
    }
    memset(weights + steps * QUERIES, 0,
           sizeof(Word) * (size_t)((amx_up(steps) - steps) * QUERIES));
    amx_small(d, QUERIES, &f, steps, true, to, QUERIES);
}

NOINLINE void sum_rows(int64_t n_keys, int64_t steps, const Word *weights, const Word *rows,
                       int64_t width, float *to)
{
    sum_row_tiles(false, n_keys, steps, weights, QUERIES, rows, width, to);
}

NOINLINE void sum_rows_pairs(int64_t n_keys, int64_t steps, const Word *weights, const Word *rows,
                             int64_t width, float *to)
{
    const AmxFactors f = amx_factors(weights, QUERIES / 2, rows, width);
    if (TILES)
        amx_small(n_keys, width, &f, steps, true, to, width);
    else
        sum_row_tiles(true, n_keys, steps, weights, QUERIES / 2, rows, width, to);
}

/* What scores are still to be multiplied with: floats were so as queries, pairs were not. */
INLINE float score_scale(const Heads *h)
{
    return h->pairs ? h->query_scale : 1;
}

/* The same after cap_scores. */
INLINE float capped_scale(const Heads *h)
{
    return h->a->soft_cap > 0 ? 1 : score_scale(h);
}

/* scores become cap tanh(score) log2(e), where a cap is set. */
INLINE void cap_scores(const Heads *h, int64_t n_keys, float *scores)
{
    if (h->a->soft_cap <= 0) return;
    Vec cap = vec_set((float)h->a->soft_cap * log2_e), scale = vec_set(score_scale(h));
    for (int64_t i = 0; i < n_keys * QUERIES; i += LANES)
        vec_store(scores + i, cap * vec_tanh(vec_load(scores + i) * scale));
}

/* Scores fall with the distance of keys, where alibi asks for it: scores[key - seen->from][row]. */
INLINE void lower_scores(const Heads *h, const KeyPlaces *k, const RowPlaces *rows,
                         const Seen *seen, float *scores)
{
    if (h->a->alibi <= 0) return;
    const Vec unit = vec_set(log2_e / capped_scale(h));
    Vec fall[QV];
    VecInt position[QV];
    for (int v = 0; v < QV; v++) {
        fall[v] = vec_load(rows->fall + v * LANES) * unit;
        position[v] = vec_bits(vec_load((const Word *)rows->position + v * LANES));
    }
    for (int64_t j = seen->from; j < seen->to; j++, scores += QUERIES)
        for (int v = 0; v < QV; v++) {
            const VecInt ago = position[v] - vec_int_set(k->position[j]);
            float *at = scores + v * LANES;
            vec_store(at, vec_fnma(fall[v], __builtin_convertvector(ago, Vec), vec_load(at)));
        }
}

#endif
