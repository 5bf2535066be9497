/* decoder_conv.c - convolutions along the sequence in decoders: those in front of linear attention,
 * and layers that are one between two gates. */
#include "models/decoder_build.h"
#include "ops/causal_conv.h"
#include "ops/elementwise.h"

Value *decoder_conv(Build *b, const char *name, Value *x, int64_t taps, bool bias)
{
    Graph *g = b->g;
    const char *module = arena_printf(g->arena, "%s_conv", name);
    const Dim d[] = { { .size = value_width(x), .axis = x->dim[2].axis }, { .size = taps } };
    const Init init = init_of_linear(taps);
    Value *weight = layer_param(g, module, "weight", 2, d, ROLE_TOKEN, init), *y;
    if (b->f->cache_length) {
        const Dim kept[] = { x->dim[0], { .size = 1 }, { .size = taps - 1 }, x->dim[2] };
        Value *tail = decoder_cache(b, arena_printf(g->arena, "%s_tail", name), x, 4, kept);
        y = causal_conv_cached(g, tail, x, weight);
    } else {
        y = causal_conv(g, x, weight, b->documents);
    }
    if (!bias) return y;
    Value *added = layer_param(g, module, "bias", 1, d, ROLE_TOKEN, init);
    added->is_bias = true;
    return add_bias(g, y, added);
}

Value *short_conv_layer(Build *b, Value *x)
{
    const int64_t width = b->d->width;
    const ShortConv *s = b->d->short_conv;
    Graph *g = b->g;
    const Linear in = { width, "heads", "embed", s->bias, ROLE_LINEAR },
                 out = { width, "embed", "heads", s->bias, ROLE_RESIDUAL };
    graph_enter(g, "short_conv", -1);
    Value *front = linear(g, "front_gate", x, &in), *y = linear(g, "value", x, &in),
          *back = linear(g, "back_gate", x, &in);
    y = mul(g, back, decoder_conv(b, "value", mul(g, front, y), s->width, s->bias));
    y = linear(g, "c_proj", y, &out);
    graph_leave(g);
    return maybe_dropout(g, y, b->dropout, b->salt++);
}
