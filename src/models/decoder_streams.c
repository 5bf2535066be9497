/* decoder_streams.c - several streams beside each other, of which a block's layers read one
 * (Alternating Updates, Baykal et al. 2023; Gemma 3n).
 *
 * A block first predicts each stream as itself and a sum of all, by factors that the active one
 * gives. Its layers read the active prediction a and make a' of it; each prediction is corrected by
 * a' - a, times 1 and a factor of its own that a' gives. The streams of a token lie one behind the
 * other: [b s (k d)]. */
#include "models/decoder_build.h"
#include "ops/clip.h"
#include "ops/contract.h"
#include "ops/elementwise.h"
#include "ops/features.h"
#include "ops/logit_cap.h"
#include "ops/match_size.h"
#include "ops/offset.h"
#include "ops/reshape.h"
#include "ops/scale_heads.h"

/* Mean square of a stream, below which it is not made as large as the first one. */
#define LEAST_SQUARE 1e-5

static Value *stream(Build *b, Value *x, int64_t i)
{
    return slice_features(b->g, x, i * b->d->width, b->d->width);
}

/* x [b s ...] with the streams of y [b s d] behind its own. */
static Value *with_another(Graph *g, Value *x, Value *y)
{
    x = reshape(g, "bs(hd)->bshd", "h=1", x);
    y = reshape(g, "bs(hd)->bshd", "h=1", y);
    return reshape(g, "bshd->bs(hd)", NULL, joined_heads(g, y, x));
}

/* As a further stream, as large as the first one. */
static Value *projected(Build *b, const char *module, int64_t i, Value *x, Value *first)
{
    const Linear same = { b->d->width, "embed", "embed", false, ROLE_LINEAR };
    const char *name = arena_printf(b->g->arena, "%s.%lld", module, (long long)i);
    return match_size(b->g, linear(b->g, name, x, &same), first, LEAST_SQUARE);
}

Value *streams_begun(Build *b, Value *x)
{
    if (b->d->hyper) return hyper_begun(b, x);
    if (!b->d->streams) return x;
    Value *all = x;
    for (int64_t i = 1; i < b->d->streams->n; i++)
        all = with_another(b->g, all, projected(b, "altup_in", i - 1, x, x));
    return all;
}

Value *streams_joined(Build *b, Value *x)
{
    if (b->d->hyper) return hyper_joined(b, x);
    if (!b->d->streams) return x;
    const int64_t n = b->d->streams->n;
    Value *first = stream(b, x, 0), *sum = first;
    for (int64_t i = 1; i < n; i++)
        sum = add(b->g, sum, projected(b, "altup_out", i - 1, stream(b, x, i), first));
    return scale(b->g, sum, 1 / (double)n);
}

/* What factors come from: a number between -1 and 1 for each stream [b s k]. */
static Value *routed(Build *b, Value *x)
{
    const Linear route = { b->d->streams->n, NULL, "embed", false, ROLE_LINEAR };
    Value *y = linear(b->g, "altup_router", norm(b->g, "altup_norm", x, b->d->usual_norm), &route);
    return logit_cap(b->g, scale(b->g, y, 1 / (double)b->d->width), 1);
}

/* n products of these numbers; training bounds their weights. */
static Value *factors(Build *b, const char *name, Value *x, int64_t n)
{
    const double bound = b->d->streams->bound;
    const Linear all = { n, NULL, NULL, false, ROLE_LINEAR };
    Value *weight = linear_weight(b->g, name, value_width(x), &all);
    if (b->f->training && bound > 0) weight = clip(b->g, weight, bound);
    return contract(b->g, "*k,nk->*n", x, weight);
}

Value *streams_predicted(Build *b, Value *x)
{
    Graph *g = b->g;
    const int64_t n = b->d->streams->n;
    const char *size = arena_printf(g->arena, "p=%lld", (long long)n),
               *streams = arena_printf(g->arena, "q=%lld", (long long)n);
    Value *all = factors(b, "altup_predict", routed(b, stream(b, x, b->d->streams->active)), n * n);
    Value *mixed = contract(g, "bspq,bsqd->bspd", reshape(g, "bs(pq)->bspq", size, all),
                            reshape(g, "bs(qd)->bsqd", streams, x));
    return add(g, x, reshape(g, "bspd->bs(pd)", NULL, mixed));
}

Value *streams_active(Build *b, Value *x)
{
    return stream(b, x, b->d->streams->active);
}

Value *streams_corrected(Build *b, Value *x, Value *active)
{
    Graph *g = b->g;
    Value *changed = add(g, active, scale(g, streams_active(b, x), -1));
    Value *all = offset(g, factors(b, "altup_correct", routed(b, active), b->d->streams->n), 1);
    Value *more = contract(g, "bspo,bsod->bspd", reshape(g, "bs(po)->bspo", "o=1", all),
                           reshape(g, "bs(od)->bsod", "o=1", changed));
    return add(g, x, reshape(g, "bspd->bs(pd)", NULL, more));
}

/* The active stream, each feature times a number of the block, which begins as 0. */
static Value *scaled(Build *b, Value *x)
{
    Graph *g = b->g;
    if (!b->d->streams->scales) return x;
    const Dim d = { .size = b->d->width };
    Value *factor = graph_param(g, "altup_scale", 1, &d);
    factor->role = ROLE_NORM;
    factor->init = (Init){ .kind = INIT_ZEROS };
    x = scale_heads(g, reshape(g, "bs(he)->bshe", "e=1", x), factor);
    return reshape(g, "bshe->bs(he)", NULL, x);
}

Value *streams_given(Build *b, Value *x, Value *vector)
{
    const int64_t n = b->d->streams->n;
    Value *given = per_layer_given(b, scaled(b, streams_active(b, x)), vector), *all = given;
    for (int64_t i = 2; i < n; i++) all = with_another(b->g, all, given);
    return add(b->g, x, place_features(b->g, all, b->d->width, n * b->d->width));
}
