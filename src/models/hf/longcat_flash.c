/* longcat_flash.c - LongCat-Flash, each layer of which is two blocks with latent attention here: a
 * mixture of the first is added behind the second, and some of its experts have no weights. */
#include "models/hf/config_parts.h"
#include "models/hf/write_members.h"
#include "models/hf/write_values.h"
#include <string.h>

enum { BLOCKS = 2 }; /* of a layer, as the row of the family says */

typedef struct Options {
    const int64_t *qk_head_dim, *zero_expert_num;
    const char *zero_expert_type;
    bool mla_scale_q_lora, mla_scale_kv_lora, router_bias;
} Options;

/* clang-format off */
static const Field fields[] = {
    FIELD_INT(Options, qk_head_dim, "null", 1, 2147483647, "width of queries and keys"),
    FIELD_INT(Options, zero_expert_num, "null", 0, 65536, "experts without weights"),
    FIELD_STRING(Options, zero_expert_type, "null", "what those give"),
    FIELD_BOOL(Options, mla_scale_q_lora, "true", "the vector of queries is multiplied"),
    FIELD_BOOL(Options, mla_scale_kv_lora, "true", "that of keys and values is"),
    FIELD_BOOL(Options, router_bias, "false", "files have biases of routers"),
    { 0 },
};
/* clang-format on */

static const HfRenamed renamed[] = { { "num_layers", "num_hidden_layers" },
                                     { "ffn_hidden_size", "intermediate_size" },
                                     { "expert_ffn_hidden_size", "moe_intermediate_size" },
                                     { "n_routed_experts", "num_local_experts" },
                                     { "moe_topk", "num_experts_per_tok" },
                                     { 0 } };

static const HfSilent silent[] = {
    { "hidden_size", "6144" },       { "intermediate_size", "12288" },
    { "num_hidden_layers", "28" },   { "kv_lora_rank", "512" },
    { "q_lora_rank", "1536" },       { "qk_nope_head_dim", "128" },
    { "qk_rope_head_dim", "64" },    { "head_dim", "64" },
    { "v_head_dim", "128" },         { "num_local_experts", "512" },
    { "num_experts_per_tok", "12" }, { "moe_intermediate_size", "2048" },
    { "zero_expert_num", "256" },    { 0 }
};

/* Blocks may be counted instead of layers, or both. */
static Error *read_layers_of_file(HfReading *r, const Yaml *given)
{
    const Yaml *blocks = yaml_get(given, "num_hidden_layers");
    const bool has_layers = yaml_get(given, "num_layers");
    if (!blocks || !r->c.num_hidden_layers) return NULL;
    if (has_layers ? blocks->integer != BLOCKS * *r->c.num_hidden_layers : blocks->integer % BLOCKS)
        return error_new("%s: num_hidden_layers: %s is not known; it must be twice num_layers",
                         yaml_place(r->arena, blocks), yaml_show(r->arena, blocks));
    if (has_layers) return NULL;
    const int64_t layers = blocks->integer / BLOCKS;
    r->c.num_hidden_layers = arena_copy(r->arena, &layers, sizeof layers);
    return NULL;
}

static Error *read_options(HfReading *r)
{
    const Options *o = r->own;
    const Yaml *given = r->root;
    hf_rename_options(r, renamed, silent);
    TRY(hf_read_fields(r, hf_config_fields, &r->c));
    TRY(hf_read_fields(r, fields, r->own));
    TRY(read_layers_of_file(r, given));
    if (o->zero_expert_type && strcmp(o->zero_expert_type, "identity") != 0)
        return hf_unknown(r, "zero_expert_type", "only identity is");
    if (!o->mla_scale_q_lora)
        return hf_unknown(r, "mla_scale_q_lora", "only true is: the class multiplies it");
    if (!o->mla_scale_kv_lora)
        return hf_unknown(r, "mla_scale_kv_lora", "only true is: the class multiplies it");
    if (o->router_bias)
        return hf_unknown(r, "router_bias", "only false is: the class does not add it");
    return NULL;
}

/* The longer a vector is, the less it is multiplied. */
static double scale_of(const Decoder *d, int64_t rank)
{
    return sqrt((double)d->width / (double)rank);
}

static Error *adjust(HfReading *r)
{
    const Options *o = r->own;
    Decoder *d = r->d;
    Latent *l = arena_copy(r->arena, d->latent, sizeof *l);
    if (o->qk_head_dim && *o->qk_head_dim != d->head_width)
        return hf_unknown(r, "qk_head_dim", "it must be qk_nope_head_dim + qk_rope_head_dim");
    if (!r->c.head_dim || *r->c.head_dim != l->turning)
        return hf_unknown(r, "head_dim", "it must equal qk_rope_head_dim: so many features turn");
    l->key_scale = scale_of(d, l->key_rank);
    l->query_scale = scale_of(d, l->query_rank);
    d->latent = l;
    return NULL;
}

static Error *read_router(const HfReading *r, Moe *m)
{
    const int64_t *zero = ((const Options *)r->own)->zero_expert_num;
    m->zero_experts = zero ? *zero : 0;
    m->has_biases = true;
    m->aux_loss = 0;
    if (!m->normalize) return NULL;
    return hf_unknown(r, "norm_topk_prob", "only false is: the class leaves weights as they are");
}

static Error *read_layers(HfReading *r, DecoderLayer *layer)
{
    for (int64_t i = 0; i < r->d->n_layer; i++)
        layer[i].is_sparse = layer[i].shortcut = i % BLOCKS == 0;
    return NULL;
}

static void add_members(Text *t, const Decoder *d)
{
    if (d->moe) hf_put_int(t, "zero_expert_num", d->moe->zero_experts);
    hf_put_text(t, "zero_expert_type", "identity");
    hf_put_bool(t, "mla_scale_q_lora", true);
    hf_put_bool(t, "mla_scale_kv_lora", true);
}

const HfDialect hf_longcat_flash = { .fields = fields,
                                     .size = sizeof(Options),
                                     .renamed = renamed,
                                     .read = read_options,
                                     .adjust = adjust,
                                     .router = read_router,
                                     .layers = read_layers,
                                     .add = add_members };
