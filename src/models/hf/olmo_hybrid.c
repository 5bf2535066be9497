/* olmo_hybrid.c - what OLMo Hybrid has of its own: Gated DeltaNet in most layers, with norms in
 * front of them, and layers of OLMo 3 as the others, with norms behind them. */
#include "models/hf/config_parts.h"
#include "models/hf/write_members.h"
#include "models/hf/write_values.h"
#include <string.h>

/* Of the norm of what heads of linear attention give, whatever config.json says. */
#define HEAD_EPS 1e-5

typedef struct Options {
    bool linear_allow_neg_eigval;
} Options;

static const Field fields[] = {
    FIELD_BOOL(Options, linear_allow_neg_eigval, "true", "corrections are up to 2, not up to 1"),
    { 0 },
};

/* transformers writes norms by those that its class has or, behind attention, by that of others. */
static const HfRenamed respelled[] = {
    { ".input_layernorm.", ".attention_layer_norm." },
    { ".post_attention_layernorm.", ".feedforward_layer_norm." },
    { ".feedforward_layer_norm.", ".post_attention_layernorm." },
    { 0 },
};

/* Every fourth layer has attention, and the last one where that is none. */
static const char *type_of_layer(int64_t i, int64_t n)
{
    return i % 4 == 3 || (n < 4 && i == n - 1) ? "full_attention" : "linear_attention";
}

static const int64_t *kept(Arena *a, int64_t n)
{
    return arena_copy(a, &n, sizeof n);
}

/* Where config.json is silent there are as many heads as of attention; keys of all of them are
 * three quarters as wide as the model, and a value is twice as wide as a key. */
static Error *read_sizes(HfReading *r)
{
    HfConfig *c = &r->c;
    const int64_t *heads = c->num_attention_heads;
    if (!heads) heads = kept(r->arena, r->family->n_heads);
    if (!c->linear_num_key_heads) c->linear_num_key_heads = heads;
    if (!c->linear_num_value_heads) c->linear_num_value_heads = heads;
    const double share = 0.75 * (double)c->hidden_size / (double)*c->linear_num_key_heads;
    if (!c->linear_key_head_dim && share < 1)
        return hf_unknown(r, "linear_num_key_heads", "it leaves no width to heads");
    if (!c->linear_key_head_dim) c->linear_key_head_dim = kept(r->arena, (int64_t)share);
    if (!c->linear_value_head_dim)
        c->linear_value_head_dim = kept(r->arena, 2 * *c->linear_key_head_dim);
    return NULL;
}

static Error *read_options(HfReading *r)
{
    TRY(hf_types_of_class(r, type_of_layer));
    return read_sizes(r);
}

/* A base that is null says that no position turns, as the authors' files have it. */
static bool positions_turn(const HfReading *r)
{
    const Yaml *base = yaml_get(r->c.rope_parameters, "rope_theta");
    if (!base) base = yaml_get(r->root, "rope_theta");
    return !base || base->type != YAML_NULL;
}

static Error *read_layers(HfReading *r, DecoderLayer *layer)
{
    const Options *o = r->own;
    Decoder *d = r->d;
    LinearAttention *l = arena_copy(r->arena, d->linear, sizeof *l);
    Norm *of_heads = arena_copy(r->arena, l->norm, sizeof *of_heads);
    const Yaml *ropes = r->c.rope_parameters;
    const bool turns = positions_turn(r);
    int64_t n_linear = 0;
    if (yaml_get(ropes, "full_attention") || yaml_get(ropes, "linear_attention"))
        return hf_unknown(r, "rope_parameters", "known is one rope, of all layers with attention");
    for (int64_t i = 0; i < d->n_layer; i++) {
        n_linear += layer[i].mixer == MIXER_LINEAR;
        if (!turns) layer[i].n_rope = 0;
    }
    if (!n_linear || n_linear == d->n_layer)
        return hf_unknown(r, "layer_types", "the class needs layers of both types");
    of_heads->eps = HEAD_EPS;
    l->norm = of_heads;
    l->front_norm = d->usual_norm;
    l->most_rate = o->linear_allow_neg_eigval ? 2 : 1;
    d->linear = l;
    return NULL;
}

static bool turns(const Decoder *d)
{
    for (int64_t i = 0; i < d->n_layer; i++)
        if (d->layer[i].n_rope) return true;
    return false;
}

static void add_members(Text *t, const Decoder *d)
{
    hf_put_bool(t, "linear_allow_neg_eigval", d->linear && d->linear->most_rate == 2);
    if (!turns(d)) hf_put_null(t, "rope_theta");
}

const HfDialect hf_olmo_hybrid = { .fields = fields,
                                   .size = sizeof(Options),
                                   .respelled = respelled,
                                   .read = read_options,
                                   .layers = read_layers,
                                   .add = add_members };
