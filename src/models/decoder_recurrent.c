/* decoder_recurrent.c - gated recurrences of decoders (De et al. 2024, Griffin): features of the
 * token go through a convolution along the sequence, each keeps one number, which two gates let
 * fade and add to, and what it is counts by the activation of another product of the token. A gate
 * is a product of the features of its group alone. */
#include "models/decoder_build.h"
#include "ops/contract.h"
#include "ops/elementwise.h"
#include "ops/gated_recurrence.h"
#include "ops/reshape.h"

/* What gates of x [b s c] are made of: a matrix for each group, and biases. */
static Value *group_products(Build *b, const char *name, Value *x)
{
    const Recurrent *r = b->d->recurrent;
    Graph *g = b->g;
    const int64_t width = r->width / r->n_groups;
    const Dim d[] = { { .size = r->n_groups, .axis = "heads" },
                      { .size = width },
                      { .size = width } };
    const Init init = init_of_linear(width);
    const char *groups = arena_printf(g->arena, "h=%lld", (long long)r->n_groups);
    Value *weight = layer_param(g, name, "weight", 3, d, ROLE_LINEAR, init),
          *bias = layer_param(g, name, "bias", 2, d, ROLE_LINEAR, init);
    bias->is_bias = true;
    Value *y = contract(g, "bshd,hde->bshe", reshape(g, "bs(hd)->bshd", groups, x), weight);
    return add_bias(g, reshape(g, "bshe->bs(he)", NULL, y), reshape(g, "he->(he)", NULL, bias));
}

/* Of numbers in front of gates that are open: 0.9 to 0.999 of them are left behind a token. */
static Value *speeds(Graph *g, int64_t n)
{
    const Dim d = { .size = n, .axis = "heads" };
    const Init init = { .kind = INIT_UNIFORM, .low = log(1 / 0.999 - 1), .high = log(1 / 0.9 - 1) };
    return layer_param(g, "delta_gates", "speed", 1, &d, ROLE_TOKEN, init);
}

static Value *walked(Build *b, const GatedRecurrence *r)
{
    if (!b->f->cache_length) return gated_recurrence(b->g, r, b->documents);
    const Dim kept[] = { r->x->dim[0], { .size = 1 }, r->x->dim[2] };
    return gated_recurrence_cached(b->g, decoder_cache(b, "states", r->x, 3, kept), r);
}

Value *recurrent_layer(Build *b, Value *x)
{
    const Recurrent *r = b->d->recurrent;
    Graph *g = b->g;
    const Linear in = { r->width, "heads", "embed", r->bias, ROLE_LINEAR },
                 out = { b->d->width, "embed", "heads", r->bias, ROLE_RESIDUAL };
    graph_enter(g, "linear_attn", -1);
    Value *v = linear(g, "v_attn", x, &in), *open = linear(g, "g_attn", x, &in);
    v = decoder_conv(b, "v", v, r->conv_width, r->conv_bias);
    GatedRecurrence walk = { .x = v,
                             .in = group_products(b, "in_gate", v),
                             .fade = group_products(b, "fade_gate", v) };
    graph_leave(g);
    walk.speed = speeds(g, r->width);
    Value *y = gate(g, open, walked(b, &walk), b->d->activation, 0);
    graph_enter(g, "linear_attn", -1);
    y = linear(g, "c_proj", y, &out);
    graph_leave(g);
    return maybe_dropout(g, y, b->dropout, b->salt++);
}
