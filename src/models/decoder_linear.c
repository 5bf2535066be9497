/* decoder_linear.c - linear attention of decoders: Gated DeltaNet (Yang et al. 2025), with the
 * order of its parts as Qwen3-Next has it, Kimi Delta Attention (Kimi Team 2025), Mamba-2 (Dao
 * and Gu 2024), and Lightning Attention (Qin et al. 2024). Queries, keys and values go through a
 * convolution along the sequence, heads read matrices that fade and are corrected, or added to,
 * token by token, and what they give goes through a norm and a gate. */
#include "models/decoder_build.h"
#include "ops/delta_gates.h"
#include "ops/elementwise.h"
#include "ops/fixed_decays.h"
#include "ops/gated_delta.h"
#include "ops/norm.h"
#include "ops/repeat_heads.h"
#include "ops/reshape.h"
#include "ops/row_gate.h"
#include "ops/scale_heads.h"

/* Added to the squared length of queries and keys. */
#define LENGTH_EPS 1e-6

/* What a product is multiplied by, by its letter. */
static double multiplier(const Build *b, char name)
{
    const Multipliers *m = decoder_multipliers(b->d);
    return name == 'g'   ? m->gates
           : name == 'v' ? m->values
           : name == 'k' ? m->keys
           : name == 'q' ? m->queries
           : name == 'a' ? m->steps
                         : 1;
}

/* Groups of heads that share queries and keys: more than are learned where they are repeated. Ranks
 * along cp have heads for tokens, too. */
static int64_t groups_of(const Build *b)
{
    const LinearAttention *l = b->d->linear;
    return decoder_key_heads(l->key_heads, l->value_heads,
                             decoder_ranks(b, MESH_TP) * decoder_ranks(b, MESH_CP));
}

static bool are_repeated(const Build *b)
{
    return groups_of(b) != b->d->linear->key_heads;
}

/* A product of the token, [b s width], which ranks divide by `axis`. */
static Value *product_by(Build *b, const char *name, Value *x, int64_t width, const char *axis)
{
    const Linear l = { width, axis, "embed", b->d->linear->bias, ROLE_LINEAR };
    Value *y = linear(b->g, arena_printf(b->g->arena, "%s_attn", name), x, &l);
    return multiplied(b->g, y, multiplier(b, *name));
}

static Value *product(Build *b, const char *name, Value *x, int64_t width)
{
    return product_by(b, name, x, width, "heads");
}

/* The same of a vector of the token with `rank` numbers, which each rank makes; 0: of the token. */
static Value *ranked(Build *b, const char *name, Value *x, int64_t width, int64_t rank)
{
    Graph *g = b->g;
    const Linear narrow = { rank, NULL, "embed", false, ROLE_LINEAR },
                 wide = { width, "heads", NULL, false, ROLE_LINEAR };
    if (!rank) return product(b, name, x, width);
    x = linear(g, arena_printf(g->arena, "%s_latent", name), x, &narrow);
    return linear(g, arena_printf(g->arena, "%s_up", name), x, &wide);
}

/* Behind its convolution, if there is one. */
static Value *convolved(Build *b, const char *name, Value *x)
{
    const LinearAttention *l = b->d->linear;
    if (!l->conv_width) return silu(b->g, x);
    return silu(b->g, decoder_conv(b, name, x, l->conv_width, l->conv_bias));
}

/* Queries or keys [b s g d], of each group. */
static Value *of_groups(Build *b, const char *name, Value *x)
{
    Graph *g = b->g;
    const LinearAttention *l = b->d->linear;
    const char *sizes = arena_printf(g->arena, "g=%lld", (long long)l->key_heads);
    x = product_by(b, name, x, l->key_heads * l->key_width, are_repeated(b) ? NULL : "heads");
    x = reshape(g, "bs(gd)->bsgd", sizes, convolved(b, name, x));
    return are_repeated(b) ? repeat_heads(g, x, groups_of(b)) : x;
}

static Value *gate_param(Graph *g, const char *what, int64_t heads, Init init)
{
    const Dim d = { .size = heads, .axis = "heads" };
    return layer_param(g, "delta_gates", what, 1, &d, ROLE_TOKEN, init);
}

/* Heads begin with memories of very different lengths: steps of 0.001 to 0.1, as softplus makes
 * them of biases, times speeds of 1 to 16. */
static DeltaGates gates(Build *b, Value *x, Value *y)
{
    Graph *g = b->g;
    const LinearAttention *l = b->d->linear;
    const Init of_speed = { .kind = INIT_UNIFORM, .low = 0, .high = log(16) }, of_bias = {
        .kind = INIT_UNIFORM, .low = log(expm1(0.001)), .high = log(expm1(0.1))
    };
    Value *speed = gate_param(g, "speed", l->value_heads, of_speed),
          *bias =
              gate_param(g, "bias", l->value_heads * (l->row_decays ? l->key_width : 1), of_bias);
    const DeltaGatesAttrs attrs = { l->most_rate, l->least_step, l->most_step, l->decay_bound };
    return delta_gates(g, x, y, speed, bias, &attrs);
}

/* Those of block i, for heads like those of v [b s g r e]: decays fall to almost nothing in the
 * last block, as MiniMax has them. */
static DeltaGates fixed_gates(Build *b, Value *v, int64_t i)
{
    const int64_t last = b->d->n_layer - 1;
    if (i > last) i = last; /* a block for later tokens */
    return fixed_decays(b->g, v, 1 - (double)i / ((double)last + 1e-5) + 1e-5);
}

/* What heads [b s g r e] read of their matrices. */
static Value *read_matrices(Build *b, Value *q, Value *k, Value *v, DeltaGates gates,
                            const GatedDelta *attrs)
{
    Graph *g = b->g;
    if (!b->f->cache_length)
        return gated_delta(g, q, k, v, gates.decay, gates.rate, b->documents, attrs);
    const Dim kept[] = { v->dim[0], { .size = 1 }, v->dim[2], v->dim[3], q->dim[3], v->dim[4] };
    Value *state = decoder_cache(b, "matrices", v, 6, kept);
    return gated_delta_cached(g, state, q, k, v, gates.decay, gates.rate, attrs);
}

/* The rule that corrects, with queries and keys of length 1; queries are divided by the root of
 * their width once more, as those of attention. */
static Value *corrected(Build *b, Value *q, Value *k, Value *v, DeltaGates gates)
{
    const double width = (double)b->d->linear->key_width;
    const GatedDelta attrs = { .scale = 1 / width, .key_scale = 1 / sqrt(width) };
    q = rms_norm(b->g, q, NULL, NULL, LENGTH_EPS / width); /* of length sqrt(width) */
    k = rms_norm(b->g, k, NULL, NULL, LENGTH_EPS / width);
    return read_matrices(b, q, k, v, gates, &attrs);
}

/* The rule that adds, and the skip of state spaces. */
static Value *added(Build *b, Value *q, Value *k, Value *v, DeltaGates gates)
{
    Graph *g = b->g;
    const LinearAttention *l = b->d->linear;
    const GatedDelta attrs = { .scale = 1, .key_scale = 1, .adds = true };
    Value *o = read_matrices(b, q, k, v, gates, &attrs);
    if (!l->has_skip) return o;
    Value *skip = gate_param(g, "skip", l->value_heads, (Init){ .kind = INIT_ONES }),
          *own = scale_heads(g, reshape(g, "bsgre->bs(gr)e", NULL, v), skip);
    const char *groups = arena_printf(g->arena, "g=%lld", (long long)groups_of(b));
    return add(g, o, reshape(g, "bs(gr)e->bsgre", groups, own));
}

/* The product that decays come from: [b s g r], or, with those of each row, [b s g r d]. */
static Value *decay_of(Build *b, Value *x, const char *groups)
{
    Graph *g = b->g;
    const LinearAttention *l = b->d->linear;
    if (!l->row_decays)
        return reshape(g, "bs(gr)->bsgr", groups, ranked(b, "a", x, l->value_heads, l->decay_rank));
    x = ranked(b, "a", x, l->value_heads * l->key_width, l->decay_rank);
    const char *sizes = arena_printf(g->arena, "%s d=%lld", groups, (long long)l->key_width);
    return reshape(g, "bs(grd)->bsgrd", sizes, x);
}

/* Norms of what each of n groups gives: [b s (g r e)]. One that ranks share is put together. */
static Value *normed_groups(Build *b, Value *o, int64_t n, bool is_shared)
{
    Graph *g = b->g;
    const LinearAttention *l = b->d->linear;
    const Dim d = { .size = l->value_heads * l->value_width, .axis = "heads" };
    const char *groups = arena_printf(g->arena, "g=%lld", (long long)n);
    Value *weight =
        layer_param(g, "delta_norm", "weight", 1, &d, ROLE_NORM, (Init){ .kind = INIT_ONES });
    o = is_shared ? reshape(g, "bs(gd)->bsg!d", groups, reshape(g, "bsgre->bs(gre)", NULL, o))
                  : reshape(g, "bsgre->bsg(re)", NULL, o);
    o = rms_norm(g, o, NULL, NULL, l->norm->eps);
    o = scale_heads(g, reshape(g, is_shared ? "bsg!d->bs(gd)o" : "bsgd->bs(gd)o", "o=1", o),
                    weight);
    return reshape(g, "bsho->bs(ho)", NULL, o);
}

/* Gates, then norms of groups, or the other way round, or gates alone. */
static Value *gated_groups(Build *b, Value *o, Value *gate)
{
    Graph *g = b->g;
    const LinearAttention *l = b->d->linear;
    const int64_t n = l->key_heads;
    const bool is_shared = are_repeated(b);
    if (l->norm && l->norm_first)
        return swiglu(g, reshape(g, "bsgre->bs(gre)", NULL, gate),
                      normed_groups(b, o, n, is_shared));
    o = swiglu(g, gate, o);
    return l->norm ? normed_groups(b, o, n, is_shared) : reshape(g, "bsgre->bs(gre)", NULL, o);
}

/* Norms of what each head gives, or of all of it, then gates: [b s (g r e)]. */
static Value *gated_heads(Build *b, Value *o, Value *gate)
{
    Graph *g = b->g;
    const LinearAttention *l = b->d->linear;
    if (!l->norm_of_all) o = norm(g, "delta_norm", o, l->norm);
    if (!l->norm_of_all && !l->sigmoid_gates)
        return reshape(g, "bsgre->bs(gre)", NULL, swiglu(g, gate, o));
    gate = reshape(g, "bsgre->bs(gre)", NULL, gate);
    o = l->norm_of_all ? normed_groups(b, o, 1, true) : reshape(g, "bsgre->bs(gre)", NULL, o);
    if (!l->sigmoid_gates) return swiglu(g, gate, o);
    o = sigmoid_gate(g, reshape(g, "bsn->bsno", "o=1", o), gate);
    return reshape(g, "bsno->bs(no)", NULL, o);
}

Value *linear_attention_layer(Build *b, Value *x, int64_t i)
{
    const Decoder *d = b->d;
    const LinearAttention *l = d->linear;
    Graph *g = b->g;
    const int64_t values = l->value_heads * l->value_width, n = groups_of(b);
    const Linear out = { d->width, "embed", "heads", l->bias, ROLE_RESIDUAL };
    const char *groups = arena_printf(g->arena, "g=%lld", (long long)n),
               *heads =
                   arena_printf(g->arena, "g=%lld e=%lld", (long long)n, (long long)l->value_width);
    graph_enter(g, "linear_attn", -1);
    Value *q = of_groups(b, "q", x);
    Value *k = of_groups(b, "k", x);
    Value *v = reshape(g, "bs(gre)->bsgre", heads, convolved(b, "v", product(b, "v", x, values)));
    Value *decay = l->fixed_decays ? NULL : decay_of(b, x, groups),
          *rate = l->is_state_space || l->fixed_decays
                      ? NULL
                      : reshape(g, "bs(gr)->bsgr", groups, product(b, "b", x, l->value_heads)),
          *gate = reshape(g, "bs(gre)->bsgre", heads, ranked(b, "g", x, values, l->gate_rank));
    graph_leave(g);
    const DeltaGates made = l->fixed_decays ? fixed_gates(b, v, i) : gates(b, decay, rate);
    const bool adds = l->is_state_space || l->fixed_decays;
    Value *o = adds ? added(b, q, k, v, made) : corrected(b, q, k, v, made);
    o = l->is_state_space ? gated_groups(b, o, gate) : gated_heads(b, o, gate);
    graph_enter(g, "linear_attn", -1);
    Value *y = linear(g, "c_proj", o, &out);
    graph_leave(g);
    return maybe_dropout(g, y, b->dropout, b->salt++);
}
