/* kimi_linear.c - what Kimi Linear has of its own: Kimi Delta Attention in most layers, latent
 * attention without positions in the others, and names of its authors for what DeepSeek V3 has. */
#include "models/hf/config_parts.h"
#include "models/hf/write_members.h"
#include "models/hf/write_values.h"
#include <string.h>

typedef struct Options {
    int64_t linear_num_heads, linear_head_dim;
    const Yaml *linear_attn_config;
    bool mla_use_nope, use_grouped_topk;
    const char *moe_router_activation_func;
} Options;

/* clang-format off */
static const Field fields[] = {
    HF_COUNT(Options, linear_num_heads, "32", "heads of linear attention"),
    HF_COUNT(Options, linear_head_dim, "128", "width of their queries, keys and values, and rank of their decays and gates"),
    FIELD_ANY(Options, linear_attn_config, "null", "the same by the authors' names, and which layers have it, counted from 1"),
    FIELD_BOOL(Options, mla_use_nope, "true", "positions do not turn in layers of latent attention"),
    FIELD_BOOL(Options, use_grouped_topk, "true", "experts are chosen from groups"),
    FIELD_STRING(Options, moe_router_activation_func, "null", "of the router's logits"),
    { 0 },
};
/* clang-format on */

/* The first is the authors' name, which is written. */
const HfRenamed hf_kimi_renamed[] = { { "model_max_length", "max_position_embeddings" },
                                      { "moe_renormalize", "norm_topk_prob" },
                                      { "num_expert_group", "n_group" },
                                      { "num_experts", "n_routed_experts" },
                                      { "num_local_experts", "n_routed_experts" },
                                      { "num_experts_per_token", "num_experts_per_tok" },
                                      { "num_shared_experts", "n_shared_experts" },
                                      { 0 } };

/* transformers writes layers without experts by the name of mixtures. */
static const HfRenamed respelled[] = { { ".block_sparse_moe.", ".mlp." }, { 0 } };

/* Sizes that the class has where config.json is silent. */
static const HfSilent silent[] = {
    { "hidden_size", "2304" },         { "intermediate_size", "9216" },
    { "num_hidden_layers", "27" },     { "kv_lora_rank", "512" },
    { "q_lora_rank", "null" },         { "qk_nope_head_dim", "128" },
    { "qk_rope_head_dim", "64" },      { "v_head_dim", "128" },
    { "n_routed_experts", "256" },     { "n_shared_experts", "1" },
    { "num_experts_per_tok", "8" },    { "moe_intermediate_size", "1024" },
    { "linear_conv_kernel_dim", "4" }, { 0 }
};

/* All options by the names of DeepSeek V3. */
static Error *read_again(HfReading *r)
{
    Yaml *root = hf_rename_options(r, hf_kimi_renamed, silent);
    const Yaml *own = yaml_get(root, "linear_attn_config"),
               *width = yaml_get(own, "short_conv_kernel_size");
    if (width) hf_set_option(r->arena, root, "linear_conv_kernel_dim", width);
    return hf_read_fields(r, hf_config_fields, &r->c);
}

/* Layers are counted from 1 there; each stands in one of both lists. */
static Error *read_lists(HfReading *r, const Yaml *config)
{
    static const char wrong[] = "full_attn_layers and kda_layers list each layer once, from 1 on";
    static const struct {
        const char *key, *type;
    } list[] = { { "full_attn_layers", "full_attention" }, { "kda_layers", "linear_attention" } };
    StringList *types = NEW(r->arena, StringList);
    types->n = *r->c.num_hidden_layers;
    types->item = NEW_N(r->arena, const char *, types->n);
    int64_t n = 0;
    for (int k = 0; k < 2; k++) {
        const Yaml *layers = yaml_get(config, list[k].key);
        if (!layers || layers->type != YAML_LIST) return hf_unknown(r, "linear_attn_config", wrong);
        for (int64_t i = 0; i < layers->n; i++, n++) {
            const Yaml *v = layers->item[i];
            if (v->type != YAML_INT || v->integer < 1 || v->integer > types->n ||
                types->item[v->integer - 1])
                return hf_unknown(r, "linear_attn_config", wrong);
            types->item[v->integer - 1] = list[k].type;
        }
    }
    if (n != types->n) return hf_unknown(r, "linear_attn_config", wrong);
    r->c.layer_types = types;
    return NULL;
}

/* Every fourth layer has latent attention, from the fifth on. */
static const char *type_of_layer(int64_t i, int64_t n)
{
    (void)n;
    return i && i % 4 == 0 ? "full_attention" : "linear_attention";
}

static Error *read_size(const HfReading *r, const char *key, int64_t *size)
{
    const Yaml *v = yaml_get(((const Options *)r->own)->linear_attn_config, key);
    if (!v) return NULL;
    if (v->type != YAML_INT || v->integer < 1 || v->integer > 2147483647)
        return error_new("%s: linear_attn_config.%s: %s is not known; allowed are whole numbers "
                         "from 1 on",
                         yaml_place(r->arena, v), key, yaml_show(r->arena, v));
    *size = v->integer;
    return NULL;
}

static Error *read_linear(HfReading *r)
{
    Options *o = r->own;
    HfConfig *c = &r->c;
    const Yaml *config = o->linear_attn_config;
    if (config && config->type == YAML_NULL) config = NULL;
    if (config && config->type != YAML_MAP)
        return hf_unknown(r, "linear_attn_config", "it is an object");
    TRY(read_size(r, "num_heads", &o->linear_num_heads));
    TRY(read_size(r, "head_dim", &o->linear_head_dim));
    c->linear_num_key_heads = c->linear_num_value_heads = &o->linear_num_heads;
    c->linear_key_head_dim = c->linear_value_head_dim = &o->linear_head_dim;
    if (c->layer_types) return NULL;
    const bool lists = yaml_get(config, "full_attn_layers") || yaml_get(config, "kda_layers");
    return lists ? read_lists(r, config) : hf_types_of_class(r, type_of_layer);
}

static Error *read_options(HfReading *r)
{
    const Options *o = r->own;
    const char *scores = o->moe_router_activation_func;
    TRY(read_again(r));
    if (!o->mla_use_nope)
        return hf_unknown(r, "mla_use_nope", "only true is: the class turns no positions");
    if (scores && strcmp(scores, "sigmoid") != 0)
        return hf_unknown(r, "moe_router_activation_func", "only sigmoid is");
    if (!o->use_grouped_topk && r->c.n_group && *r->c.n_group > 1)
        return hf_unknown(r, "use_grouped_topk", "only true is, where experts have groups");
    if (!r->c.num_hidden_layers) return hf_unknown(r, "num_hidden_layers", "it is needed");
    return read_linear(r);
}

static Error *read_layers(HfReading *r, DecoderLayer *layer)
{
    (void)layer;
    LinearAttention *l = arena_copy(r->arena, r->d->linear, sizeof *l);
    l->row_decays = l->sigmoid_gates = true;
    l->decay_rank = l->gate_rank = l->key_width;
    r->d->linear = l;
    return NULL;
}

static void put_layers(Text *t, const char *key, const Decoder *d, Mixer mixer)
{
    const char *between = "";
    text_printf(t, "\"%s\": [", key);
    for (int64_t i = 0; i < d->n_layer; i++)
        if (d->layer[i].mixer == mixer) {
            text_printf(t, "%s%lld", between, (long long)i + 1);
            between = ", ";
        }
    text_putc(t, ']');
}

static void add_members(Text *t, const Decoder *d)
{
    const LinearAttention *l = d->linear;
    hf_put_bool(t, "mla_use_nope", true);
    hf_put_text(t, "moe_router_activation_func", "sigmoid");
    if (!l) return;
    hf_put_key(t, "linear_attn_config");
    text_printf(t, "{\"num_heads\": %lld, \"head_dim\": %lld, \"short_conv_kernel_size\": %lld, ",
                (long long)l->key_heads, (long long)l->key_width, (long long)l->conv_width);
    put_layers(t, "full_attn_layers", d, MIXER_ATTENTION);
    text_puts(t, ", ");
    put_layers(t, "kda_layers", d, MIXER_LINEAR);
    text_putc(t, '}');
}

const HfDialect hf_kimi_linear = { .fields = fields,
                                   .size = sizeof(Options),
                                   .renamed = hf_kimi_renamed,
                                   .respelled = respelled,
                                   .read = read_options,
                                   .layers = read_layers,
                                   .add = add_members,
                                   .own_ropes = true };
