/* laguna.c - what Laguna has of its own: gates by softplus of what heads give, as many query heads
 * in each layer as a list says, and routers whose logits are bounded. */
#include "models/hf/config_parts.h"
#include "models/hf/write_members.h"
#include "models/hf/write_values.h"
#include <string.h>

typedef struct Options {
    const Yaml *gating;
    const IntList *num_attention_heads_per_layer;
    bool moe_apply_router_weight_on_input;
    double moe_router_logit_softcapping;
} Options;

/* clang-format off */
static const Field fields[] = {
    FIELD_ANY(Options, gating, "true", "gates of each head, or of each of its features"),
    FIELD_INTS(Options, num_attention_heads_per_layer, "null", 0, 0, "query heads; null: num_attention_heads in all layers"),
    FIELD_BOOL(Options, moe_apply_router_weight_on_input, "false", "weights multiply what experts read"),
    FIELD_FLOAT(Options, moe_router_logit_softcapping, "0.0", 0, INFINITY, "bound of the router's logits; 0: none"),
    { 0 },
};
/* clang-format on */

static const HfRenamed renamed[] = { { 0 } };

static const HfSilent silent[] = { { "hidden_size", "2048" },
                                   { "intermediate_size", "8192" },
                                   { "num_hidden_layers", "40" },
                                   { "num_experts", "256" },
                                   { "moe_intermediate_size", "512" },
                                   { "shared_expert_intermediate_size", "512" },
                                   { 0 } };

/* rope_parameters where config.json is silent. */
static const char ropes_of_class[] =
    "{full_attention: {rope_theta: 500000.0, partial_rotary_factor: 0.5}, "
    "sliding_attention: {rope_theta: 10000.0}}";

static Error *read_options(HfReading *r)
{
    const Options *o = r->own;
    Yaml *root = hf_rename_options(r, renamed, silent), *ropes;
    const Yaml *given = yaml_get(root, "rope_parameters");
    if (!given || given->type == YAML_NULL) {
        TRY(yaml_parse(r->arena, str_of(ropes_of_class), r->path, &ropes));
        hf_set_option(r->arena, root, "rope_parameters", ropes);
    }
    TRY(hf_read_fields(r, hf_config_fields, &r->c));
    if (!o->moe_apply_router_weight_on_input) return NULL;
    return hf_unknown(r, "moe_apply_router_weight_on_input",
                      "only false is: the class weighs what experts give");
}

static Error *adjust(HfReading *r)
{
    const Yaml *v = ((const Options *)r->own)->gating;
    const bool of_head = (v->type == YAML_BOOL && v->boolean) ||
                         (v->type == YAML_STRING && !strcmp(v->text, "per-head")),
               of_feature = v->type == YAML_STRING && !strcmp(v->text, "per-element");
    if (!of_head && !of_feature)
        return hf_unknown(r, "gating", "known are true, per-head and per-element");
    r->d->attention_gate = of_head ? GATE_HEAD : GATE_FEATURE;
    r->d->softplus_gates = true;
    return NULL;
}

static Error *read_router(const HfReading *r, Moe *m)
{
    m->logit_cap = ((const Options *)r->own)->moe_router_logit_softcapping;
    return NULL;
}

static Error *read_layers(HfReading *r, DecoderLayer *layer)
{
    static const char key[] = "num_attention_heads_per_layer";
    const IntList *heads = ((const Options *)r->own)->num_attention_heads_per_layer;
    const Decoder *d = r->d;
    if (!heads) return NULL;
    if (heads->n != d->n_layer) return hf_unknown(r, key, "it must have a number for each layer");
    for (int64_t i = 0; i < d->n_layer; i++) {
        const int64_t n = heads->item[i];
        if (n < 1 || n > 2147483647 || n % d->n_head_kv)
            return hf_unknown(r, key, "num_key_value_heads must divide each of them");
        layer[i].n_head_q = n == d->n_head_q ? 0 : n;
    }
    return NULL;
}

static void add_members(Text *t, const Decoder *d)
{
    hf_put_text(t, "gating", d->attention_gate == GATE_FEATURE ? "per-element" : "per-head");
    hf_put_double(t, "moe_router_logit_softcapping", d->moe ? d->moe->logit_cap : 0);
    hf_put_key(t, "num_attention_heads_per_layer");
    for (int64_t i = 0; i < d->n_layer; i++)
        text_printf(t, "%s%lld", i ? ", " : "[",
                    (long long)decoder_query_heads_of(d, &d->layer[i]));
    text_putc(t, ']');
}

/* What transformers calls the modules, in the place of the authors' names. */
static const HfRenamed respelled[] = {
    { ".mlp.gate.e_score_correction_bias", ".mlp.experts.e_score_correction_bias" },
    { ".mlp.shared_experts.", ".mlp.shared_expert." },
    { 0 },
};

const HfDialect hf_laguna = { .fields = fields,
                              .size = sizeof(Options),
                              .respelled = respelled,
                              .read = read_options,
                              .adjust = adjust,
                              .router = read_router,
                              .layers = read_layers,
                              .add = add_members };
