/* gemma4.c - what Gemma 4 has of its own: layers that see all keys have heads of their
 * own, whose values may be the keys, and experts stand beside a feed-forward layer. Small models
 * have embeddings of each layer, and upper layers that read keys and values of lower ones. */
#include "models/hf/config_parts.h"
#include "models/hf/write_members.h"
#include "models/hf/write_values.h"
#include <math.h>
#include <string.h>

typedef struct Options {
    int64_t global_head_dim, num_kv_shared_layers, vocab_size_per_layer_input;
    const int64_t *num_global_key_value_heads, *hidden_size_per_layer_input, *top_k_experts;
    bool attention_k_eq_v, enable_moe_block, use_double_wide_mlp;
    const Yaml *per_layer_config;
} Options;

/* clang-format off */
#define OF_LAYERS                                                                                                            \
    HF_COUNT(Options, global_head_dim, "512", "width of a head in layers that see all keys"),                                \
    HF_COUNT(Options, num_global_key_value_heads, "null", "their key heads, if values are the keys"),                        \
    FIELD_BOOL(Options, attention_k_eq_v, "false", "values of these layers are the keys"),                                   \
    FIELD_ANY(Options, per_layer_config, "null", "sizes of single layers"),                                                  \
    FIELD_INT(Options, num_kv_shared_layers, "0", 0, 1000, "the last layers, which read keys and values of others"),         \
    FIELD_BOOL(Options, use_double_wide_mlp, "false", "their feed-forward layers are twice as wide")
static const Field fields[] = {
    OF_LAYERS,
    FIELD_INT(Options, hidden_size_per_layer_input, "null", 0, 2147483647, "width of the embeddings of each layer"),
    HF_COUNT(Options, vocab_size_per_layer_input, "262144", "rows of their table"),
    FIELD_BOOL(Options, enable_moe_block, "false", "experts beside feed-forward layers"),
    HF_COUNT(Options, top_k_experts, "null", "experts of a token"),
    { 0 },
}, unified_fields[] = {
    OF_LAYERS,
    { 0 },
};
#undef OF_LAYERS
/* clang-format on */

/* What is not built, or cannot be. */
static Error *refuse(const HfReading *r)
{
    const Yaml *both = r->c.use_bidirectional_attention;
    const Options *o = r->own;
    if (both && both->type == YAML_STRING && !strcmp(both->text, "all"))
        return hf_unknown(r, "use_bidirectional_attention",
                          "known are null and vision: tokens of text see no later ones");
    if (o->num_kv_shared_layers >= r->d->n_layer)
        return hf_unknown(r, "num_kv_shared_layers",
                          "it leaves no layer that makes keys and values");
    if (r->c.sliding_window && r->c.sliding_window->type == YAML_NULL)
        return hf_unknown(r, "sliding_window", "the class needs it");
    return NULL;
}

/* The embeddings of each layer: 256 wide where the file is silent, none where it says 0. */
static Error *read_per_layer(HfReading *r)
{
    const Options *o = r->own;
    Decoder *d = r->d;
    const int64_t *given = o->hidden_size_per_layer_input;
    const bool is_silent = !yaml_get(r->root, "hidden_size_per_layer_input");
    const int64_t width = given ? *given : is_silent ? 256 : 0;
    if (!width) return NULL;
    if (o->vocab_size_per_layer_input < d->vocab_size)
        return hf_unknown(r, "vocab_size_per_layer_input", "each of vocab_size needs a row");
    Norm *n = arena_copy(r->arena, d->usual_norm, sizeof *n);
    PerLayerEmbedding *p = NEW(r->arena, PerLayerEmbedding);
    n->width = width;
    *p = (PerLayerEmbedding){ .width = width,
                              .vocab_size = o->vocab_size_per_layer_input,
                              .scale = sqrt((double)width),
                              .norm = n,
                              .post_norm = d->usual_norm };
    d->per_layer = p;
    return NULL;
}

static Error *adjust_unified(HfReading *r)
{
    Decoder *d = r->d;
    TRY(refuse(r));
    Norm *n = arena_copy(r->arena, d->usual_norm, sizeof *n);
    n->has_weight = false;
    n->width = d->head_width;
    d->value_norm = n;
    d->block_scale = true;
    return NULL;
}

static Error *adjust(HfReading *r)
{
    TRY(adjust_unified(r));
    r->no_experts = !((const Options *)r->own)->enable_moe_block;
    return read_per_layer(r);
}

/* The class never takes router_aux_loss_coef into its loss. */
static Error *read_router(const HfReading *r, Moe *m)
{
    if (!r->c.moe_intermediate_size)
        return hf_unknown(r, "moe_intermediate_size", "a mixture of experts needs one number");
    m->normalize = m->beside_ffn = m->router_norm = m->expert_scale = true;
    m->aux_loss = 0;
    return NULL;
}

/* Sizes of a layer, by its number or by its type. */
static Error *read_heads(const HfReading *r, int64_t i, DecoderLayer *layer)
{
    const Options *o = r->own;
    const Decoder *d = r->d;
    const bool by_number = o->per_layer_config && o->per_layer_config->type == YAML_MAP;
    int64_t width = d->head_width, n = d->n_head_kv;
    if (by_number) {
        const Yaml *own =
            yaml_get(o->per_layer_config, arena_printf(r->arena, "%lld", (long long)i));
        for (int64_t k = 0; own && own->type == YAML_MAP && k < own->n; k++)
            if (strcmp(own->key[k]->text, "head_dim") != 0 &&
                strcmp(own->key[k]->text, "num_key_value_heads") != 0)
                return hf_unknown(r, "per_layer_config",
                                  "layers have a head_dim and num_key_value_heads of their own");
        width = (int64_t)hf_number(own, "head_dim", (double)width);
        n = (int64_t)hf_number(own, "num_key_value_heads", (double)n);
    } else if (!layer->window) {
        width = o->global_head_dim;
        if (o->attention_k_eq_v && o->num_global_key_value_heads)
            n = *o->num_global_key_value_heads;
    }
    const char *key = by_number ? "per_layer_config" : "num_global_key_value_heads";
    if (n < 1 || d->n_head_q % n)
        return hf_unknown(r, key, "key heads must divide num_attention_heads");
    if (width < 2 || width % 2)
        return hf_unknown(r, by_number ? key : "global_head_dim", "features turn in pairs");
    layer->head_width = width == d->head_width ? 0 : width;
    layer->n_head_kv = n == d->n_head_kv ? 0 : n;
    layer->keys_as_values = o->attention_k_eq_v && !layer->window;
    return NULL;
}

/* The layer reads keys and values of the last one of its type in front of all that do. */
static Error *share_keys(const HfReading *r, DecoderLayer *layer)
{
    const Decoder *d = r->d;
    const Options *o = r->own;
    layer->shared_kv = true;
    layer->keys_as_values = false;
    if (o->use_double_wide_mlp) layer->hidden = 2 * d->hidden;
    const DecoderLayer *from = decoder_keys_of(d, layer);
    if (!from)
        return hf_unknown(r, "num_kv_shared_layers",
                          "each type of layer needs one that makes keys and values");
    if (decoder_key_heads_of(d, from) != decoder_key_heads_of(d, layer))
        return hf_unknown(r, "per_layer_config", "layers that share keys have as many of them");
    return NULL;
}

/* The last layer sees all keys, whatever layer_types says of it. */
static Error *read_layers(HfReading *r, DecoderLayer *layer)
{
    Decoder *d = r->d;
    const Options *o = r->own;
    RopeScaling *rope = NEW_N(r->arena, RopeScaling, 2);
    const HfTypedRope silent[] = { { "sliding_attention", 1e4, 0 },
                                   { "full_attention", 1e6, 0.25 } };
    int64_t of_type[2] = { 0 };
    layer[d->n_layer - 1].window = 0;
    for (int64_t i = 0; i < d->n_layer; i++) {
        const bool full = !layer[i].window;
        TRY(read_heads(r, i, &layer[i]));
        const int64_t width = decoder_head_width_of(d, &layer[i]);
        if (of_type[full] && of_type[full] != width)
            return hf_unknown(r, "per_layer_config", "layers of one type have the same head_dim");
        if (!of_type[full]) TRY(hf_read_typed_rope(r, &silent[full], width, &rope[full]));
        of_type[full] = width;
        layer[i].rope = &rope[full];
    }
    d->layer = layer;
    for (int64_t i = d->n_layer - o->num_kv_shared_layers; i < d->n_layer; i++)
        TRY(share_keys(r, &layer[i]));
    return NULL;
}

static void put_per_layer(Text *t, const PerLayerEmbedding *p)
{
    hf_put_int(t, "hidden_size_per_layer_input", p ? p->width : 0);
    if (p) hf_put_int(t, "vocab_size_per_layer_input", p->vocab_size);
}

static void put_shared(Text *t, const Decoder *d)
{
    bool is_wide = false;
    for (int64_t i = 0; i < d->n_layer; i++) is_wide |= d->layer[i].hidden != 0;
    hf_put_int(t, "num_kv_shared_layers", hf_shared_layers(d));
    hf_put_bool(t, "use_double_wide_mlp", is_wide);
}

static void add_unified_members(Text *t, const Decoder *d)
{
    int64_t i = 0;
    while (i < d->n_layer && d->layer[i].window) i++;
    const DecoderLayer *full = i < d->n_layer ? &d->layer[i] : NULL;
    put_shared(t, d);
    hf_put_bool(t, "attention_k_eq_v", full && full->keys_as_values);
    if (full) {
        hf_put_int(t, "global_head_dim", decoder_head_width_of(d, full));
        hf_put_int(t, "num_global_key_value_heads", decoder_key_heads_of(d, full));
    }
    hf_put_typed_ropes(t, d);
}

static void add_members(Text *t, const Decoder *d)
{
    put_per_layer(t, d->per_layer);
    add_unified_members(t, d);
    hf_put_bool(t, "enable_moe_block", d->moe);
}

const HfDialect hf_gemma4 = { .fields = fields,
                              .size = sizeof(Options),
                              .adjust = adjust,
                              .router = read_router,
                              .layers = read_layers,
                              .add = add_members,
                              .own_ropes = true },
                /* has neither experts nor embeddings of each layer */
    hf_gemma4_unified = { .fields = unified_fields,
                          .size = sizeof(Options),
                          .adjust = adjust_unified,
                          .layers = read_layers,
                          .add = add_unified_members,
                          .own_ropes = true };
