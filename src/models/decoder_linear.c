/* decoder_linear.c - linear attention of decoders: Gated DeltaNet (Yang et al. 2025), with the
 * order of its parts as Qwen3-Next has it. Queries, keys and values go through a convolution along
 * the sequence, heads read matrices that fade and are corrected token by token, and what they give
 * goes through a norm and a gate. */
#include "models/decoder_build.h"
#include "ops/causal_conv.h"
#include "ops/delta_gates.h"
#include "ops/elementwise.h"
#include "ops/gated_delta.h"
#include "ops/norm.h"
#include "ops/reshape.h"

/* Added to the squared length of queries and keys. */
#define LENGTH_EPS 1e-6

/* One of queries, keys and values [b s width], behind its convolution. */
static Value *convolved(Build *b, const char *name, Value *x, int64_t width)
{
    Graph *g = b->g;
    const int64_t taps = b->d->linear->conv_width;
    const Linear product = { width, "heads", "embed", false, ROLE_LINEAR };
    Value *y = linear(g, arena_printf(g->arena, "%s_attn", name), x, &product);
    const Dim d[] = { { .size = width, .axis = "heads" }, { .size = taps } };
    Value *weight = layer_param(g, arena_printf(g->arena, "%s_conv", name), "weight", 2, d,
                                ROLE_TOKEN, init_of_linear(taps));
    if (!b->f->cache_length) return silu(g, causal_conv(g, y, weight, b->documents));
    const Dim kept[] = { y->dim[0], { .size = 1 }, { .size = taps - 1 }, y->dim[2] };
    Value *tail = decoder_cache(b, arena_printf(g->arena, "%s_tail", name), y, 4, kept);
    return silu(g, causal_conv_cached(g, tail, y, weight));
}

static Value *gate_param(Graph *g, const char *what, int64_t heads, double low, double high)
{
    const Dim d = { .size = heads, .axis = "heads" };
    return layer_param(g, "delta_gates", what, 1, &d, ROLE_TOKEN,
                       (Init){ .kind = INIT_UNIFORM, .low = low, .high = high });
}

/* Heads begin with memories of very different lengths: steps of 0.001 to 0.1, as softplus makes
 * them of biases, times speeds of 1 to 16. */
static DeltaGates gates(Build *b, Value *x, Value *y)
{
    Graph *g = b->g;
    const LinearAttention *l = b->d->linear;
    Value *speed = gate_param(g, "speed", l->value_heads, 0, log(16)),
          *bias = gate_param(g, "bias", l->value_heads, log(expm1(0.001)), log(expm1(0.1)));
    return delta_gates(g, x, y, speed, bias, &(DeltaGatesAttrs){ .most = l->most_rate });
}

/* What heads [b s g r e] read of their matrices. */
static Value *read_matrices(Build *b, Value *q, Value *k, Value *v, DeltaGates gates)
{
    Graph *g = b->g;
    const double width = (double)b->d->linear->key_width;
    /* norms of length sqrt(width); queries are divided by it once more, as those of attention */
    const GatedDelta attrs = { .scale = 1 / width, .key_scale = 1 / sqrt(width) };
    q = rms_norm(g, q, NULL, NULL, LENGTH_EPS / width);
    k = rms_norm(g, k, NULL, NULL, LENGTH_EPS / width);
    if (!b->f->cache_length)
        return gated_delta(g, q, k, v, gates.decay, gates.rate, b->documents, &attrs);
    const Dim kept[] = { v->dim[0], { .size = 1 }, v->dim[2], v->dim[3], q->dim[3], v->dim[4] };
    Value *state = decoder_cache(b, "matrices", v, 6, kept);
    return gated_delta_cached(g, state, q, k, v, gates.decay, gates.rate, &attrs);
}

Value *linear_attention_layer(Build *b, Value *x)
{
    const Decoder *d = b->d;
    const LinearAttention *l = d->linear;
    Graph *g = b->g;
    const int64_t keys = l->key_heads * l->key_width, values = l->value_heads * l->value_width;
    const Linear of_head = { l->value_heads, "heads", "embed", false, ROLE_LINEAR },
                 of_value = { values, "heads", "embed", false, ROLE_LINEAR },
                 out = { d->width, "embed", "heads", false, ROLE_RESIDUAL };
    const char *groups = arena_printf(g->arena, "g=%lld", (long long)l->key_heads),
               *heads = arena_printf(g->arena, "g=%lld e=%lld", (long long)l->key_heads,
                                     (long long)l->value_width);
    graph_enter(g, "linear_attn", -1);
    Value *q = reshape(g, "bs(gd)->bsgd", groups, convolved(b, "q", x, keys));
    Value *k = reshape(g, "bs(gd)->bsgd", groups, convolved(b, "k", x, keys));
    Value *v = reshape(g, "bs(gre)->bsgre", heads, convolved(b, "v", x, values));
    Value *decay = reshape(g, "bs(gr)->bsgr", groups, linear(g, "a_attn", x, &of_head)),
          *rate = reshape(g, "bs(gr)->bsgr", groups, linear(g, "b_attn", x, &of_head)),
          *gate = reshape(g, "bs(gre)->bsgre", heads, linear(g, "g_attn", x, &of_value));
    graph_leave(g);
    Value *o = read_matrices(b, q, k, v, gates(b, decay, rate));
    o = swiglu(g, gate, norm(g, "delta_norm", o, l->norm));
    graph_enter(g, "linear_attn", -1);
    Value *y = linear(g, "c_proj", reshape(g, "bsgre->bs(gre)", NULL, o), &out);
    graph_leave(g);
    return maybe_dropout(g, y, b->dropout, b->salt++);
}
