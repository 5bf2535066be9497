/* decoder_selective.c - selective state spaces of decoders (Gu and Dao 2023, Mamba), with the norms
 * that Jamba and Falcon Mamba have in them. Features of the token go through a convolution along
 * the sequence; products of all of them say how long their states step, what goes in and what comes
 * out, and what each feature reads of its state counts by a gate. */
#include "models/decoder_build.h"
#include "ops/elementwise.h"
#include "ops/features.h"
#include "ops/selective_scan.h"

/* One of the parts that x_proj gives. */
static Value *part(Build *b, const char *name, Value *all, int64_t from, int64_t n,
                   const Norm *norm_of_part)
{
    Value *x = slice_features(b->g, all, from, n);
    if (!norm_of_part) return x;
    Norm own = *norm_of_part;
    own.width = n;
    graph_enter(b->g, "delta_norm", -1);
    x = norm(b->g, name, x, arena_copy(b->g->arena, &own, sizeof own));
    graph_leave(b->g);
    return x;
}

static Value *feature_param(Graph *g, const char *what, int n_dims, const Dim *dims, Init init)
{
    return layer_param(g, "delta_gates", what, n_dims, dims, ROLE_TOKEN, init);
}

/* Products of what convolutions give, and what features learn. The numbers of a state begin to fade
 * with speeds 1, 2, 3 ...; steps of 0.001 to 0.1 come of biases, as softplus makes them. */
static SelectiveScan operands(Build *b, Value *x)
{
    const Selective *s = b->d->selective;
    Graph *g = b->g;
    const int64_t rank = s->step_rank, n = s->state_width;
    const Init of_speed = { .kind = INIT_LOG_COUNT, .columns = n }, of_skip = { .kind = INIT_ONES },
               of_bias = { .kind = INIT_UNIFORM,
                           .low = log(expm1(0.001)),
                           .high = log(expm1(0.1)) };
    const Linear narrow = { rank + 2 * n, NULL, "heads", false, ROLE_LINEAR },
                 wide = { s->width, "heads", NULL, false, ROLE_TOKEN };
    const Dim d[] = { { .size = s->width, .axis = "heads" }, { .size = n } };
    graph_enter(g, "linear_attn", -1);
    Value *all = linear(g, "x_proj", x, &narrow);
    graph_leave(g);
    Value *step = part(b, "step", all, 0, rank, s->norm);
    SelectiveScan made = { .x = x,
                           .in = part(b, "in", all, rank, n, s->norm),
                           .out = part(b, "out", all, rank + n, n, s->norm) };
    graph_enter(g, "linear_attn", -1);
    made.step = linear(g, "step_proj", step, &wide);
    graph_leave(g);
    made.speed = feature_param(g, "speed", 2, d, of_speed);
    made.bias = feature_param(g, "bias", 1, d, of_bias);
    made.bias->is_bias = true;
    made.skip = feature_param(g, "skip", 1, d, of_skip);
    return made;
}

static Value *scanned(Build *b, const SelectiveScan *s)
{
    if (!b->f->cache_length) return selective_scan(b->g, s, b->documents);
    const Dim kept[] = {
        s->x->dim[0], { .size = 1 }, s->x->dim[2], { .size = value_width(s->in) }
    };
    return selective_scan_cached(b->g, decoder_cache(b, "states", s->x, 4, kept), s);
}

Value *selective_layer(Build *b, Value *x)
{
    const Selective *s = b->d->selective;
    Graph *g = b->g;
    const Linear in = { s->width, "heads", "embed", s->bias, ROLE_LINEAR },
                 out = { b->d->width, "embed", "heads", s->bias, ROLE_RESIDUAL };
    graph_enter(g, "linear_attn", -1);
    Value *v = linear(g, "v_attn", x, &in), *gate = linear(g, "g_attn", x, &in);
    v = silu(g, decoder_conv(b, "v", v, s->conv_width, s->conv_bias));
    graph_leave(g);
    const SelectiveScan scan = operands(b, v);
    Value *y = swiglu(g, gate, scanned(b, &scan));
    graph_enter(g, "linear_attn", -1);
    y = linear(g, "c_proj", y, &out);
    graph_leave(g);
    return maybe_dropout(g, y, b->dropout, b->salt++);
}
