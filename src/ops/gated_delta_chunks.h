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
 * Where values are added alone, as in state spaces, u = v, and there is no system to solve. No
 * exponent is above 0. A chunk ends with its document, so that the next one begins with S = 0.
 * The backward pass keeps S in front of chunks, and makes the rest of a chunk again. Decays only
 * stand beside products of q and k, thus their gradients are dots of those with their own. */
#ifndef OPS_GATED_DELTA_CHUNKS_H
#define OPS_GATED_DELTA_CHUNKS_H
#include "ops/gated_delta.h"
#include "ops/gated_delta_products.h"
#include "ops/kernels.h"
#include "ops/vector/chunks.h"
#include "ops/vector/vector_math.h"

/* Tokens of a chunk; rows of a triangular system that are solved one by one. */
enum { TOKENS = 64, SOLVED = 8 };

/* Of a launch. Rows of features are padded with zeros to whole vectors. */
typedef struct Delta {
    const Launch *l;
    const Tensor *q, *k, *v, *decay, *rate;
    const int32_t *document; /* NULL: one document */
    int64_t length, n_group, n_repeat, d, e, wide_d, wide_e;
    float scale, key_scale;
    bool adds;
    float *scratch;
    size_t thread_floats;
} Delta;

/* Of a thread: one chunk of one head, [tokens][features] unless told otherwise. */
typedef struct Chunk {
    int64_t first, n;
    bool begins;                    /* its S is 0 */
    float *q, *k;                   /* times their factors */
    float *turned_k;                /* [wide_d][TOKENS] */
    float *u, *w, *o, *some;        /* of width wide_e */
    float *near, *read, *corrected; /* [TOKENS][TOKENS]: near(i,j), that times q(i) k(j), and minus
                                       that times k(i) k(j) */
    float *state;                   /* [wide_d][wide_e] */
    float rate[TOKENS], from_begin[TOKENS], to_end[TOKENS];
} Chunk;

NOINLINE Delta delta_of(const Launch *l, const Tensor *in, int n_in)
{
    const GatedDelta *a = l->attrs;
    const Tensor *v = &in[2];
    return (Delta){ .l = l,
                    .q = &in[0],
                    .k = &in[1],
                    .v = v,
                    .decay = &in[3],
                    .rate = &in[4],
                    .document = n_in == 6 ? in[5].data : NULL,
                    .length = v->size[1],
                    .n_group = v->size[2],
                    .n_repeat = v->size[3],
                    .d = in[0].size[3],
                    .e = v->size[4],
                    .wide_d = whole_vectors(in[0].size[3]),
                    .wide_e = whole_vectors(v->size[4]),
                    .scale = (float)a->scale,
                    .key_scale = (float)a->key_scale,
                    .adds = a->adds,
                    .scratch = l->scratch };
}

/* Parts of a thread's memory, one after the other; memory NULL: they are counted. */
typedef struct Room {
    float *memory;
    size_t n;
} Room;

NOINLINE float *take(Room *r, int64_t n)
{
    float *p = r->memory ? r->memory + r->n : NULL;
    r->n += (size_t)whole_vectors(n);
    return p;
}

NOINLINE void lay_chunk(const Delta *x, Room *r, Chunk *c)
{
    float **of_keys[] = { &c->q, &c->k, &c->turned_k };
    float **of_values[] = { &c->u, &c->w, &c->o, &c->some };
    float **of_pairs[] = { &c->near, &c->read, &c->corrected };
    for (int i = 0; i < 3; i++) *of_keys[i] = take(r, TOKENS * x->wide_d);
    for (int i = 0; i < 4; i++) *of_values[i] = take(r, TOKENS * x->wide_e);
    for (int i = 0; i < 3; i++) *of_pairs[i] = take(r, TOKENS * TOKENS);
    c->state = take(r, x->wide_d * x->wide_e);
}

INLINE float number_at(const Tensor *t, int64_t i)
{
    return vec_get(t->dtype, t->data, i, 1)[0];
}

/* The number of head h of values at token t of sequence b. */
INLINE int64_t head_at(const Delta *x, int64_t b, int64_t t, int64_t h)
{
    return (b * x->length + t) * x->n_group * x->n_repeat + h;
}

INLINE void load_row(const Tensor *t, int64_t at, int64_t width, float factor, float *to)
{
    for (int64_t i = 0; i < width; i += LANES)
        vec_store(to + i, vec_get(t->dtype, t->data, at * width + i,
                                  width - i < LANES ? width - i : LANES) *
                              vec_set(factor));
}

INLINE void store_row(const float *from, float factor, const Tensor *t, int64_t at, int64_t width)
{
    for (int64_t i = 0; i < width; i += LANES)
        vec_put(t->dtype, t->data, at * width + i, width - i < LANES ? width - i : LANES,
                vec_load(from + i) * vec_set(factor));
}

/* Tokens from `first` on that make a chunk. */
NOINLINE int64_t chunk_length(const Delta *x, int64_t b, int64_t first)
{
    const int32_t *document = x->document ? x->document + b * x->length : NULL;
    int64_t n = 1;
    while (n < TOKENS && first + n < x->length &&
           (!document || document[first + n] == document[first]))
        n++;
    return n;
}

NOINLINE bool begins_document(const Delta *x, int64_t b, int64_t t)
{
    const int32_t *document = x->document ? x->document + b * x->length : NULL;
    return t == 0 || (document && document[t] != document[t - 1]);
}

/* near(i,j), and how much there is of S at each token, and at the end of each token. */
NOINLINE void load_decays(const Delta *x, Chunk *c, int64_t b, int64_t h)
{
    double sum[TOKENS], y = 0;
    for (int64_t i = 0; i < c->n; i++) {
        const int64_t at = head_at(x, b, c->first + i, h);
        sum[i] = y += number_at(x->decay, at);
        c->rate[i] = number_at(x->rate, at);
    }
    for (int64_t i = 0; i < c->n; i++) {
        float *near = c->near + i * TOKENS;
        for (int64_t j = 0; j < TOKENS; j++) near[j] = j <= i ? (float)(sum[i] - sum[j]) : 0;
        for (int64_t j = 0; j <= i; j += LANES)
            vec_store(near + j, vec_exp(vec_max(vec_set(-87), vec_load(near + j))));
        for (int64_t j = i + 1; j < TOKENS; j++) near[j] = 0;
        c->from_begin[i] = (float)exp(sum[i]);
        c->to_end[i] = (float)exp(y - sum[i]);
    }
}

NOINLINE void load_chunk(const Delta *x, Chunk *c, int64_t b, int64_t h)
{
    for (int64_t i = 0; i < c->n; i++) {
        const int64_t at = head_at(x, b, c->first + i, h);
        load_row(x->q, at / x->n_repeat, x->d, x->scale, c->q + i * x->wide_d);
        load_row(x->k, at / x->n_repeat, x->d, x->key_scale, c->k + i * x->wide_d);
        load_row(x->v, at, x->e, 1, c->u + i * x->wide_e);
    }
    turn(c->k, c->n, x->wide_d, c->turned_k, TOKENS);
    load_decays(x, c, b, h);
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

/* All that products of one chunk have, but o and S behind it. */
NOINLINE void correct_chunk(const Delta *x, Chunk *c, int64_t b, int64_t h)
{
    const int64_t d = x->wide_d, e = x->wide_e, columns = whole_vectors(c->n);
    const Factors reads = { c->q, d, 1, c->turned_k, TOKENS },
                  corrections = { c->k, d, 1, c->turned_k, TOKENS },
                  of_state = { c->k, d, 1, c->state, e };
    load_chunk(x, c, b, h);
    product(c->n, columns, d, &reads, false, c->read, TOKENS);
    times_near(c, columns, 1, c->read);
    if (x->adds) {
        rate_rows(x, c, 0, c->n);
        return;
    }
    product(c->n, columns, d, &corrections, false, c->corrected, TOKENS);
    times_near(c, columns, -1, c->corrected);
    if (!c->begins) {
        product(c->n, e, d, &of_state, false, c->some, e);
        for (int64_t i = 0; i < c->n; i++)
            add_row(c->some + i * e, -c->from_begin[i], e, c->u + i * e);
    }
    solve(x, c);
}

/* S in front of the chunk becomes that behind it. */
NOINLINE void leave_chunk(const Delta *x, Chunk *c)
{
    const int64_t d = x->wide_d, e = x->wide_e;
    const Factors f = { c->k, 1, d, c->some, e };
    for (int64_t i = 0; i < c->n; i++) scale_row(c->w + i * e, c->to_end[i], e, c->some + i * e);
    for (int64_t i = 0; i < d && !c->begins; i++)
        scale_row(c->state + i * e, c->from_begin[c->n - 1], e, c->state + i * e);
    product(d, e, c->n, &f, !c->begins, c->state, e);
}
#endif
