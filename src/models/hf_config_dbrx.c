/* hf_config_dbrx.c - the options of DBRX, those of attention and of its experts in objects of their
 * own. */
#include "config/field_read.h"
#include "models/hf_config_parts.h"
#include <math.h>
#include <string.h>

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
    Problems problems = { .arena = r->arena };
    FieldReader reader = { .arena = r->arena, .problems = &problems };
    if (given && given->type == YAML_NULL) given = NULL;
    if (given && given->type != YAML_MAP) return hf_unknown(r, key, "it is an object");
    *of = *r;
    of->root = given ? given : &none;
    fields_fill(&reader, options, of->root, true, out);
    return problems_error(&problems);
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
    /* what transformers computes with comes first, then what the authors do */
    if (!c->rope_theta) c->rope_theta = arena_copy(r->arena, &m.rope_theta, sizeof m.rope_theta);
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
    c->router_aux_loss_coef = m.moe_loss_weight;
    c->hidden_act = name && name->type == YAML_STRING ? name->text : NULL;
    return NULL;
}

Error *hf_read_dbrx(HfReading *r)
{
    static const int64_t width = 2048, n_heads = 16, n_layers = 24;
    HfConfig *c = &r->c;
    if (c->d_model || !c->hidden_size) c->hidden_size = c->d_model ? *c->d_model : width;
    if (c->n_heads || !c->num_attention_heads)
        c->num_attention_heads = c->n_heads ? c->n_heads : &n_heads;
    if (c->n_layers || !c->num_hidden_layers)
        c->num_hidden_layers = c->n_layers ? c->n_layers : &n_layers;
    if (c->max_seq_len) c->max_position_embeddings = c->max_seq_len;
    c->head_dim = NULL; /* it follows from these */
    if (hf_number(r->root, "emb_pdrop", 0) != 0)
        return hf_unknown(r, "emb_pdrop", "only 0.0 is: the class drops no embeddings");
    TRY(read_attention(r));
    return read_experts(r);
}
