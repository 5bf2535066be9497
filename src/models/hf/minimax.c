/* minimax.c - what MiniMax (Text-01, M1) has of its own: Lightning Attention in some layers, with
 * the heads of attention, and factors of what layers give and of what they add to, which is what
 * norms in front of them give. */
#include "models/hf/config_parts.h"
#include "models/hf/write_members.h"
#include "models/hf/write_values.h"

/* Of the norm of what heads of linear attention give, whatever config.json says. */
#define HEADS_EPS 1e-6

typedef struct Options {
    double full_attn_alpha_factor, full_attn_beta_factor, linear_attn_alpha_factor,
        linear_attn_beta_factor, mlp_alpha_factor, mlp_beta_factor;
} Options;

/* clang-format off */
#define FACTOR(m, text) FIELD_FLOAT(Options, m, "1.0", 0, INFINITY, text, .flags = FIELD_OPEN_MIN)
static const Field fields[] = {
    FACTOR(full_attn_alpha_factor, "of what attention adds to"),
    FACTOR(full_attn_beta_factor, "of what it gives"),
    FACTOR(linear_attn_alpha_factor, "of what linear attention adds to"),
    FACTOR(linear_attn_beta_factor, "of what it gives"),
    FACTOR(mlp_alpha_factor, "of what experts add to"),
    FACTOR(mlp_beta_factor, "of what they give"),
    { 0 },
};
#undef FACTOR
/* clang-format on */

static const char *type_of_layer(int64_t i, int64_t n)
{
    (void)n;
    return i % 2 ? "linear_attention" : "full_attention";
}

static Error *read_options(HfReading *r)
{
    const Options *o = r->own;
    Multipliers m = *decoder_multipliers(r->d);
    m.attention_stream = o->full_attn_alpha_factor;
    m.attention_out = o->full_attn_beta_factor;
    m.linear_stream = o->linear_attn_alpha_factor;
    m.linear_out = o->linear_attn_beta_factor;
    m.ffn_stream = o->mlp_alpha_factor;
    m.ffn_out = o->mlp_beta_factor;
    r->d->multipliers = arena_copy(r->arena, &m, sizeof m);
    r->d->residual = RESIDUAL_NORMED;
    return hf_types_of_class(r, type_of_layer);
}

/* Of all layers with attention, which layer_types call full; 0: there is none. */
static Error *read_window(const HfReading *r, int64_t *out)
{
    const Yaml *v = yaml_get(r->root, "sliding_window");
    *out = v && v->type == YAML_INT ? v->integer : 0;
    if (!v || v->type == YAML_NULL || *out > 0) return NULL;
    return hf_unknown(r, "sliding_window", "allowed are a positive integer and null");
}

static Error *read_layers(HfReading *r, DecoderLayer *layer)
{
    Decoder *d = r->d;
    int64_t window;
    TRY(read_window(r, &window));
    for (int64_t i = 0; i < d->n_layer; i++)
        if (layer[i].mixer == MIXER_ATTENTION) layer[i].window = window;
    LinearAttention *l = arena_copy(r->arena, d->linear, sizeof *l);
    Norm *n = arena_copy(r->arena, l->norm, sizeof *n);
    l->key_heads = l->value_heads = d->n_head_q;
    l->key_width = l->value_width = d->head_width;
    l->conv_width = 0;
    l->fixed_decays = l->norm_of_all = l->sigmoid_gates = true;
    n->width = d->n_head_q * d->head_width;
    n->eps = HEADS_EPS;
    l->norm = n;
    d->linear = l;
    return NULL;
}

static void add_members(Text *t, const Decoder *d)
{
    const Multipliers *m = decoder_multipliers(d);
    hf_put_double(t, "full_attn_alpha_factor", m->attention_stream);
    hf_put_double(t, "full_attn_beta_factor", m->attention_out);
    hf_put_double(t, "linear_attn_alpha_factor", m->linear_stream);
    hf_put_double(t, "linear_attn_beta_factor", m->linear_out);
    hf_put_double(t, "mlp_alpha_factor", m->ffn_stream);
    hf_put_double(t, "mlp_beta_factor", m->ffn_out);
}

const HfDialect hf_minimax = { .fields = fields,
                               .size = sizeof(Options),
                               .read = read_options,
                               .layers = read_layers,
                               .add = add_members };
