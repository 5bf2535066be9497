/* gpt2_settings.c - the settings of model.gpt2: tables, and rules over several fields. */
#include "base/log.h"
#include "models/gpt2.h"
#include "models/layers.h"

/* clang-format off */
const Field rms_norm_fields[] = {
    FIELD_INT(struct RmsNormSettings, ndim, NULL, 1, INFINITY, "width", .flags = FIELD_STRICT),
    FIELD_FLOAT(struct RmsNormSettings, epsilon, "1e-6", 0, INFINITY, "added to the mean square", .flags = FIELD_OPEN_MIN),
    FIELD_BOOL(struct RmsNormSettings, bias, "true", "adds a learned bias", .flags = FIELD_STRICT),
    { 0 },
};
const Field pytorch_rms_norm_fields[] = {
    FIELD_INT(struct PytorchRmsNormSettings, normalized_shape, NULL, 1, INFINITY, "width", .flags = FIELD_STRICT),
    FIELD_FLOAT(struct PytorchRmsNormSettings, eps, "1e-5", 0, INFINITY, "added to the mean square", .flags = FIELD_STRICT | FIELD_OPEN_MIN),
    { 0 },
};
const Field layer_norm_fields[] = {
    FIELD_INT(struct LayerNormSettings, normalized_shape, NULL, 1, INFINITY, "width", .flags = FIELD_STRICT),
    FIELD_FLOAT(struct LayerNormSettings, eps, "1e-6", 0, INFINITY, "added to the variance", .flags = FIELD_STRICT | FIELD_OPEN_MIN),
    FIELD_BOOL(struct LayerNormSettings, elementwise_affine, "true", "has a learned weight", .flags = FIELD_STRICT),
    FIELD_BOOL(struct LayerNormSettings, bias, "true", "has a learned bias", .flags = FIELD_STRICT),
    { 0 },
};
static const Field norm_settings_fields[] = {
    FIELD_STRUCT(NormSettings, rms, struct RmsNormSettings, rms_norm_fields, NULL, "for rms_norm"),
    FIELD_STRUCT(NormSettings, pytorch_rms, struct PytorchRmsNormSettings, pytorch_rms_norm_fields, NULL, "for pytorch_rms_norm; also a layer_norm that names neither bias nor elementwise_affine"),
    FIELD_STRUCT(NormSettings, layer, struct LayerNormSettings, layer_norm_fields, NULL, "for layer_norm"),
    { 0 },
};
static const char *const norm_types[] = { "rms_norm", "layer_norm", "pytorch_rms_norm", NULL };
static const Field norm_choice_fields[] = {
    FIELD_CHOICE(NormChoice, norm_type, NULL, norm_types, "kind of normalisation"),
    FIELD_UNION(NormChoice, config, NormSettings, norm_settings_fields, NULL, "its settings"),
    { 0 },
};

static const Field rotary_fields[] = {
    FIELD_INT(struct RotarySettings, n_embd, NULL, 0, INFINITY, "width of the model", .flags = FIELD_STRICT),
    FIELD_INT(struct RotarySettings, n_head, NULL, 0, INFINITY, "number of query heads", .flags = FIELD_STRICT),
    FIELD_INT(struct RotarySettings, seq_length_dim, NULL, 0, 0, "dimension of the sequence, -2", .flags = FIELD_STRICT),
    FIELD_INT(struct RotarySettings, base_freq, NULL, 10000, INFINITY, "base of the frequencies", .flags = FIELD_STRICT),
    { 0 },
};
static const Field identity_fields[] = { { 0 } };
static const Field transform_settings_fields[] = {
    FIELD_STRUCT(struct TransformSettings, rotary, struct RotarySettings, rotary_fields, NULL, "for RotaryTransform"),
    FIELD_STRUCT(struct TransformSettings, identity, struct IdentitySettings, identity_fields, NULL, "for IdentityTransform"),
    { 0 },
};
static const char *const transform_types[] = { "RotaryTransform", "IdentityTransform", NULL };
static const Field transform_fields[] = {
    FIELD_CHOICE(QkvTransform, type_hint, NULL, transform_types, "what is done to queries and keys"),
    FIELD_UNION(QkvTransform, config, struct TransformSettings, transform_settings_fields, NULL, "its settings"),
    { 0 },
};
static const Field attention_fields[] = {
    FIELD_STRUCTS(AttentionSettings, qkv_transforms, QkvTransforms, transform_fields, NULL, 0, 0, "applied in order to queries, keys, values"),
    FIELD_STRUCT(AttentionSettings, qk_norm_config, NormChoice, norm_choice_fields, "null", "norm of queries and keys over the head, after the transforms"),
    { 0 },
};

static const char *const poe_types[] = { "ABSOLUTE", "NOPE", NULL };
static const char *const activations[] = { "gelu|GELU", "swiglu|SWIGLU", NULL };
static const char *const implementations[] = { "manual|MANUAL", "pytorch_flash|PYTORCH_FLASH", "dao_flash|DAO_FLASH", NULL };

/* Beyond any model: products of two fit in 64 bits, and the graph takes seconds to build. */
#define MOST_ELEMENTS 2147483647
#define MOST_LAYERS   1000
#define COUNT(m, text) FIELD_INT(Gpt2Settings, m, NULL, 1, MOST_ELEMENTS, text, .flags = FIELD_STRICT)
const Field gpt2_fields[] = {
    FIELD_STRING(Gpt2Settings, sample_key, NULL, "name of the token ids in a batch"),
    FIELD_STRING(Gpt2Settings, prediction_key, NULL, "name of the logits"),
    FIELD_BOOL(Gpt2Settings, use_meta_device, "false", "the model is made without its parameters first", .no_effect = "parameters are never made twice"),
    FIELD_CHOICE(Gpt2Settings, poe_type, NULL, poe_types, "learned absolute positions, or none (also with RoPE)"),
    COUNT(sequence_length, "longest sequence"),
    COUNT(vocab_size, "number of token ids"),
    FIELD_INT(Gpt2Settings, n_layer, NULL, 1, MOST_LAYERS, "number of blocks", .flags = FIELD_STRICT),
    COUNT(n_head_q, "number of query heads"),
    COUNT(n_head_kv, "number of key and value heads; divides n_head_q"),
    COUNT(n_embd, "width of the residual stream"),
    COUNT(ffn_hidden, "width of the feed-forward layer (of swiglu: two thirds of it, rounded up)"),
    FIELD_FLOAT(Gpt2Settings, dropout, NULL, 0, INFINITY, "dropout probability", .flags = FIELD_STRICT),
    FIELD_BOOL(Gpt2Settings, bias, NULL, "biases in attention and feed-forward layers"),
    FIELD_STRUCT(Gpt2Settings, attention_config, AttentionSettings, attention_fields, NULL, "transforms and norm of queries and keys"),
    FIELD_CHOICE(Gpt2Settings, attention_implementation, NULL, implementations, "who computes attention", .no_effect = "all are one exact attention"),
    FIELD_CHOICE(Gpt2Settings, activation_type, NULL, activations, "activation of the feed-forward layer"),
    FIELD_STRUCT(Gpt2Settings, attention_norm_config, NormChoice, norm_choice_fields, NULL, "norm in front of attention"),
    FIELD_STRUCT(Gpt2Settings, ffn_norm_config, NormChoice, norm_choice_fields, NULL, "norm in front of the feed-forward layer"),
    FIELD_STRUCT(Gpt2Settings, lm_head_norm_config, NormChoice, norm_choice_fields, NULL, "norm in front of the head"),
    FIELD_BOOL(Gpt2Settings, use_weight_tying, "false", "the head uses the embedding's weight"),
    FIELD_INT(Gpt2Settings, seed, "null", 0, 0, "seed of the initial weights"),
    FIELD_INT(Gpt2Settings, enforce_swiglu_hidden_dim_multiple_of, "256", 1, MOST_ELEMENTS, "swiglu's width is rounded up to a multiple of this"),
    FIELD_STRING(Gpt2Settings, document_key, "null", "name of the documents in a batch (collate_fn.document_collator_wrapper): tokens attend within their own; and learned positions begin again with each; null: to all earlier tokens of the sequence. RoPE depends on distances alone, so its positions need no reset"),
    { 0 },
};
#undef COUNT
#undef MOST_ELEMENTS
#undef MOST_LAYERS
/* clang-format on */

static Error *check_norm(const char *key, const NormChoice *n)
{
    int which = n->config.which;
    if (n->norm_type == NORM_RMS && which != 0)
        return error_new("%s: rms_norm takes ndim, epsilon, bias, not normalized_shape", key);
    if (n->norm_type == NORM_LAYER && which == 0)
        return error_new(
            "%s: layer_norm takes normalized_shape, eps, elementwise_affine, bias, not ndim", key);
    if (n->norm_type == NORM_PYTORCH_RMS && which != 1)
        return error_new("%s: pytorch_rms_norm takes normalized_shape and eps only", key);
    return NULL;
}

static Error *check_transforms(const Gpt2Settings *s)
{
    for (int64_t i = 0; i < s->attention_config.qkv_transforms.n; i++) {
        const QkvTransform *t = &s->attention_config.qkv_transforms.item[i];
        if (t->type_hint != t->config.which)
            return error_new(
                "attention_config.qkv_transforms.%lld: %s does not take these settings",
                (long long)i, transform_types[t->type_hint]);
        if (t->type_hint != 0) continue;
        if (t->config.rotary.seq_length_dim != -2)
            return error_new(
                "attention_config.qkv_transforms.%lld: seq_length_dim %lld; the sequence "
                "is dimension -2",
                (long long)i, (long long)t->config.rotary.seq_length_dim);
        if (s->poe_type == POE_ABSOLUTE)
            return error_new("poe_type ABSOLUTE and RotaryTransform exclude each other");
        int64_t heads = t->config.rotary.n_head, head = heads ? t->config.rotary.n_embd / heads : 0;
        if (head != s->n_embd / s->n_head_q)
            return error_new("attention_config.qkv_transforms.%lld: n_embd / n_head is %lld, but "
                             "heads have width %lld",
                             (long long)i, (long long)head, (long long)(s->n_embd / s->n_head_q));
        if (head % 2)
            return error_new("RotaryTransform needs an even head width, not %lld", (long long)head);
    }
    return NULL;
}

/* An estimate, before the graph is built: matrices alone. */
static Error *check_parameters(const Gpt2Settings *s)
{
    static const double most = 1e15;
    double width = (double)s->n_embd, kv = (double)s->n_head_kv / (double)s->n_head_q;
    double layer = width * (width * (2 + 2 * kv) + 2 * (double)s->ffn_hidden);
    double n = layer * (double)s->n_layer + width * (double)s->vocab_size;
    if (s->poe_type == POE_ABSOLUTE) n += width * (double)s->sequence_length;
    if (n <= most) return NULL;
    return error_new("n_layer %lld, n_embd %lld, ffn_hidden %lld and vocab_size %lld make %.1g "
                     "parameters; allowed are at most %g",
                     (long long)s->n_layer, (long long)s->n_embd, (long long)s->ffn_hidden,
                     (long long)s->vocab_size, n, most);
}

Error *gpt2_check(const void *settings)
{
    const Gpt2Settings *s = settings;
    if (s->n_head_q % s->n_head_kv)
        return error_new("n_head_kv %lld does not divide n_head_q %lld", (long long)s->n_head_kv,
                         (long long)s->n_head_q);
    if (s->n_embd % s->n_head_q)
        return error_new("n_head_q %lld does not divide n_embd %lld", (long long)s->n_head_q,
                         (long long)s->n_embd);
    TRY(check_parameters(s));
    if (s->use_meta_device && *s->use_meta_device && s->use_weight_tying)
        return error_new(
            "use_meta_device and use_weight_tying exclude each other in a file of the original");
    if (s->dropout >= 1) return error_new("dropout %g: allowed are 0 <= dropout < 1", s->dropout);
    TRY(check_norm("attention_norm_config", &s->attention_norm_config));
    TRY(check_norm("ffn_norm_config", &s->ffn_norm_config));
    TRY(check_norm("lm_head_norm_config", &s->lm_head_norm_config));
    if (s->attention_config.qk_norm_config)
        TRY(check_norm("attention_config.qk_norm_config", s->attention_config.qk_norm_config));
    return check_transforms(s);
}
