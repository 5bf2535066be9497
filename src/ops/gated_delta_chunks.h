/* gated_delta_chunks.h - the gated delta rule by chunks of tokens, so that most of it is products
 * of matrices (Yang et al. 2024, Parallelizing Linear Transformers with the Delta Rule).
 *
 * Let y(i) be the sum of decays from the chunk's beginning to token i, S the state in front of it,
 * and near(i,j) = exp(y(i) - y(j)) for j <= i, else 0. The corrections w(i) = rate(i) u(i) of all
 * of a chunk's tokens follow from a triangular system,
 *
 *     u(i) = v(i) - exp(y(i)) S^T k(i) - sum over j < i of near(i,j) (k(i) k(j)) w(j)
 *
 * and with them what queries read, and S behind the chunk n:
 *
 *     o(i) = exp(y(i)) S^T q(i) + sum over j <= i of near(i,j) (q(i) k(j)) w(j)
 *     S' = exp(y(n)) S + sum over j of exp(y(n) - y(j)) k(j) w(j)^T
 *
 * Where values are added alone, as in state spaces, u = v, and there is no system to solve. Where
 * each row of S fades by itself, exp(y) multiplies features (gated_delta_rows.h). No exponent is
 * above 0. A chunk ends with its document, so that the next one begins with S = 0. The backward
 * pass keeps S in front of chunks, and makes the rest of a chunk again. Decays only stand beside
 * products of q and k, thus their gradients are dots of those with their own. */
#ifndef OPS_GATED_DELTA_CHUNKS_H
#define OPS_GATED_DELTA_CHUNKS_H
#include "ops/gated_delta_rows.h"

/* near(i,j), and how much there is of S at each token, and at the end of each token. */
NOINLINE void load_decays(const Delta *x, Chunk *c, int64_t b, int64_t h)
{
    const int64_t d = x->wide_d;
    double sum[TOKENS], y = 0;
    for (int64_t i = 0; i < c->n; i++)
        sum[i] = y += number_at(x->decay, head_at(x, b, c->first + i, h));
    for (int64_t i = 0; i < c->n; i++) {
        float *near = c->near + i * TOKENS;
        for (int64_t j = 0; j < TOKENS; j++) near[j] = j <= i ? (float)(sum[i] - sum[j]) : 0;
        for (int64_t j = 0; j <= i; j += LANES)
            vec_store(near + j, vec_exp(vec_max(vec_set(-87), vec_load(near + j))));
        for (int64_t j = i + 1; j < TOKENS; j++) near[j] = 0;
        c->from_begin[i] = (float)exp(sum[i]);
        c->to_end[i] = (float)exp(y - sum[i]);
        scale_row(c->q + i * d, c->from_begin[i], d, c->begin_q + i * d);
        scale_row(c->k + i * d, c->from_begin[i], d, c->begin_k + i * d);
        scale_row(c->k + i * d, c->to_end[i], d, c->end_k + i * d);
    }
    for (int64_t f = 0; f < d; f++) c->whole[f] = c->from_begin[c->n - 1];
}

NOINLINE void load_chunk(const Delta *x, Chunk *c, int64_t b, int64_t h)
{
    for (int64_t i = 0; i < c->n; i++) {
        const int64_t at = head_at(x, b, c->first + i, h);
        load_row(x->q, at / x->n_repeat, x->d, x->scale, c->q + i * x->wide_d);
        load_row(x->k, at / x->n_repeat, x->d, x->key_scale, c->k + i * x->wide_d);
        load_row(x->v, at, x->e, 1, c->u + i * x->wide_e);
        c->rate[i] = number_at(x->rate, at);
    }
}

/* w of rows that are u. */
INLINE void rate_rows(const Delta *x, Chunk *c, int64_t first, int64_t end)
{
    for (int64_t i = first; i < end; i++)
        scale_row(c->u + i * x->wide_e, c->rate[i], x->wide_e, c->w + i * x->wide_e);
}

/* Rows of u become u without what the rows in front of them have corrected, and w. */
NOINLINE void solve(const Delta *x, Chunk *c)
{
    const int64_t e = x->wide_e;
    for (int64_t first = 0; first < c->n; first += SOLVED) {
        const int64_t end = first + SOLVED < c->n ? first + SOLVED : c->n;
        const Factors f = { c->corrected + first * TOKENS, TOKENS, 1, c->w, e };
        if (first) product(end - first, e, first, &f, true, c->u + first * e, e);
        for (int64_t i = first; i < end; i++) {
            for (int64_t j = first; j < i; j++)
                add_row(c->w + j * e, c->corrected[i * TOKENS + j], e, c->u + i * e);
            rate_rows(x, c, i, i + 1);
        }
    }
}

/* Pairs of a chunk's tokens, times near and a sign. */
INLINE void times_near(const Chunk *c, int64_t columns, float sign, float *pairs)
{
    for (int64_t i = 0; i < c->n; i++)
        for (int64_t j = i * TOKENS; j < i * TOKENS + columns; j += LANES)
            vec_store(pairs + j, vec_set(sign) * vec_load(c->near + j) * vec_load(pairs + j));
}

/* `read` and `corrected` of a head that fades as a whole. */
NOINLINE void pairs_of_head(const Delta *x, Chunk *c)
{
    const int64_t d = x->wide_d, columns = whole_vectors(c->n);
    const Factors reads = { c->q, d, 1, c->turned_k, TOKENS },
                  corrections = { c->k, d, 1, c->turned_k, TOKENS };
    turn(c->k, c->n, d, c->turned_k, TOKENS);
    product(c->n, columns, d, &reads, false, c->read, TOKENS);
    times_near(c, columns, 1, c->read);
    if (x->adds) return;
    product(c->n, columns, d, &corrections, false, c->corrected, TOKENS);
    times_near(c, columns, -1, c->corrected);
}

/* All that products of one chunk have, but o and S behind it. */
NOINLINE void correct_chunk(const Delta *x, Chunk *c, int64_t b, int64_t h)
{
    const int64_t e = x->wide_e;
    const Factors of_state = { c->begin_k, x->wide_d, 1, c->state, e };
    load_chunk(x, c, b, h);
    if (x->by_row) {
        load_keep(x, c, b, h);
        pairs_by_row(x, c);
    } else {
        load_decays(x, c, b, h);
        pairs_of_head(x, c);
    }
    if (x->adds) {
        rate_rows(x, c, 0, c->n);
        return;
    }
    if (!c->begins) {
        product(c->n, e, x->wide_d, &of_state, false, c->some, e);
        for (int64_t i = 0; i < c->n; i++) add_row(c->some + i * e, -1, e, c->u + i * e);
    }
    solve(x, c);
}

/* S in front of the chunk becomes that behind it. */
NOINLINE void leave_chunk(const Delta *x, Chunk *c)
{
    const int64_t d = x->wide_d, e = x->wide_e;
    const Factors f = { c->end_k, 1, d, c->w, e };
    for (int64_t i = 0; i < d && !c->begins; i++)
        scale_row(c->state + i * e, c->whole[i], e, c->state + i * e);
    product(d, e, c->n, &f, !c->begins, c->state, e);
}
#endif
