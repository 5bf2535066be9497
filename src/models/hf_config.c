/* hf_config.c - reads config.json, in the spelling of transformers 4 and 5. */
#include "base/file.h"
#include "config/field_read.h"
#include "models/hf_config_parts.h"
#include "ops/clamped_swiglu.h"
#include <string.h>

Error *hf_unknown(const HfReading *r, const char *key, const char *allowed)
{
    const Yaml *v = yaml_get(r->root, key);
    if (!v) return error_new("%s: %s is missing; %s", yaml_place(r->arena, r->root), key, allowed);
    return error_new("%s: %s: %s is not known; %s", yaml_place(r->arena, v), key,
                     yaml_show(r->arena, v), allowed);
}

double hf_number(const Yaml *map, const char *key, double otherwise)
{
    const Yaml *v = yaml_get(map, key);
    return v && (v->type == YAML_INT || v->type == YAML_FLOAT) ? v->number : otherwise;
}

static Error *read_activation(HfReading *r)
{
    static const struct {
        const char *name;
        Activation activation;
    } names[] = { { "gelu", ACTIVATE_GELU },
                  { "gelu_python", ACTIVATE_GELU },
                  { "gelu_new", ACTIVATE_GELU_TANH },
                  { "gelu_fast", ACTIVATE_GELU_TANH },
                  { "gelu_accurate", ACTIVATE_GELU_TANH },
                  { "gelu_pytorch_tanh", ACTIVATE_GELU_TANH },
                  { "silu", ACTIVATE_SILU },
                  { "swish", ACTIVATE_SILU },
                  { "relu", ACTIVATE_RELU },
                  { "relu2", ACTIVATE_RELU_SQUARED },
                  { "xielu", ACTIVATE_XIELU } };
    const unsigned flags = r->family->flags;
    const bool is_gpt2 = r->family->options & HF_GPT2_KEYS, of_gemma = flags & HF_SCALED_EMBEDDING;
    const bool is_newer = is_gpt2 || flags & HF_SOFT_CAPS || (of_gemma && !r->c.hidden_act);
    const char *key = is_gpt2    ? "activation_function"
                      : is_newer ? "hidden_activation"
                                 : "hidden_act";
    const char *name = is_newer ? r->c.hidden_activation : r->c.hidden_act;
    if (!name) name = r->family->activation;
    /* the first Gemma files say gelu in hidden_act, and mean the form with tanh */
    if (of_gemma && !is_newer && !strcmp(name, "gelu")) name = r->family->activation;
    const bool knows_xielu = r->family->options & HF_XIELU;
    for (size_t i = 0; i < sizeof names / sizeof *names - !knows_xielu; i++)
        if (!strcmp(names[i].name, name)) {
            r->d->activation = names[i].activation;
            return NULL;
        }
    return hf_unknown(r, key,
                      "known are gelu, gelu_python, gelu_new, gelu_fast, gelu_accurate, "
                      "gelu_pytorch_tanh, silu, swish, relu, relu2");
}

/* Its gates are bounded, always by the same numbers. */
static Error *bound_gates(HfReading *r)
{
    if (!(r->family->options & HF_GPT_OSS)) return NULL;
    if (r->d->activation != ACTIVATE_SILU)
        return hf_unknown(r, "hidden_act", "only silu is, which the class bounds");
    if (r->c.swiglu_limit != GATE_LIMIT) return hf_unknown(r, "swiglu_limit", "only 7.0 is");
    if (r->c.swiglu_alpha != CLAMPED_SWIGLU_ALPHA)
        return hf_unknown(r, "swiglu_alpha", "only 1.702 is");
    r->d->activation = ACTIVATE_CLAMPED_SWIGLU;
    return NULL;
}

static const Norm *norm_of(HfReading *r, int64_t width)
{
    const HfFamily *f = r->family;
    const bool bare = f->flags & HF_NO_NORM_WEIGHT;
    const char *key = f->eps_key ? f->eps_key : "rms_norm_eps";
    const Norm n = { .type = f->flags & HF_LAYER_NORM ? NORM_LAYER : NORM_PYTORCH_RMS,
                     .width = width,
                     .eps = bare ? f->eps : hf_number(r->root, key, f->eps),
                     .has_weight = !bare,
                     .has_bias = f->flags & HF_NORM_BIAS,
                     .from_one = f->flags & HF_FROM_ONE };
    return arena_copy(r->arena, &n, sizeof n);
}

static void read_norms(HfReading *r)
{
    const unsigned flags = r->family->flags;
    Decoder *d = r->d;
    const Norm *n = norm_of(r, d->width);
    d->head_norm = n;
    if (!(flags & HF_POST_NORM)) d->attention_norm = d->ffn_norm = n;
    if (d->residual == RESIDUAL_ONE_NORM) d->ffn_norm = NULL;
    if (flags & (HF_POST_NORM | HF_SANDWICH)) d->attention_post_norm = d->ffn_post_norm = n;
    const bool asked = r->family->options & HF_USE_QK_NORM && r->c.use_qk_norm;
    if (flags & HF_QK_NORM || asked) d->qk_norm = norm_of(r, d->head_width);
    if (flags & HF_QK_NORM_WIDTH) d->qk_norm_width = norm_of(r, d->head_width * d->n_head_q);
    d->qk_norm_before_rope = !(r->family->options & HF_NORM_AFTER_ROPE);
}

/* What transformers would compute otherwise than is done here. */
static Error *refuse(const HfReading *r)
{
    const HfConfig *c = &r->c;
    const Yaml *both = c->use_bidirectional_attention;
    if (both && both->type == YAML_BOOL && both->boolean)
        return hf_unknown(r, "use_bidirectional_attention", "only false and null are");
    if (c->clip_qkv) return hf_unknown(r, "clip_qkv", "only null is: nothing bounds them");
    if (c->qk_layernorm)
        return hf_unknown(r, "qk_layernorm", "only false is: each head would have its own norm");
    const bool has_norm =
        r->family->options & HF_USE_QK_NORM || r->family->flags & (HF_QK_NORM | HF_QK_NORM_WIDTH);
    if (c->use_qk_norm && !has_norm)
        return hf_unknown(r, "use_qk_norm", "only false is: each head would have its own norm");
    if (c->add_cross_attention) return hf_unknown(r, "add_cross_attention", "only false is");
    return NULL;
}

static Error *read_dropout(HfReading *r)
{
    const HfConfig *c = &r->c;
    const HfFamily *f = r->family;
    Decoder *d = r->d;
    const double *attention = f->options & HF_GPT2_KEYS ? c->attn_pdrop : c->attention_dropout;
    d->attention_dropout = attention ? *attention : f->dropout;
    if (!f->dropout_key) return NULL;
    const double of_layers = hf_number(r->root, f->dropout_key, f->dropout);
    if (f->flags & HF_NO_DROPOUT)
        return of_layers > 0 ? hf_unknown(r, f->dropout_key, "only 0.0 is") : NULL;
    d->dropout = of_layers;
    if (f->embedding_dropout_key)
        d->embedding_dropout = hf_number(r->root, f->embedding_dropout_key, f->dropout);
    return NULL;
}

static Error *read_sizes(HfReading *r)
{
    const HfConfig *c = &r->c;
    const HfFamily *f = r->family;
    Decoder *d = r->d;
    d->vocab_size = c->vocab_size ? *c->vocab_size : f->vocab_size;
    d->width = c->hidden_size;
    d->n_layer = c->num_hidden_layers;
    d->n_head_q = c->num_attention_heads ? *c->num_attention_heads : f->n_heads;
    if (!d->vocab_size) return hf_unknown(r, "vocab_size", "it is needed");
    if (!d->n_head_q) return hf_unknown(r, "num_attention_heads", "it is needed");
    d->n_head_kv = f->n_key_heads ? f->n_key_heads : d->n_head_q;
    if (c->num_key_value_heads && !(f->flags & HF_NO_GROUPS))
        d->n_head_kv = *c->num_key_value_heads;
    d->sequence_length =
        c->max_position_embeddings ? *c->max_position_embeddings : f->max_positions;
    d->head_width = c->head_dim ? *c->head_dim : f->head_width;
    if (d->n_head_q % d->n_head_kv)
        return hf_unknown(r, "num_key_value_heads", "it must divide num_attention_heads");
    if (f->flags & HF_LATENT) TRY(hf_read_latent(r));
    if (!d->head_width && d->width % d->n_head_q)
        return hf_unknown(r, "num_attention_heads", "it must divide hidden_size");
    if (!d->head_width) d->head_width = d->width / d->n_head_q;
    if (f->flags & HF_SQUARE && d->head_width * d->n_head_q != d->width)
        return hf_unknown(r, "head_dim", "the class has hidden_size / num_attention_heads");
    const bool is_gpt2 = f->options & HF_GPT2_KEYS;
    const int64_t *hidden = is_gpt2 ? c->n_inner : c->intermediate_size;
    if (!hidden && !is_gpt2) return hf_unknown(r, "intermediate_size", "it is needed");
    d->hidden = hidden ? *hidden : 4 * d->width;
    if (f->options & HF_SHARED_ALONE)
        d->hidden = c->shared_intermediate_size ? *c->shared_intermediate_size : 1024;
    return NULL;
}

static double embedding_scale(const HfReading *r)
{
    if (r->family->flags & HF_AFMOE && r->c.mup_enabled) return sqrt((double)r->d->width);
    if (!(r->family->flags & HF_SCALED_EMBEDDING)) return 0;
    return (float)sqrt((double)r->d->width); /* kept as a float there */
}

/* 0: 1/sqrt(head width) */
static double attention_scale(const HfReading *r)
{
    if (r->family->flags & HF_SOFT_CAPS)
        return 1 / sqrt(r->c.query_pre_attn_scalar ? *r->c.query_pre_attn_scalar : 256);
    return r->c.scale_attn_weights ? 0 : 1;
}

/* null means none, silence what the class has. */
static double cap(const HfReading *r, const char *key, const double *given, double of_class)
{
    if (!(r->family->flags & HF_SOFT_CAPS)) return 0;
    if (given) return *given;
    return yaml_get(r->root, key) ? 0 : of_class;
}

static double unless_one(double x)
{
    return x == 1 ? 0 : x;
}

static void read_multipliers(const HfConfig *c, Decoder *d)
{
    d->embedding_scale = unless_one(c->embedding_multiplier);
    d->attention_scale = c->attention_multiplier;
    d->residual_scale = unless_one(c->residual_multiplier);
    d->logit_divisor = unless_one(c->logits_scaling);
}

static Residual residual_of(const HfReading *r)
{
    const unsigned flags = r->family->flags, options = r->family->options;
    const bool *given = r->c.use_parallel_residual;
    if (options & HF_FALCON) return hf_falcon_residual(r);
    const bool parallel = options & HF_PARALLEL_RESIDUAL && given ? *given : flags & HF_PARALLEL;
    if (!parallel) return RESIDUAL_SERIAL;
    return flags & HF_ONE_NORM ? RESIDUAL_ONE_NORM : RESIDUAL_TWO_NORMS;
}

/* What an option decides that counts in the class. */
static bool option(const HfFamily *f, unsigned counts, const bool *given)
{
    const bool otherwise = f->flags & HF_BIASED && counts != HF_MLP_BIAS && counts != HF_OUT_BIAS;
    return f->options & counts && (given ? *given : otherwise);
}

static void read_biases(const HfReading *r)
{
    const HfConfig *c = &r->c;
    const HfFamily *f = r->family;
    Decoder *d = r->d;
    const bool attention = option(f, HF_ATTENTION_BIAS, c->attention_bias);
    const bool all =
        f->flags & HF_GPT2 || f->options & HF_ALL_BIASES || option(f, HF_USE_BIAS, c->use_bias);
    d->qkv_bias =
        all || attention || f->flags & HF_QKV_BIAS || option(f, HF_USE_QKV_BIAS, c->use_qkv_bias);
    d->out_bias = all || (attention && !(f->flags & HF_QKV_ALONE)) ||
                  option(f, HF_OUT_BIAS, c->attention_out_bias);
    d->ffn_bias = all || f->flags & HF_FFN_BIAS || option(f, HF_MLP_BIAS, c->mlp_bias);
    d->head_bias = f->options & HF_HEAD_BIAS;
}

/* The whole model decides, where it says so. */
static bool is_tied(const HfReading *r)
{
    const Yaml *whole = yaml_get(r->whole, "tie_word_embeddings");
    if (whole && whole->type == YAML_BOOL) return whole->boolean;
    return r->c.tie_word_embeddings ? *r->c.tie_word_embeddings : r->family->is_tied;
}

/* Where there are none the expert that every token goes through is the feed-forward layer. */
static bool has_no_experts(const HfReading *r)
{
    const int64_t *n = r->c.num_local_experts;
    return r->family->options & HF_SHARED_ALONE && n && *n == 0;
}

static Error *read_decoder(HfReading *r)
{
    const HfConfig *c = &r->c;
    const unsigned flags = r->family->flags, options = r->family->options;
    Decoder *d = r->d;
    d->name = "huggingface_pretrained_model";
    d->block_class = r->family->block_class;
    if (options & HF_FALCON) TRY(hf_read_falcon(r));
    TRY(read_sizes(r));
    TRY(refuse(r));
    d->embedding_scale = embedding_scale(r);
    d->attention_scale = attention_scale(r);
    /* the class of Gemma 3 has the option and does not use it */
    if (r->family->attention_cap != 0)
        d->attention_cap =
            cap(r, "attn_logit_softcapping", c->attn_logit_softcapping, r->family->attention_cap);
    d->logit_cap =
        cap(r, "final_logit_softcapping", c->final_logit_softcapping, r->family->logit_cap);
    if (options & HF_MULTIPLIERS) read_multipliers(c, d);
    if (options & HF_LOGIT_SCALE) d->logit_divisor = unless_one(1 / c->logit_scale);
    d->scale_by_layer = flags & HF_GPT2 && c->scale_attn_by_inverse_layer_idx;
    d->is_tied = is_tied(r);
    d->learned_positions = flags & HF_GPT2;
    d->is_gated = !(flags & (HF_GPT2 | HF_PLAIN));
    d->residual = residual_of(r);
    d->attention_gate = flags & HF_AFMOE || options & HF_LINEAR ? GATE_FEATURE : GATE_NONE;
    read_biases(r);
    d->attention_sinks = options & HF_GPT_OSS;
    TRY(read_activation(r));
    TRY(bound_gates(r));
    TRY(read_dropout(r));
    read_norms(r);
    if (options & HF_LINEAR) TRY(hf_read_linear(r));
    if (options & HF_STATE_SPACE) TRY(hf_read_state_space(r));
    if (flags & HF_SPARSE && !has_no_experts(r)) TRY(hf_read_moe(r));
    return hf_read_layers(r);
}

static Dtype dtype_of(const HfReading *r)
{
    const Yaml *whole = yaml_get(r->whole, "dtype");
    if (!whole) whole = yaml_get(r->whole, "torch_dtype");
    const char *name = r->c.dtype                            ? r->c.dtype
                       : whole && whole->type == YAML_STRING ? whole->text
                                                             : "";
    if (strstr(name, "bfloat16")) return BF16;
    if (strstr(name, "float16")) return F16;
    return F32;
}

Error *hf_config_parse(Arena *a, const Yaml *root, const char *path, HfModel *out)
{
    HfReading r = { .arena = a, .path = path, .root = root, .whole = root };
    if (root->type != YAML_MAP) return error_new("%s: this is no JSON object", path);
    TRY(hf_find_family(&r));
    Problems problems = { .arena = a };
    FieldReader reader = { .arena = a, .problems = &problems };
    fields_fill(&reader, hf_config_fields, r.root, true, &r.c);
    TRY(problems_error(&problems));
    r.d = NEW(a, Decoder);
    TRY(read_decoder(&r));
    *out = (HfModel){ .family = r.family,
                      .decoder = r.d,
                      .dtype = dtype_of(&r),
                      .is_part = r.root != r.whole,
                      .n_ahead = hf_n_ahead(&r) };
    return hf_read_packing(&r, &out->packing);
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
