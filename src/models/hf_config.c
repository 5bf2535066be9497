/* hf_config.c - reads config.json, in the spelling of transformers 4 and 5. */
#include "models/hf_config.h"
#include "base/file.h"
#include "config/field_read.h"
#include <string.h>

typedef struct Config {
    const char *model_type;
    int64_t vocab_size, hidden_size, num_hidden_layers, num_attention_heads;
    const int64_t *intermediate_size, *n_inner, *num_key_value_heads, *head_dim,
        *max_position_embeddings;
    const double *rms_norm_eps, *layer_norm_epsilon;
    const char *hidden_act, *hidden_activation;
    const bool *tie_word_embeddings;
    bool attention_bias, mlp_bias;
    const Yaml *sliding_window;
    const bool *use_sliding_window;
    const int64_t *max_window_layers, *sliding_window_pattern;
    const StringList *layer_types;
    const double *attn_logit_softcapping, *final_logit_softcapping, *query_pre_attn_scalar;
    const int64_t *num_experts_per_tok, *num_local_experts, *num_experts, *moe_intermediate_size;
    const bool *norm_topk_prob;
    int64_t decoder_sparse_step;
    IntList mlp_only_layers;
    double router_aux_loss_coef;
    const double *attention_dropout, *attn_pdrop, *resid_pdrop, *embd_pdrop;
    bool scale_attn_weights, scale_attn_by_inverse_layer_idx, reorder_and_upcast_attn,
        add_cross_attention;
    const double *rope_theta, *rope_local_base_freq, *partial_rotary_factor;
    const Yaml *rope_parameters, *rope_scaling, *quantization_config, *use_bidirectional_attention;
    const char *dtype;
    double router_jitter_noise;
} Config;

/* clang-format off */
#define COUNT(m, def, text, ...) FIELD_INT(Config, m, def, 1, 2147483647, text, __VA_ARGS__)
static const Field fields[] = {
    FIELD_STRING(Config, model_type, NULL, "family"),
    COUNT(vocab_size, NULL, "number of token ids"),
    COUNT(hidden_size, NULL, "width", .alias = "n_embd"),
    FIELD_INT(Config, num_hidden_layers, NULL, 1, 1000, "blocks", .alias = "n_layer"),
    COUNT(num_attention_heads, NULL, "query heads", .alias = "n_head"),
    COUNT(intermediate_size, "null", "width of the feed-forward layer"),
    COUNT(n_inner, "null", "the same of GPT-2; null: 4 times the width"),
    COUNT(num_key_value_heads, "null", "key and value heads; null: as query heads"),
    COUNT(head_dim, "null", "width of a head"),
    COUNT(max_position_embeddings, "null", "longest sequence", .alias = "n_positions"),
    FIELD_FLOAT(Config, rms_norm_eps, "null", 0, 1, "added to the mean square"),
    FIELD_FLOAT(Config, layer_norm_epsilon, "null", 0, 1, "added to the variance"),
    FIELD_STRING(Config, hidden_act, "null", "activation"),
    FIELD_STRING(Config, hidden_activation, "null", "activation", .alias = "activation_function"),
    FIELD_BOOL(Config, tie_word_embeddings, "null", "the head uses the embedding's weight"),
    FIELD_BOOL(Config, attention_bias, "false", "biases in attention"),
    FIELD_BOOL(Config, mlp_bias, "false", "biases in feed-forward layers"),
    FIELD_ANY(Config, sliding_window, "absent", "keys that a token sees"),
    FIELD_BOOL(Config, use_sliding_window, "null", "whether it counts"),
    FIELD_INT(Config, max_window_layers, "null", 0, 2147483647, "layers below see all keys"),
    COUNT(sliding_window_pattern, "null", "each such layer sees all keys", .alias = "_sliding_window_pattern"),
    FIELD_LIST(Config, layer_types, StringList, &field_string_item, "null", 0, 0, "of each layer"),
    FIELD_FLOAT(Config, attn_logit_softcapping, "null", 0, INFINITY, "bound of scores", .flags = FIELD_OPEN_MIN),
    FIELD_FLOAT(Config, final_logit_softcapping, "null", 0, INFINITY, "bound of logits", .flags = FIELD_OPEN_MIN),
    FIELD_FLOAT(Config, query_pre_attn_scalar, "null", 0, INFINITY, "scores are divided by its root", .flags = FIELD_OPEN_MIN),
    COUNT(num_experts_per_tok, "null", "experts of a token"),
    COUNT(num_local_experts, "null", "experts"),
    COUNT(num_experts, "null", "experts"),
    COUNT(moe_intermediate_size, "null", "width of an expert"),
    FIELD_BOOL(Config, norm_topk_prob, "null", "weights of a token's experts add up to 1"),
    COUNT(decoder_sparse_step, "1", "each such layer is sparse"),
    FIELD_INTS(Config, mlp_only_layers, "[]", 0, 0, "layers that are not sparse"),
    FIELD_FLOAT(Config, router_aux_loss_coef, "0.001", 0, INFINITY, "weight of the balance penalty"),
    FIELD_FLOAT(Config, attention_dropout, "null", 0, 1, "dropout of probabilities"),
    FIELD_FLOAT(Config, attn_pdrop, "null", 0, 1, "the same of GPT-2"),
    FIELD_FLOAT(Config, resid_pdrop, "null", 0, 1, "dropout of layers"),
    FIELD_FLOAT(Config, embd_pdrop, "null", 0, 1, "dropout of embeddings"),
    FIELD_BOOL(Config, scale_attn_weights, "true", "scores are divided by the root of the head width"),
    FIELD_BOOL(Config, scale_attn_by_inverse_layer_idx, "false", "and by the number of the layer"),
    FIELD_BOOL(Config, reorder_and_upcast_attn, "false", "an order of computing"),
    FIELD_BOOL(Config, add_cross_attention, "false", "layers that read another text"),
    FIELD_FLOAT(Config, rope_theta, "null", 0, INFINITY, "base of the frequencies", .flags = FIELD_OPEN_MIN),
    FIELD_FLOAT(Config, rope_local_base_freq, "null", 0, INFINITY, "base in layers with a window", .flags = FIELD_OPEN_MIN),
    FIELD_FLOAT(Config, partial_rotary_factor, "null", 0, 1, "share of a head that turns"),
    FIELD_ANY(Config, rope_parameters, "null", "how positions turn"),
    FIELD_ANY(Config, rope_scaling, "null", "the same in transformers 4"),
    FIELD_ANY(Config, quantization_config, "null", "how weights are packed"),
    FIELD_ANY(Config, use_bidirectional_attention, "null", "tokens see later ones"),
    FIELD_STRING(Config, dtype, "null", "format of the weights", .alias = "torch_dtype"),
    FIELD_FLOAT(Config, router_jitter_noise, "0.0", 0, INFINITY, "noise of the router"),
    { 0 },
};
#undef COUNT
/* clang-format on */

typedef struct Reading {
    Arena *arena;
    const char *path; /* of config.json */
    const Yaml *root;
    const HfFamily *family;
    Config c;
    Decoder *d;
} Reading;

static Error *unknown(const Reading *r, const char *key, const char *allowed)
{
    const Yaml *v = yaml_get(r->root, key);
    return error_new("%s: %s: %s is not known; %s", v ? yaml_place(r->arena, v) : r->path, key,
                     v ? yaml_show(r->arena, v) : "nothing", allowed);
}

static bool is_known_key(const char *key)
{
    static const char *const silent[] = { "_*",
                                          "architectures",
                                          "*token_id",
                                          "*_version",
                                          "use_cache",
                                          "auto_map",
                                          "torchscript",
                                          "model_type",
                                          "id2label",
                                          "label2id",
                                          "problem_type",
                                          "initializer_range",
                                          "pretraining_tp",
                                          "return_dict",
                                          "output_*",
                                          "summary_*",
                                          "task_specific_params",
                                          NULL };
    for (int i = 0; silent[i]; i++)
        if (text_matches(silent[i], key)) return true;
    return field_find(fields, key) != NULL;
}

/* Names the classes that there are, and what else would be new. */
static Error *unknown_class(Arena *a, const Yaml *root, const char *type)
{
    const Yaml *classes = yaml_get(root, "architectures"), *at = yaml_get(root, "model_type");
    const char *class = classes && classes->n > 0 ? classes->item[0]->text : "of no class";
    Text known = { 0 }, options = { 0 };
    for (const HfFamily *f = hf_families; f->model_type; f++)
        text_printf(&known, "%s%s", known.len ? ", " : "", f->model_type);
    for (int64_t i = 0; i < root->n; i++)
        if (!is_known_key(root->key[i]->text))
            text_printf(&options, "%s%s", options.len ? ", " : "", root->key[i]->text);
    Error *e = error_new("%s: model_type %s (%s) is not known; known are %s%s%s%s",
                         yaml_place(a, at ? at : root), type ? type : "missing", class, known.ptr,
                         options.len ? "; of its options no known class has " : "",
                         options.len ? options.ptr : "",
                         options.len ? "" : "; each of its options is known from others");
    text_free(&known);
    text_free(&options);
    return e;
}

static Error *find_family(Reading *r)
{
    const Yaml *type = yaml_get(r->root, "model_type");
    const char *name = type && type->type == YAML_STRING ? type->text : NULL;
    r->family = name ? hf_family_find(name) : NULL;
    if (!r->family) return unknown_class(r->arena, r->root, name);
    const Yaml *classes = yaml_get(r->root, "architectures");
    if (!classes || classes->type != YAML_LIST || classes->n == 0) return NULL;
    const char *class = classes->item[0]->text;
    if (class && !strcmp(class, r->family->class_name)) return NULL;
    return error_new("%s: the class %s is not known; of model_type %s it is %s",
                     yaml_place(r->arena, classes), class ? class : "?", name,
                     r->family->class_name);
}

static Error *read_activation(Reading *r)
{
    static const struct {
        const char *name;
        Activation activation;
    } names[] = { { "gelu", ACTIVATE_GELU },
                  { "gelu_new", ACTIVATE_GELU_TANH },
                  { "silu", ACTIVATE_SILU },
                  { "gelu_pytorch_tanh", ACTIVATE_GELU_TANH },
                  { "swish", ACTIVATE_SILU } };
    const char *of_class = r->family->activation;
    const char *key = r->c.hidden_activation ? "hidden_activation" : "hidden_act";
    const char *name = r->c.hidden_activation ? r->c.hidden_activation : r->c.hidden_act;
    if (r->family->flags & HF_GPT2) key = "activation_function";
    /* the first Gemma files say gelu in hidden_act, and mean the form with tanh */
    if (!name || (r->family->flags & HF_FROM_ONE && !r->c.hidden_activation)) name = of_class;
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (!strcmp(names[i].name, name)) {
            r->d->activation = names[i].activation;
            return NULL;
        }
    return unknown(r, key, "known are gelu, gelu_new, gelu_pytorch_tanh, silu, swish");
}

static double number(const Yaml *map, const char *key, double otherwise)
{
    const Yaml *v = yaml_get(map, key);
    return v && (v->type == YAML_INT || v->type == YAML_FLOAT) ? v->number : otherwise;
}

static Error *missing(const Reading *r, const Yaml *map, const char *key, const char *kind)
{
    return error_new("%s: rope scaling %s needs the number %s", yaml_place(r->arena, map), kind,
                     key);
}

/* YaRN's own rule, unless the file says otherwise. */
static double yarn_attention(const Yaml *p, double factor)
{
    const double given = number(p, "attention_factor", -1), mscale = number(p, "mscale", 0),
                 all = number(p, "mscale_all_dim", 0);
    if (given >= 0) return given;
    if (mscale != 0 && all != 0)
        return rope_yarn_attention(factor, mscale) / rope_yarn_attention(factor, all);
    return rope_yarn_attention(factor, 1);
}

/* One set of parameters; `p` may be NULL. */
static Error *read_rope(const Reading *r, const Yaml *p, double theta, RopeScaling *out)
{
    const Yaml *type = yaml_get(p, "rope_type");
    if (!type) type = yaml_get(p, "type");
    *out = (RopeScaling){ .base = number(p, "rope_theta", theta), .attention = 1 };
    if (!type || type->type != YAML_STRING || !strcmp(type->text, "default")) return NULL;
    int kind = 1;
    while (rope_scaling_choices[kind] && strcmp(rope_scaling_choices[kind], type->text)) kind++;
    if (!rope_scaling_choices[kind])
        return error_new("%s: rope scaling %s is not known; known are default, linear, dynamic, "
                         "llama3, yarn",
                         yaml_place(r->arena, type), type->text);
    out->kind = kind;
    out->factor = number(p, "factor", 0);
    if (!(out->factor > 0)) return missing(r, p, "factor", type->text);
    out->original = (int64_t)number(p, "original_max_position_embeddings", 0);
    if (kind == ROPE_LLAMA3) {
        out->low_freq = number(p, "low_freq_factor", 0);
        out->high_freq = number(p, "high_freq_factor", 0);
        if (!(out->low_freq > 0)) return missing(r, p, "low_freq_factor", type->text);
        if (!(out->high_freq > 0)) return missing(r, p, "high_freq_factor", type->text);
        if (out->original <= 0)
            return missing(r, p, "original_max_position_embeddings", type->text);
    }
    if (out->original <= 0) out->original = r->d->sequence_length;
    if (kind == ROPE_YARN) {
        const Yaml *truncate = yaml_get(p, "truncate");
        out->beta_fast = number(p, "beta_fast", 32);
        out->beta_slow = number(p, "beta_slow", 1);
        out->truncate = !truncate || truncate->type != YAML_BOOL || truncate->boolean;
        out->attention = yarn_attention(p, out->factor);
    }
    return NULL;
}

/* transformers 5 keeps the parameters of each type of layer apart where they differ. */
static Error *read_ropes(const Reading *r, RopeScaling *full, RopeScaling *local)
{
    const Config *c = &r->c;
    const Yaml *v5 =
        c->rope_parameters && c->rope_parameters->type == YAML_MAP ? c->rope_parameters : NULL;
    const Yaml *v4 = c->rope_scaling && c->rope_scaling->type == YAML_MAP ? c->rope_scaling : NULL;
    const double theta = c->rope_theta ? *c->rope_theta : r->family->theta;
    const Yaml *of_full = yaml_get(v5, "full_attention"),
               *of_local = yaml_get(v5, "sliding_attention");
    if (of_full || of_local) {
        TRY(read_rope(r, of_full, theta, full));
        return read_rope(r, of_local, theta, local);
    }
    TRY(read_rope(r, v5 ? v5 : v4, theta, full));
    *local = *full;
    if (r->family->windows != HF_WINDOW_PATTERN) return NULL;
    *local = (RopeScaling){ .base = c->rope_local_base_freq ? *c->rope_local_base_freq : 10000,
                            .attention = 1 };
    return NULL;
}

/* What sliding_window says; 0: no window. */
static Error *read_window(const Reading *r, int64_t *out)
{
    const Config *c = &r->c;
    const Yaml *v = yaml_get(r->root, "sliding_window");
    *out = r->family->window;
    if (v && v->type == YAML_INT && v->integer > 0)
        *out = v->integer;
    else if (v && v->type != YAML_NULL)
        return unknown(r, "sliding_window", "allowed are a positive integer and null");
    else if (v)
        *out = 0;
    const bool is_asked = c->use_sliding_window && *c->use_sliding_window;
    const bool asks =
        r->family->windows == HF_WINDOW_UPPER || !strcmp(r->family->model_type, "qwen3_moe");
    if ((asks && !is_asked) || r->family->windows == HF_NO_WINDOW) *out = 0;
    return NULL;
}

static Error *is_local(const Reading *r, int64_t i, bool *out)
{
    const Config *c = &r->c;
    const int64_t pattern = c->sliding_window_pattern ? *c->sliding_window_pattern : 6;
    if (c->layer_types) {
        const char *type = i < c->layer_types->n ? c->layer_types->item[i] : "";
        *out = !strcmp(type, "sliding_attention");
        if (*out || !strcmp(type, "full_attention")) return NULL;
        return unknown(r, "layer_types",
                       "each layer is of type full_attention or sliding_attention");
    }
    switch (r->family->windows) {
    case HF_WINDOW_ALTERNATING:
        *out = i % 2 == 0;
        break;
    case HF_WINDOW_PATTERN:
        *out = (i + 1) % pattern != 0;
        break;
    case HF_WINDOW_UPPER:
        *out = i >= (c->max_window_layers ? *c->max_window_layers : 28);
        break;
    default:
        *out = true;
    }
    return NULL;
}

static bool is_sparse(const Reading *r, int64_t i)
{
    const Config *c = &r->c;
    if (!(r->family->flags & HF_SPARSE)) return false;
    for (int64_t k = 0; k < c->mlp_only_layers.n; k++)
        if (c->mlp_only_layers.item[k] == i) return false;
    return (i + 1) % c->decoder_sparse_step == 0;
}

static Error *read_layers(Reading *r)
{
    Decoder *d = r->d;
    RopeScaling *rope = NEW_N(r->arena, RopeScaling, 2);
    DecoderLayer *layer = NEW_N(r->arena, DecoderLayer, d->n_layer);
    const bool turns = !(r->family->flags & HF_GPT2);
    int64_t window;
    TRY(read_ropes(r, &rope[0], &rope[1]));
    TRY(read_window(r, &window));
    for (int64_t i = 0; i < d->n_layer; i++) {
        bool local;
        TRY(is_local(r, i, &local));
        layer[i] = (DecoderLayer){ .window = local ? window : 0,
                                   .rope = &rope[local],
                                   .n_rope = turns ? 1 : 0,
                                   .is_sparse = is_sparse(r, i) };
    }
    d->layer = layer;
    if (rope[0].kind == ROPE_DYNAMIC)
        d->sequence_length = (int64_t)(rope[0].factor * (double)rope[0].original);
    return NULL;
}

static Error *read_moe(Reading *r)
{
    const Config *c = &r->c;
    Moe *m = NEW(r->arena, Moe);
    const int64_t *n = c->num_local_experts ? c->num_local_experts : c->num_experts;
    const int64_t *hidden =
        c->moe_intermediate_size ? c->moe_intermediate_size : c->intermediate_size;
    if (!n) return unknown(r, "num_experts", "a mixture of experts needs it");
    if (!hidden) return unknown(r, "moe_intermediate_size", "a mixture of experts needs it");
    *m = (Moe){ .n_experts = *n,
                .top_k = c->num_experts_per_tok ? *c->num_experts_per_tok : 2,
                .hidden = *hidden,
                .normalize =
                    r->family->flags & HF_NORMALIZED || (c->norm_topk_prob && *c->norm_topk_prob),
                .aux_loss = c->router_aux_loss_coef,
                .activation = r->d->activation };
    if (m->top_k > m->n_experts)
        return unknown(r, "num_experts_per_tok", "it is more than there are experts");
    if (c->router_jitter_noise > 0)
        return unknown(r, "router_jitter_noise", "only 0.0 is: there is no noise in the router");
    r->d->moe = m;
    return NULL;
}

static const Norm *norm_of(Reading *r, int64_t width)
{
    const Config *c = &r->c;
    const bool layer = r->family->flags & HF_GPT2;
    const double *eps = layer ? c->layer_norm_epsilon : c->rms_norm_eps;
    const Norm n = { .type = layer ? NORM_LAYER : NORM_PYTORCH_RMS,
                     .width = width,
                     .eps = eps ? *eps : r->family->eps,
                     .has_weight = true,
                     .has_bias = layer,
                     .from_one = r->family->flags & HF_FROM_ONE };
    return arena_copy(r->arena, &n, sizeof n);
}

static void read_norms(Reading *r)
{
    const unsigned flags = r->family->flags;
    Decoder *d = r->d;
    const Norm *n = norm_of(r, d->width);
    d->head_norm = n;
    if (!(flags & HF_POST_NORM)) d->attention_norm = d->ffn_norm = n;
    if (flags & (HF_POST_NORM | HF_SANDWICH)) d->attention_post_norm = d->ffn_post_norm = n;
    if (flags & HF_QK_NORM) d->qk_norm = norm_of(r, d->head_width);
    if (flags & HF_QK_NORM_WIDTH) d->qk_norm_width = norm_of(r, d->head_width * d->n_head_q);
    d->qk_norm_before_rope = true;
}

/* What transformers would compute otherwise than is done here. */
static Error *refuse(const Reading *r)
{
    const Config *c = &r->c;
    const Yaml *both = c->use_bidirectional_attention;
    if (c->quantization_config && c->quantization_config->type != YAML_NULL)
        return unknown(r, "quantization_config", "only weights that are not packed can be read");
    if (both && both->type == YAML_BOOL && both->boolean)
        return unknown(r, "use_bidirectional_attention", "only false and null are");
    if (c->partial_rotary_factor && *c->partial_rotary_factor != 1)
        return unknown(r, "partial_rotary_factor", "only 1.0 is: whole heads turn");
    if (c->add_cross_attention) return unknown(r, "add_cross_attention", "only false is");
    if (c->scale_attn_by_inverse_layer_idx)
        return unknown(r, "scale_attn_by_inverse_layer_idx", "only false is");
    return NULL;
}

static Error *read_dropout(Reading *r)
{
    const Config *c = &r->c;
    const bool is_gpt2 = r->family->flags & HF_GPT2;
    const double *attention = is_gpt2 ? c->attn_pdrop : c->attention_dropout;
    const double otherwise = is_gpt2 ? 0.1 : 0;
    r->d->attention_dropout = attention ? *attention : otherwise;
    if (!is_gpt2) return NULL;
    r->d->dropout = c->resid_pdrop ? *c->resid_pdrop : otherwise;
    if ((c->embd_pdrop ? *c->embd_pdrop : otherwise) == r->d->dropout) return NULL;
    return unknown(r, "embd_pdrop", "it must equal resid_pdrop");
}

static Error *read_sizes(Reading *r)
{
    const Config *c = &r->c;
    const HfFamily *f = r->family;
    Decoder *d = r->d;
    d->vocab_size = c->vocab_size;
    d->width = c->hidden_size;
    d->n_layer = c->num_hidden_layers;
    d->n_head_q = c->num_attention_heads;
    d->n_head_kv = c->num_key_value_heads ? *c->num_key_value_heads : d->n_head_q;
    d->sequence_length =
        c->max_position_embeddings ? *c->max_position_embeddings : f->max_positions;
    d->head_width = c->head_dim ? *c->head_dim : f->head_width;
    if (d->n_head_q % d->n_head_kv)
        return unknown(r, "num_key_value_heads", "it must divide num_attention_heads");
    if (!d->head_width && d->width % d->n_head_q)
        return unknown(r, "num_attention_heads", "it must divide hidden_size");
    if (!d->head_width) d->head_width = d->width / d->n_head_q;
    const int64_t *hidden = f->flags & HF_GPT2 ? c->n_inner : c->intermediate_size;
    if (!hidden && !(f->flags & HF_GPT2)) return unknown(r, "intermediate_size", "it is needed");
    d->hidden = hidden ? *hidden : 4 * d->width;
    return NULL;
}

static double embedding_scale(const Reading *r)
{
    if (!(r->family->flags & HF_SCALED_EMBEDDING)) return 0;
    return (float)sqrt((double)r->d->width); /* kept as a float there */
}

/* 0: 1/sqrt(head width) */
static double attention_scale(const Reading *r)
{
    if (r->family->flags & HF_SANDWICH)
        return 1 / sqrt(r->c.query_pre_attn_scalar ? *r->c.query_pre_attn_scalar : 256);
    return r->c.scale_attn_weights ? 0 : 1;
}

/* null means none, silence what the class has. */
static double cap(const Reading *r, const char *key, const double *given, double of_class)
{
    if (!(r->family->flags & HF_SANDWICH)) return 0;
    if (given) return *given;
    return yaml_get(r->root, key) ? 0 : of_class;
}

static Error *read_decoder(Reading *r)
{
    const Config *c = &r->c;
    const unsigned flags = r->family->flags;
    Decoder *d = r->d;
    d->name = "huggingface_pretrained_model";
    d->block_class = r->family->block_class;
    TRY(read_sizes(r));
    TRY(refuse(r));
    d->embedding_scale = embedding_scale(r);
    d->attention_scale = attention_scale(r);
    d->attention_cap =
        cap(r, "attn_logit_softcapping", c->attn_logit_softcapping, r->family->attention_cap);
    d->logit_cap =
        cap(r, "final_logit_softcapping", c->final_logit_softcapping, r->family->logit_cap);
    d->is_tied = c->tie_word_embeddings ? *c->tie_word_embeddings : r->family->is_tied;
    d->learned_positions = flags & HF_GPT2;
    d->is_gated = !(flags & HF_GPT2);
    const bool bias = c->attention_bias && flags & HF_BIASES;
    d->qkv_bias = flags & HF_QKV_BIAS || bias;
    d->out_bias = flags & HF_GPT2 || bias;
    d->ffn_bias = flags & HF_GPT2 || (c->mlp_bias && flags & HF_MLP_BIAS);
    TRY(read_activation(r));
    TRY(read_dropout(r));
    read_norms(r);
    TRY(read_layers(r));
    return flags & HF_SPARSE ? read_moe(r) : NULL;
}

static Dtype dtype_of(const Config *c)
{
    if (c->dtype && strstr(c->dtype, "bfloat16")) return BF16;
    if (c->dtype && strstr(c->dtype, "float16")) return F16;
    return F32;
}

Error *hf_config_parse(Arena *a, const Yaml *root, const char *path, HfModel *out)
{
    Reading r = { .arena = a, .path = path, .root = root };
    if (root->type != YAML_MAP) return error_new("%s: this is no JSON object", path);
    TRY(find_family(&r));
    Problems problems = { .arena = a };
    FieldReader reader = { .arena = a, .problems = &problems };
    fields_fill(&reader, fields, root, true, &r.c);
    TRY(problems_error(&problems));
    r.d = NEW(a, Decoder);
    TRY(read_decoder(&r));
    *out = (HfModel){ .family = r.family, .decoder = r.d, .dtype = dtype_of(&r.c) };
    return NULL;
}

Error *hf_config_read(Arena *a, const char *folder, HfModel *out)
{
    Yaml *root;
    const char *path = path_join(a, folder, "config.json");
    if (!file_exists(path)) return error_new("%s has no config.json", folder);
    TRY(yaml_read_json(a, path, &root));
    TRY(hf_config_parse(a, root, path, out));
    out->folder = folder;
    return NULL;
}
