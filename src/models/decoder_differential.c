/* decoder_differential.c - differential attention (Ye et al. 2024, Differential Transformer).
 *
 * Heads of queries come in pairs, and so do heads of keys and values. A pair of queries gives
 * (softmax(q1 k1) - share softmax(q2 k2)) [v1 v2]. One attention computes both terms: a pair of
 * keys is one head [k1 k2], and queries are [q1 0] and [0 q2].
 *
 * The share is exp(a1 . b1) - exp(a2 . b2), of four learned vectors of the block, plus what it
 * begins with. What a pair gives goes through a norm, and is multiplied by 1 minus that beginning,
 * as large as without a share. */
#include "models/decoder_build.h"
#include "ops/elementwise.h"
#include "ops/exp_dot.h"
#include "ops/features.h"
#include "ops/offset.h"
#include "ops/reshape.h"
#include "ops/scale_heads.h"

Value *differential_queries(Build *b, Value *q)
{
    Graph *g = b->g;
    const int64_t d = value_width(q), n_groups = q->dim[2].size, width = 2 * d;
    const char *sizes =
        arena_printf(g->arena, "g=%lld d=%lld", (long long)n_groups, (long long)width);
    Value *both = reshape(g, "bsg(rc)d->bs(gr)(cd)", "c=2", q);
    Value *first = pad_features(g, slice_features(g, both, 0, d), 3 * d),
          *second = slice_features(g, both, d, d);
    return reshape(g, "bs(gh)(cd)->bsg(hc)d", sizes, joined_heads(g, second, first));
}

Value *differential_keys(Build *b, Value *k)
{
    return reshape(b->g, "bs(gc)d->bsg(cd)", "c=2", k);
}

/* The share of block i before training. */
static double first_share(int64_t i)
{
    return 0.8 - 0.6 * exp(-0.3 * (double)i);
}

static Value *share_vector(Build *b, const char *name, int64_t width)
{
    const Dim dim = { .size = width };
    Value *v = graph_param(b->g, name, 1, &dim);
    v->role = ROLE_TOKEN;
    v->init = (Init){ .kind = INIT_NORMAL, .std = b->d->differential->std };
    return v;
}

/* [1] */
static Value *minus_share(Build *b, const DecoderLayer *layer)
{
    Graph *g = b->g;
    const int64_t width = decoder_head_width_of(b->d, layer);
    Value *q1 = share_vector(b, "lambda_q1", width), *k1 = share_vector(b, "lambda_k1", width),
          *q2 = share_vector(b, "lambda_q2", width), *k2 = share_vector(b, "lambda_k2", width);
    Value *less = scale(g, exp_dot(g, q1, k1), -1);
    return offset(g, add(g, exp_dot(g, q2, k2), less), -first_share(layer - b->d->layer));
}

Value *differential_heads(Build *b, const DecoderLayer *layer, Value *o)
{
    Graph *g = b->g;
    const int64_t width = value_width(o);
    const char *heads = arena_printf(g->arena, "g=%lld r=%lld d=%lld", (long long)o->dim[2].size,
                                     (long long)(o->dim[3].size / 2), (long long)width);
    Norm n = *b->d->differential->norm;
    n.width = width;
    Value *both = reshape(g, "bsg(rc)d->bsgr(cd)", "c=2", o);
    Value *first = slice_features(g, both, 0, width),
          *second = reshape(g, "bsgrd->bso(grd)", "o=1", slice_features(g, both, width, width));
    second = scale_heads(g, second, minus_share(b, layer));
    second = reshape(g, "bso(grd)->bsgrd", heads, second);
    o = norm_by(g, (NormParams){ 0 }, add(g, first, second), &n);
    return scale(g, o, 1 - first_share(layer - b->d->layer));
}
