/* dbrx.c - the options of DBRX, those of attention and of its experts in objects of their
 * own. */
#include "models/hf/config_parts.h"
#include "models/hf/names.h"
#include "models/hf/write_members.h"
#include "models/hf/write_values.h"
#include <math.h>
#include <string.h>

const HfName hf_dbrx_names[] = {
    { "transformer.wte.*", "transformer.wte.*", HF_SAME },
    { "transformer.h.%.attention_norm.*", "transformer.blocks.%.norm_attn_norm.norm_1.*", HF_SAME },
    { "transformer.h.%.ffn_norm.*", "transformer.blocks.%.norm_attn_norm.norm_2.*", HF_SAME },
    { "transformer.h.%.attn.q_attn.*", "transformer.blocks.%.norm_attn_norm.attn.Wqkv.*",
      HF_QUERIES },
    { "transformer.h.%.attn.k_attn.*", "transformer.blocks.%.norm_attn_norm.attn.Wqkv.*", HF_KEYS },
    { "transformer.h.%.attn.v_attn.*", "transformer.blocks.%.norm_attn_norm.attn.Wqkv.*",
      HF_VALUES },
    { "transformer.h.%.attn.c_proj.*", "transformer.blocks.%.norm_attn_norm.attn.out_proj.*",
      HF_SAME },
    { "transformer.h.%.mlp.router.*", "transformer.blocks.%.ffn.router.layer.*", HF_SAME },
    { "transformer.h.%.mlp.experts.W.weight", "transformer.blocks.%.ffn.experts.mlp.w1",
      HF_STACKED_FLAT_ROWS },
    { "transformer.h.%.mlp.experts.V.weight", "transformer.blocks.%.ffn.experts.mlp.v1",
      HF_STACKED_FLAT_ROWS },
    { "transformer.h.%.mlp.experts.W_2.weight", "transformer.blocks.%.ffn.experts.mlp.w2",
      HF_STACKED_FLAT },
    { "transformer.lm_head_norm.*", "transformer.norm_f.*", HF_SAME },
    { "transformer.lm_head.*", "lm_head.*", HF_SAME },
    { 0 },
};

typedef struct Options {
    const int64_t *d_model, *n_heads, *n_layers, *max_seq_len;
} Options;

typedef struct DbrxAttention {
    const double *clip_qkv;
    double attn_pdrop, rope_theta;
    int64_t kv_n_heads;
} DbrxAttention;

typedef struct DbrxExperts {
    const Yaml *ffn_act_fn;
    int64_t ffn_hidden_size, moe_num_experts, moe_top_k;
    double moe_loss_weight;
} DbrxExperts;

/* clang-format off */
static const Field fields[] = {
    HF_COUNT(Options, d_model, "null", "hidden_size"),
    HF_COUNT(Options, n_heads, "null", "heads"),
    FIELD_INT(Options, n_layers, "null", 1, 1000, "blocks"),
    HF_COUNT(Options, max_seq_len, "null", "longest sequence"),
    { 0 },
};
static const Field attention_options[] = {
    FIELD_FLOAT(DbrxAttention, attn_pdrop, "0.0", 0, 1, "dropout of probabilities"),
    FIELD_FLOAT(DbrxAttention, clip_qkv, "null", 0, INFINITY, "bound of queries, keys and values", .flags = FIELD_OPEN_MIN),
    FIELD_FLOAT(DbrxAttention, rope_theta, "10000.0", 1, INFINITY, "base of the frequencies"),
    FIELD_INT(DbrxAttention, kv_n_heads, "1", 1, 2147483647, "key heads"),
    { 0 },
};
static const Field expert_options[] = {
    FIELD_ANY(DbrxExperts, ffn_act_fn, "null", "activation, by name"),
    FIELD_INT(DbrxExperts, ffn_hidden_size, "3584", 1, 2147483647, "width of an expert"),
    FIELD_INT(DbrxExperts, moe_num_experts, "4", 1, 2147483647, "experts"),
    FIELD_INT(DbrxExperts, moe_top_k, "1", 1, 2147483647, "experts of a token"),
    FIELD_FLOAT(DbrxExperts, moe_loss_weight, "0.01", 0, INFINITY, "weight of the balance penalty"),
    { 0 },
};
/* clang-format on */

/* An object of config.json as `*of` with `out` from it; without one all is as the class has it. */
static Error *read_part(const HfReading *r, const char *key, const Field *options, HfReading *of,
                        void *out)
{
    static const Yaml none = { .type = YAML_MAP };
    const Yaml *given = yaml_get(r->root, key);
    if (given && given->type == YAML_NULL) given = NULL;
    *of = *r;
    of->root = given ? given : &none;
    if (of->root->type != YAML_MAP) return hf_unknown(r, key, "it is an object");
    return hf_read_fields(of, options, out);
}

static Error *read_attention(HfReading *r)
{
    HfReading of;
    DbrxAttention m = { 0 };
    HfConfig *c = &r->c;
    TRY(read_part(r, "attn_config", attention_options, &of, &m));
    c->num_key_value_heads = arena_copy(r->arena, &m.kv_n_heads, sizeof m.kv_n_heads);
    c->attention_dropout = arena_copy(r->arena, &m.attn_pdrop, sizeof m.attn_pdrop);
    if (!m.clip_qkv) return hf_unknown(&of, "clip_qkv", "the class needs a number above 0");
    c->clip_qkv = m.clip_qkv;
    r->theta = m.rope_theta; /* unless there is what transformers computes with */
    return NULL;
}

static Error *read_experts(HfReading *r)
{
    static const char sum_key[] = "moe_normalize_expert_weights";
    HfReading of;
    DbrxExperts m = { 0 };
    HfConfig *c = &r->c;
    TRY(read_part(r, "ffn_config", expert_options, &of, &m));
    const Yaml *sum = yaml_get(of.root, sum_key), *jitter = yaml_get(of.root, "moe_jitter_eps"),
               *name = yaml_get(m.ffn_act_fn, "name");
    if (m.ffn_act_fn && m.ffn_act_fn->type == YAML_MAP &&
        (m.ffn_act_fn->n != 1 || !name || name->type != YAML_STRING))
        return hf_unknown(&of, "ffn_act_fn", "known are objects with a name alone");
    if (sum && sum->type != YAML_NULL && hf_number(of.root, sum_key, 0) != 1)
        return hf_unknown(&of, sum_key, "known are 1.0 and null");
    if (jitter && jitter->type != YAML_NULL && hf_number(of.root, "moe_jitter_eps", 1) != 0)
        return hf_unknown(&of, "moe_jitter_eps", "only null and 0 are: there is no noise");
    bool *normalize = NEW(r->arena, bool);
    *normalize = !sum || sum->type != YAML_NULL;
    c->norm_topk_prob = normalize;
    c->intermediate_size = arena_copy(r->arena, &m.ffn_hidden_size, sizeof m.ffn_hidden_size);
    c->num_experts = arena_copy(r->arena, &m.moe_num_experts, sizeof m.moe_num_experts);
    c->num_experts_per_tok = arena_copy(r->arena, &m.moe_top_k, sizeof m.moe_top_k);
    c->num_local_experts = NULL;
    c->moe_intermediate_size = NULL;
    c->router_aux_loss_coef = arena_copy(r->arena, &m.moe_loss_weight, sizeof m.moe_loss_weight);
    c->hidden_act = name && name->type == YAML_STRING ? name->text : NULL;
    return NULL;
}

static Error *read_options(HfReading *r)
{
    static const int64_t width = 2048, n_heads = 16, n_layers = 24;
    const Options *o = r->own;
    HfConfig *c = &r->c;
    if (o->d_model || !c->hidden_size) c->hidden_size = o->d_model ? *o->d_model : width;
    if (o->n_heads || !c->num_attention_heads)
        c->num_attention_heads = o->n_heads ? o->n_heads : &n_heads;
    if (o->n_layers || !c->num_hidden_layers)
        c->num_hidden_layers = o->n_layers ? o->n_layers : &n_layers;
    if (o->max_seq_len) c->max_position_embeddings = o->max_seq_len;
    c->head_dim = NULL; /* it follows from these */
    if (hf_number(r->root, "emb_pdrop", 0) != 0)
        return hf_unknown(r, "emb_pdrop", "only 0.0 is: the class drops no embeddings");
    TRY(read_attention(r));
    return read_experts(r);
}

static void put_part(Text *t, const char *key, Text *part)
{
    hf_put_key(t, key);
    text_add(t, part->ptr, part->len);
    text_putc(t, '}');
    text_free(part);
}

static void put_experts(Text *t, const Moe *m, const char *activation)
{
    Text part = { 0 }, name = { 0 };
    text_putc(&part, '{');
    text_putc(&name, '{');
    hf_put_text(&name, "name", activation);
    put_part(&part, "ffn_act_fn", &name);
    hf_put_int(&part, "ffn_hidden_size", m->hidden);
    hf_put_int(&part, "moe_num_experts", m->n_experts);
    hf_put_int(&part, "moe_top_k", m->top_k);
    hf_put_double(&part, "moe_loss_weight", m->aux_loss);
    hf_put_optional(&part, "moe_normalize_expert_weights", m->normalize ? 1 : 0);
    put_part(t, "ffn_config", &part);
}

static void write_options(Text *t, const Decoder *d, const HfFamily *f)
{
    const DecoderLayer *turning = hf_turning_layer(d);
    Text part = { 0 };
    hf_put_sizes(t, d, f, "d_model", "n_layers", "n_heads", "max_seq_len");
    hf_put_double(t, "resid_pdrop", d->dropout);
    text_putc(&part, '{');
    hf_put_double(&part, "attn_pdrop", d->attention_dropout);
    hf_put_optional(&part, "clip_qkv", d->qkv_clip);
    hf_put_int(&part, "kv_n_heads", d->n_head_kv);
    hf_put_double(&part, "rope_theta", turning ? turning->rope->base : f->theta);
    put_part(t, "attn_config", &part);
    if (d->moe) put_experts(t, d->moe, hf_activation_name(d));
    hf_put_layers(t, d, f);
}

const HfDialect hf_dbrx = {
    .fields = fields, .size = sizeof(Options), .read = read_options, .write = write_options
};
