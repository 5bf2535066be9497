/* bailing_hybrid.c - what Ling 3 has of its own: Kimi Delta Attention whose decays have a bound in
 * most layers, latent attention with a gate for each head in the others, and names of its authors
 * for what DeepSeek V3 has. */
#include "models/hf/config_parts.h"
#include "models/hf/write_members.h"
#include "models/hf/write_values.h"

typedef struct Options {
    const int64_t *linear_num_heads, *linear_head_dim, *short_conv_kernel_size;
    int64_t layer_group_size;
    bool kda_safe_gate;
    double kda_lower_bound;
} Options;

/* clang-format off */
static const Field fields[] = {
    HF_COUNT(Options, linear_num_heads, "null", "heads of linear attention; null: num_attention_heads"),
    HF_COUNT(Options, linear_head_dim, "null", "width of their queries, keys and values; null: head_dim, or 128"),
    HF_COUNT(Options, short_conv_kernel_size, "null", "tokens that their convolutions see, where linear_conv_kernel_dim is silent; null: 4"),
    HF_COUNT(Options, layer_group_size, "6", "the last of so many layers has latent attention, where layer_types is silent"),
    FIELD_BOOL(Options, kda_safe_gate, "true", "decays have a bound"),
    FIELD_FLOAT(Options, kda_lower_bound, "-5.0", -INFINITY, INFINITY, "which is this, below 0"),
    { 0 },
};
/* clang-format on */

/* Sizes that the class has where config.json is silent. */
static const HfSilent silent[] = { { "hidden_size", "2560" },
                                   { "intermediate_size", "6144" },
                                   { "num_hidden_layers", "42" },
                                   { "kv_lora_rank", "512" },
                                   { "q_lora_rank", "null" },
                                   { "qk_nope_head_dim", "128" },
                                   { "qk_rope_head_dim", "64" },
                                   { "v_head_dim", "128" },
                                   { "n_routed_experts", "512" },
                                   { "n_shared_experts", "1" },
                                   { "num_experts_per_tok", "8" },
                                   { "moe_intermediate_size", "768" },
                                   { 0 } };

static Error *read_options(HfReading *r)
{
    static const int64_t head_of_class = 128;
    const Options *o = r->own;
    HfConfig *c = &r->c;
    hf_rename_options(r, hf_kimi_renamed, silent);
    TRY(hf_read_fields(r, hf_config_fields, c));
    if (o->kda_safe_gate && !(o->kda_lower_bound < 0 && o->kda_lower_bound > -INFINITY))
        return hf_unknown(r, "kda_lower_bound", "only numbers below 0 are");
    const int64_t *heads = o->linear_num_heads ? o->linear_num_heads : c->num_attention_heads,
                  *width = o->linear_head_dim ? o->linear_head_dim : c->head_dim;
    c->linear_num_key_heads = c->linear_num_value_heads = heads ? heads : &r->family->n_heads;
    c->linear_key_head_dim = c->linear_value_head_dim = width ? width : &head_of_class;
    if (!c->linear_conv_kernel_dim) c->linear_conv_kernel_dim = o->short_conv_kernel_size;
    c->full_attention_interval = o->layer_group_size;
    return NULL;
}

static Error *adjust(HfReading *r)
{
    r->d->attention_gate = GATE_HEAD;
    return NULL;
}

static Error *read_layers(HfReading *r, DecoderLayer *layer)
{
    (void)layer;
    const Options *o = r->own;
    LinearAttention *l = arena_copy(r->arena, r->d->linear, sizeof *l);
    l->row_decays = l->sigmoid_gates = true;
    l->decay_bound = o->kda_safe_gate ? -o->kda_lower_bound : 0;
    r->d->linear = l;
    return NULL;
}

static void add_members(Text *t, const Decoder *d)
{
    const LinearAttention *l = d->linear;
    if (!l) return;
    hf_put_int(t, "linear_num_heads", l->key_heads);
    hf_put_int(t, "linear_head_dim", l->key_width);
    hf_put_int(t, "linear_conv_kernel_dim", l->conv_width);
    hf_put_int(t, "short_conv_kernel_size", l->conv_width);
    hf_put_bool(t, "kda_safe_gate", l->decay_bound > 0);
    if (l->decay_bound > 0) hf_put_double(t, "kda_lower_bound", -l->decay_bound);
}

const HfDialect hf_bailing_hybrid = { .fields = fields,
                                      .size = sizeof(Options),
                                      .renamed = hf_kimi_renamed,
                                      .read = read_options,
                                      .adjust = adjust,
                                      .layers = read_layers,
                                      .add = add_members };
