/* decoder_hyper.c - manifold-constrained hyper-connections (Xie et al. 2026): several streams, of
 * which each layer reads a sum, and adds what it gives to all, by weights of the token.
 *
 * These weights are products of all streams of the token, [b s (k d)], behind a norm without
 * weights. The streams themselves are mixed by a matrix whose rows and columns have sums of 1, so
 * that no mix of any number of blocks makes them larger (ops/hyper.h), or stay as they are. */
#include "models/decoder_build.h"
#include "ops/hyper.h"
#include "ops/repeat_heads.h"
#include "ops/reshape.h"

static Value *by_stream(Build *b, Value *x)
{
    const char *width = arena_printf(b->g->arena, "d=%lld", (long long)b->d->width);
    return reshape(b->g, "bs(kd)->bskd", width, x);
}

/* "<name>.weight" [numbers (k d)], ".base" [numbers] and ".scale" [hyper_scales]. */
static Value *weights_of(Build *b, const char *name, Value *x, bool reads_alone)
{
    const HyperConnections *h = b->d->hyper;
    const double below = h->write_scale != 0 ? h->write_scale : 2;
    const HyperWeights attrs = { h->n, h->iterations, h->eps, below, reads_alone };
    const Linear all = { hyper_width(&attrs), NULL, NULL, false, ROLE_LINEAR };
    const Dim numbers = { .size = all.width }, scales = { .size = hyper_scales(&attrs) };
    const Init zeros = { .kind = INIT_ZEROS }, ones = { .kind = INIT_ONES };
    Graph *g = b->g;
    Value *y = linear(g, name, norm_by(g, (NormParams){ 0 }, x, h->norm), &all);
    Value *base = layer_param(g, name, "base", 1, &numbers, ROLE_TOKEN, zeros),
          *scale = layer_param(g, name, "scale", 1, &scales, ROLE_TOKEN, ones);
    return hyper_weights(g, y, base, scale, &attrs);
}

Value *hyper_begun(Build *b, Value *x)
{
    Graph *g = b->g;
    x = repeat_heads(g, reshape(g, "bs(hd)->bshd", "h=1", x), b->d->hyper->n);
    return reshape(g, "bshd->bs(hd)", NULL, x);
}

Value *hyper_joined(Build *b, Value *x)
{
    return hyper_read(b->g, by_stream(b, x), weights_of(b, "hyper_head", x, true));
}

Value *hyper_front(Build *b, const char *name, Value *x, Value **weights)
{
    *weights = weights_of(b, name, x, false);
    return hyper_read(b->g, by_stream(b, x), *weights);
}

Value *hyper_behind(Build *b, Value *x, Value *y, Value *weights)
{
    return reshape(b->g, "bskd->bs(kd)", NULL, hyper_write(b->g, by_stream(b, x), y, weights));
}
