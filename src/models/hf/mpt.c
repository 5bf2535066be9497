/* mpt.c - the options of MPT, those of attention in an object of their own. What files
 * may say and the class does not compute is refused. */
#include "models/hf/config_parts.h"
#include "models/hf/names.h"
#include "models/hf/write_members.h"
#include "models/hf/write_values.h"
#include <math.h>
#include <string.h>

const HfName hf_mpt_names[] = {
    { "transformer.h.%.attention_norm.*", "transformer.blocks.%.norm_1.*", HF_SAME },
    { "transformer.h.%.ffn_norm.*", "transformer.blocks.%.norm_2.*", HF_SAME },
    { "transformer.h.%.attn.q_attn.*", "transformer.blocks.%.attn.Wqkv.*", HF_QUERIES },
    { "transformer.h.%.attn.k_attn.*", "transformer.blocks.%.attn.Wqkv.*", HF_KEYS },
    { "transformer.h.%.attn.v_attn.*", "transformer.blocks.%.attn.Wqkv.*", HF_VALUES },
    { "transformer.h.%.attn.c_proj.*", "transformer.blocks.%.attn.out_proj.*", HF_SAME },
    { "transformer.h.%.mlp.c_fc.*", "transformer.blocks.%.ffn.up_proj.*", HF_SAME },
    { "transformer.h.%.mlp.c_proj.*", "transformer.blocks.%.ffn.down_proj.*", HF_SAME },
    { "transformer.lm_head_norm.*", "transformer.norm_f.*", HF_SAME },
    { 0 },
};

typedef struct Options {
    const int64_t *d_model, *n_heads, *n_layers, *max_seq_len;
    int64_t expansion_ratio;
    const Yaml *attn_config;
} Options;

/* Those in attn_config. */
typedef struct AttentionOptions {
    const char *attn_type;
    double attn_pdrop, alibi_bias_max;
    const double *clip_qkv, *softmax_scale;
    bool prefix_lm, qk_ln, attn_uses_sequence_id, alibi;
} AttentionOptions;

/* clang-format off */
static const Field fields[] = {
    HF_COUNT(Options, d_model, "null", "hidden_size"),
    HF_COUNT(Options, n_heads, "null", "heads"),
    FIELD_INT(Options, n_layers, "null", 1, 1000, "blocks"),
    HF_COUNT(Options, max_seq_len, "null", "longest sequence"),
    HF_COUNT(Options, expansion_ratio, "4", "width of the feed-forward layer, as a multiple of that of the model"),
    FIELD_ANY(Options, attn_config, "null", "options of attention"),
    { 0 },
};
static const Field attention_fields[] = {
    FIELD_STRING(AttentionOptions, attn_type, "multihead_attention", "key heads"),
    FIELD_FLOAT(AttentionOptions, attn_pdrop, "0.0", 0, 1, "dropout of probabilities, and behind layers"),
    FIELD_FLOAT(AttentionOptions, clip_qkv, "null", 0, INFINITY, "bound of queries, keys and values"),
    FIELD_FLOAT(AttentionOptions, softmax_scale, "null", 0, INFINITY, "multiplies scores", .flags = FIELD_OPEN_MIN),
    FIELD_BOOL(AttentionOptions, prefix_lm, "false", "tokens see later ones of a prefix"),
    FIELD_BOOL(AttentionOptions, qk_ln, "false", "norms of queries and keys"),
    FIELD_BOOL(AttentionOptions, attn_uses_sequence_id, "false", "tokens see their own sequence alone"),
    FIELD_BOOL(AttentionOptions, alibi, "true", "scores fall with the distance of keys"),
    FIELD_FLOAT(AttentionOptions, alibi_bias_max, "8.0", 0, 1024, "the least slope is 2 to minus that", .flags = FIELD_OPEN_MIN),
    { 0 },
};
/* clang-format on */

static Error *read_attention(HfReading *r, const Yaml *given)
{
    HfReading of = *r; /* whose options are those of attention, for errors */
    const Yaml none = { .type = YAML_MAP };
    const bool is_given = given && given->type != YAML_NULL;
    AttentionOptions m = { 0 };
    if (is_given && given->type != YAML_MAP) return hf_unknown(r, "attn_config", "it is an object");
    of.root = is_given ? given : &none;
    TRY(hf_read_fields(&of, attention_fields, &m));
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

static Error *refuse(const HfReading *r, const Options *o)
{
    const Yaml *no_bias = yaml_get(r->root, "no_bias"), *scale = yaml_get(r->root, "logit_scale");
    const char *norm = hf_text(r, "norm_type");
    if (o->expansion_ratio != 4) return hf_unknown(r, "expansion_ratio", "only 4 is");
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

static Error *read_options(HfReading *r)
{
    HfConfig *c = &r->c;
    const Options *o = r->own;
    int64_t *hidden = NEW(r->arena, int64_t);
    TRY(refuse(r, o));
    if (o->d_model) c->hidden_size = *o->d_model;
    *hidden = o->expansion_ratio * c->hidden_size;
    c->intermediate_size = hidden;
    if (o->n_heads) c->num_attention_heads = o->n_heads;
    if (o->n_layers) c->num_hidden_layers = o->n_layers;
    c->max_position_embeddings = o->max_seq_len;
    c->hidden_act = NULL; /* the class has one activation */
    return read_attention(r, o->attn_config);
}

/* The class computes with its own alibi_bias_max, whatever the file says; its dropout is a whole
 * number. */
static void write_options(Text *t, const Decoder *d, const HfFamily *f)
{
    Text options = { 0 };
    hf_put_sizes(t, d, f, "d_model", "n_layers", "n_heads", "max_seq_len");
    text_putc(&options, '{');
    hf_put_int(&options, "attn_pdrop", 0);
    hf_put_bool(&options, "alibi", true);
    hf_put_int(&options, "alibi_bias_max", (int64_t)f->alibi);
    hf_put_optional(&options, "clip_qkv", d->qkv_clip);
    hf_put_optional(&options, "softmax_scale", d->attention_scale);
    hf_put_key(t, "attn_config");
    text_add(t, options.ptr, options.len);
    text_putc(t, '}');
    text_free(&options);
}

/* The other class is what its authors call it. */
const HfDialect hf_mpt = { .fields = fields,
                           .size = sizeof(Options),
                           .read = read_options,
                           .write = write_options,
                           .other_class = "MPTForCausalLM" };
