/* gated_delta_parts.h - what kernels of the gated delta rule by chunks hold in memory, and how rows
 * of features come there and leave. */
#ifndef OPS_GATED_DELTA_PARTS_H
#define OPS_GATED_DELTA_PARTS_H
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
    bool adds, by_row; /* each row of S has decays of its own */
    float *scratch;
    size_t thread_floats;
} Delta;

/* Of a thread: one chunk of one head, [tokens][features] unless told otherwise. */
typedef struct Chunk {
    int64_t first, n;
    bool begins;                    /* its S is 0 */
    float *q, *k;                   /* times their factors */
    float *begin_q, *begin_k;       /* times what is left at the token of S in front of the chunk */
    float *end_k;                   /* times what is left behind the chunk of what the token adds */
    float *turned_k;                /* [wide_d][TOKENS] */
    float *u, *w, *o, *some;        /* of width wide_e */
    float *near, *read, *corrected; /* [TOKENS][TOKENS]: near(i,j), that times q(i) k(j), and minus
                                       that times k(i) k(j) */
    float *state;                   /* [wide_d][wide_e] */
    float *whole;                   /* [wide_d]: what the chunk leaves of each row of S */
    float rate[TOKENS];
    float from_begin[TOKENS], to_end[TOKENS]; /* where all rows fade alike */
    float *keep, *block, *row; /* by_row: what a token leaves; [wide_d]: a block of tokens, some */
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
                    .by_row = in[3].n_dims == 5,
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
    float **of_keys[] = { &c->q, &c->k, &c->begin_q, &c->begin_k, &c->end_k, &c->turned_k };
    float **of_values[] = { &c->u, &c->w, &c->o, &c->some };
    float **of_pairs[] = { &c->near, &c->read, &c->corrected };
    for (int i = 0; i < 6; i++) *of_keys[i] = take(r, TOKENS * x->wide_d);
    for (int i = 0; i < 4; i++) *of_values[i] = take(r, TOKENS * x->wide_e);
    for (int i = 0; i < 3; i++) *of_pairs[i] = take(r, TOKENS * TOKENS);
    c->state = take(r, x->wide_d * x->wide_e);
    c->whole = take(r, x->wide_d);
    if (!x->by_row) return;
    c->keep = take(r, TOKENS * x->wide_d);
    c->block = take(r, x->wide_d);
    c->row = take(r, x->wide_d);
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
#endif
