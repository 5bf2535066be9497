/* selective_scan_tokens.h - the selective scan of LANES features at a time, token by token: what
 * its two passes share. */
#ifndef OPS_SELECTIVE_SCAN_TOKENS_H
#define OPS_SELECTIVE_SCAN_TOKENS_H
#include "ops/kernels.h"
#include "ops/vector/chunks.h"
#include "ops/vector/vector_math.h"

/* Exponentials that are computed in step: states are padded to so many numbers, which stay 0. */
enum { IN_STEP = 4, N_OPERANDS = 7 };

/* Of a launch. */
typedef struct Scan {
    const Launch *l;
    const Tensor *step, *x, *in, *out, *speed, *bias, *skip;
    const int32_t *document; /* NULL: one document */
    int64_t n_text, length, c, n;
    int64_t wide_n; /* n, padded */
    int64_t blocks; /* of LANES features */
    float *scratch;
} Scan;

/* Features [first, first + count) of a text: [wide_n] vectors each. */
typedef struct Features {
    int64_t first, count;
    float *fade, *state; /* -exp(speed); h */
    Vec bias, skip;
} Features;

/* A token of such features. */
typedef struct Token {
    Vec dt, slope, x, u;
} Token;

INLINE Scan scan_of(const Launch *l, const Tensor *in, bool has_documents)
{
    const int64_t n = in[4].size[1];
    return (Scan){ .l = l,
                   .step = &in[0],
                   .x = &in[1],
                   .in = &in[2],
                   .out = &in[3],
                   .speed = &in[4],
                   .bias = &in[5],
                   .skip = &in[6],
                   .document = has_documents ? in[N_OPERANDS].data : NULL,
                   .n_text = in[1].size[0],
                   .length = in[1].size[1],
                   .c = in[1].size[2],
                   .n = n,
                   .wide_n = (n + IN_STEP - 1) / IN_STEP * IN_STEP,
                   .blocks = chunk_count(in[1].size[2], LANES),
                   .scratch = l->scratch };
}

/* Whether the state in front of token t, a number over all sequences, is 0. */
INLINE bool begins_text(const Scan *s, int64_t t)
{
    return t % s->length == 0 || (s->document && s->document[t] != s->document[t - 1]);
}

/* What the features have of `t` [c width] at column j. */
INLINE Vec column(const Tensor *t, const Features *f, int64_t width, int64_t j)
{
    float lane[LANES] = { 0 };
    for (int64_t i = 0; i < f->count; i++)
        lane[i] = vec_get(t->dtype, t->data, (f->first + i) * width + j, 1)[0];
    return vec_load((const Word *)lane);
}

/* fade and state have room for wide_n vectors; the state is 0. */
INLINE Features features_of(const Scan *s, int64_t block, float *fade, float *state)
{
    Features f = { .first = block * LANES, .fade = fade, .state = state };
    f.count = s->c - f.first < LANES ? s->c - f.first : LANES;
    f.bias = vec_get(s->bias->dtype, s->bias->data, f.first, f.count);
    f.skip = vec_get(s->skip->dtype, s->skip->data, f.first, f.count);
    memset(state, 0, sizeof(Vec) * (size_t)s->wide_n);
    memset(fade, 0, sizeof(Vec) * (size_t)s->wide_n);
    for (int64_t j = 0; j < s->n; j++)
        vec_put(F32, fade, j * LANES, LANES, -vec_exp(column(s->speed, &f, s->n, j)));
    return f;
}

/* Numbers of a token that all features share, [wide_n]. */
INLINE void load_shared(const Scan *s, const Tensor *from, int64_t t, float *to)
{
    for (int64_t j = 0; j < s->n; j += LANES) {
        const int64_t n = s->n - j < LANES ? s->n - j : LANES;
        vec_put(F32, to, j, n, vec_get(from->dtype, from->data, t * s->n + j, n));
    }
    for (int64_t j = s->n; j < s->wide_n; j++) to[j] = 0;
}

INLINE Token token_of(const Scan *s, const Features *f, int64_t t)
{
    const int64_t at = t * s->c + f->first;
    const Vec raw = vec_get(s->step->dtype, s->step->data, at, f->count) + f->bias;
    Token k = { .dt = vec_softplus(raw), .slope = vec_sigmoid(raw) };
    k.x = vec_get(s->x->dtype, s->x->data, at, f->count);
    k.u = k.dt * k.x;
    return k;
}

/* How much is left of IN_STEP numbers of the states, from j on. */
INLINE void keep_of(const Features *f, const Token *k, int64_t j, Vec *keep)
{
#pragma GCC unroll 4
    for (int i = 0; i < IN_STEP; i++)
        keep[i] = vec_get(F32, f->fade, (j + i) * LANES, LANES) * k->dt;
    vec_exp_each(keep, IN_STEP);
}

/* Behind a token: `before` and `behind` are states, which may be the same; `in` is shared. */
INLINE void take_step(const Scan *s, const Features *f, const Token *k, bool begins,
                      const float *in, const float *before, float *behind)
{
    for (int64_t j = 0; j < s->wide_n; j += IN_STEP) {
        Vec keep[IN_STEP];
        keep_of(f, k, j, keep);
#pragma GCC unroll 4
        for (int i = 0; i < IN_STEP; i++) {
            const int64_t at = (j + i) * LANES;
            const Vec left = begins ? vec_set(0) : keep[i] * vec_get(F32, before, at, LANES);
            vec_put(F32, behind, at, LANES, vec_fma(k->u, vec_set(in[j + i]), left));
        }
    }
}
#endif
