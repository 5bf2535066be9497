/* hf_config_mpt.c - the options of MPT, those of attention in an object of their own. What files
 * may say and the class does not compute is refused. */
#include "config/field_read.h"
#include "models/hf_config_parts.h"
#include <math.h>
#include <string.h>

typedef struct MptAttention {
    const char *attn_type;
    double attn_pdrop, alibi_bias_max;
    const double *clip_qkv, *softmax_scale;
    bool prefix_lm, qk_ln, attn_uses_sequence_id, alibi;
} MptAttention;

/* clang-format off */
static const Field attention_options[] = {
    FIELD_STRING(MptAttention, attn_type, "multihead_attention", "key heads"),
    FIELD_FLOAT(MptAttention, attn_pdrop, "0.0", 0, 1, "dropout of probabilities, and behind layers"),
    FIELD_FLOAT(MptAttention, clip_qkv, "null", 0, INFINITY, "bound of queries, keys and values"),
    FIELD_FLOAT(MptAttention, softmax_scale, "null", 0, INFINITY, "multiplies scores", .flags = FIELD_OPEN_MIN),
    FIELD_BOOL(MptAttention, prefix_lm, "false", "tokens see later ones of a prefix"),
    FIELD_BOOL(MptAttention, qk_ln, "false", "norms of queries and keys"),
    FIELD_BOOL(MptAttention, attn_uses_sequence_id, "false", "tokens see their own sequence alone"),
    FIELD_BOOL(MptAttention, alibi, "true", "scores fall with the distance of keys"),
    FIELD_FLOAT(MptAttention, alibi_bias_max, "8.0", 0, 1024, "the least slope is 2 to minus that", .flags = FIELD_OPEN_MIN),
    { 0 },
};
/* clang-format on */

static Error *read_attention(HfReading *r)
{
    HfReading of = *r; /* whose options are those of attention, for errors */
    const Yaml none = { .type = YAML_MAP };
    const bool is_given = r->c.attn_config && r->c.attn_config->type != YAML_NULL;
    Problems problems = { .arena = r->arena };
    FieldReader reader = { .arena = r->arena, .problems = &problems };
    MptAttention m = { 0 };
    if (is_given && r->c.attn_config->type != YAML_MAP)
        return hf_unknown(r, "attn_config", "it is an object");
    of.root = is_given ? r->c.attn_config : &none;
    fields_fill(&reader, attention_options, of.root, true, &m);
    TRY(problems_error(&problems));
    if (strcmp(m.attn_type, "multihead_attention") != 0)
        return hf_unknown(&of, "attn_type", "only multihead_attention is");
    if (m.prefix_lm) return hf_unknown(&of, "prefix_lm", "only false is");
    if (m.qk_ln) return hf_unknown(&of, "qk_ln", "only false is");
    if (m.attn_uses_sequence_id) return hf_unknown(&of, "attn_uses_sequence_id", "only false is");
    if (!m.alibi) return hf_unknown(&of, "alibi", "only true is: the class has no other positions");
    r->d->dropout = m.attn_pdrop;
    r->d->alibi = m.alibi_bias_max;
    r->d->attention_scale = m.softmax_scale ? *m.softmax_scale : 0;
    r->c.attention_dropout = arena_copy(r->arena, &m.attn_pdrop, sizeof m.attn_pdrop);
    r->c.clip_qkv = m.clip_qkv && *m.clip_qkv > 0 ? m.clip_qkv : NULL;
    return NULL;
}

static Error *refuse(const HfReading *r)
{
    const Yaml *no_bias = yaml_get(r->root, "no_bias"), *scale = yaml_get(r->root, "logit_scale");
    const char *norm = hf_text(r, "norm_type");
    if (r->c.expansion_ratio != 4) return hf_unknown(r, "expansion_ratio", "only 4 is");
    if (no_bias && no_bias->type == YAML_BOOL && !no_bias->boolean)
        return hf_unknown(r, "no_bias", "only true is: the class has no biases");
    if (scale && scale->type != YAML_NULL) return hf_unknown(r, "logit_scale", "only null is");
    if (norm && strcmp(norm, "low_precision_layernorm") != 0 && strcmp(norm, "layernorm") != 0)
        return hf_unknown(r, "norm_type", "known are low_precision_layernorm and layernorm");
    if (hf_number(r->root, "embedding_fraction", 1) != 1)
        return hf_unknown(r, "embedding_fraction", "only 1.0 is");
    static const char *const dropouts[] = { "emb_pdrop", "resid_pdrop" };
    for (int i = 0; i < 2; i++)
        if (hf_number(r->root, dropouts[i], 0) != 0)
            return hf_unknown(r, dropouts[i], "only 0.0 is: the class has attn_pdrop alone");
    return NULL;
}

Error *hf_read_mpt(HfReading *r)
{
    HfConfig *c = &r->c;
    int64_t *hidden = NEW(r->arena, int64_t);
    TRY(refuse(r));
    if (c->d_model) c->hidden_size = *c->d_model;
    *hidden = c->expansion_ratio * c->hidden_size;
    c->intermediate_size = hidden;
    if (c->n_heads) c->num_attention_heads = c->n_heads;
    if (c->n_layers) c->num_hidden_layers = c->n_layers;
    c->max_position_embeddings = c->max_seq_len;
    c->hidden_act = NULL; /* the class has one activation */
    return read_attention(r);
}
