/* config.c - reads config.json, in the spelling of transformers 4 and 5. */
#include "base/file.h"
#include "models/hf/config_parts.h"
#include "ops/clamped_swiglu.h"
#include <string.h>

Error *hf_read_activation(const HfReading *r, const char *key, const char *name, Activation *out)
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
                  { "gelu_python_tanh", ACTIVATE_GELU_TANH },
                  { "quick_gelu", ACTIVATE_QUICK_GELU },
                  { "silu", ACTIVATE_SILU },
                  { "swish", ACTIVATE_SILU },
                  { "relu", ACTIVATE_RELU },
                  { "relu2", ACTIVATE_RELU_SQUARED },
                  { "xielu", ACTIVATE_XIELU } };
    const char *known = "known are";
    for (size_t i = 0; i < sizeof names / sizeof *names - !r->family->xielu; i++) {
        if (!strcmp(names[i].name, name)) {
            *out = names[i].activation;
            return NULL;
        }
        known = arena_printf(r->arena, "%s%s %s", known, i ? "," : "", names[i].name);
    }
    return hf_unknown(r, key, known);
}

static Error *read_activation(HfReading *r)
{
    const HfFamily *f = r->family;
    const bool of_gemma = f->scaled_embedding;
    const bool is_newer = f->soft_caps || (of_gemma && !r->c.hidden_act);
    const char *key = f->activation_key ? f->activation_key
                      : is_newer        ? "hidden_activation"
                                        : "hidden_act";
    const char *name = f->activation_key ? hf_text(r, key)
                       : is_newer        ? r->c.hidden_activation
                                         : r->c.hidden_act;
    if (!name) name = f->activation;
    /* the first Gemma files say gelu in hidden_act, and mean the form with tanh */
    if (of_gemma && !is_newer && !strcmp(name, "gelu")) name = f->activation;
    return hf_read_activation(r, key, name, &r->d->activation);
}

/* Its gates are bounded, always by the same numbers. */
static Error *bound_gates(HfReading *r)
{
    if (!r->family->bounded_gates) return NULL;
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
    const bool bare = f->no_norm_weight || r->bare_norms;
    const bool renamed = f->eps_key && yaml_get(r->root, f->eps_key);
    const char *key = renamed ? f->eps_key : "rms_norm_eps";
    const Norm n = { .type = f->layer_norm ? NORM_LAYER : NORM_PYTORCH_RMS,
                     .width = width,
                     .eps = (bare && f->layer_norm) || f->own_eps ? f->eps
                                                                  : hf_number(r->root, key, f->eps),
                     .has_weight = !bare,
                     .has_bias = f->norm_bias && !bare,
                     .from_one = f->from_one };
    return arena_copy(r->arena, &n, sizeof n);
}

static const Norm *head_norm_of(HfReading *r)
{
    Norm n = *norm_of(r, r->d->head_width);
    n.has_bias &= !r->family->norm_by_head;
    return arena_copy(r->arena, &n, sizeof n);
}

/* What a key decides, if it counts in the class. */
static bool option(bool counts, const bool *given, bool otherwise)
{
    return counts && (given ? *given : otherwise);
}

static void read_norms(HfReading *r)
{
    const HfFamily *f = r->family;
    Decoder *d = r->d;
    const Norm *n = norm_of(r, d->width);
    d->head_norm = d->usual_norm = n;
    if (f->embedding_norm) d->embedding_norm = n;
    if (!f->post_norm) d->attention_norm = d->ffn_norm = n;
    if (d->residual == RESIDUAL_ONE_NORM) d->ffn_norm = NULL;
    const bool behind =
        f->post_norm || f->sandwich || (f->keys.use_post_norm && r->c.use_post_norm);
    if (behind) d->attention_post_norm = d->ffn_post_norm = n;
    if (f->norm_inside) d->inner_norm = n;
    const bool asked = (f->keys.use_qk_norm && r->c.use_qk_norm) ||
                       option(f->keys.qk_layernorm, r->c.qk_layernorm, f->qk_layernorm);
    if (f->qk_norm || asked) d->qk_norm = head_norm_of(r);
    d->qkv_clip = f->keys.clip_qkv && r->c.clip_qkv ? *r->c.clip_qkv : 0;
    d->qk_norm_by_head = f->norm_by_head && d->qk_norm;
    if (f->qk_norm_width) d->qk_norm_width = norm_of(r, d->head_width * d->n_head_q);
    d->qk_norm_before_rope = !f->norm_after_rope;
}

/* What transformers would compute otherwise than is done here. */
static Error *refuse(const HfReading *r)
{
    const HfConfig *c = &r->c;
    const Yaml *both = c->use_bidirectional_attention;
    if (both && both->type == YAML_BOOL && both->boolean)
        return hf_unknown(r, "use_bidirectional_attention", "only false and null are");
    const HfFamily *f = r->family;
    if (c->clip_qkv && !f->keys.clip_qkv)
        return hf_unknown(r, "clip_qkv", "only null is: the class bounds nothing");
    if (c->qk_layernorm && *c->qk_layernorm && !f->keys.qk_layernorm)
        return hf_unknown(r, "qk_layernorm", "only false is: no norms of queries and keys");
    const bool has_norm = f->keys.use_qk_norm || f->qk_norm || f->qk_norm_width;
    if (c->use_qk_norm && !has_norm)
        return hf_unknown(r, "use_qk_norm", "only false is: no norms of queries and keys");
    if (c->add_cross_attention) return hf_unknown(r, "add_cross_attention", "only false is");
    return NULL;
}

static Error *read_dropout(HfReading *r)
{
    const HfConfig *c = &r->c;
    const HfFamily *f = r->family;
    Decoder *d = r->d;
    d->attention_dropout = c->attention_dropout ? *c->attention_dropout : f->dropout;
    if (!f->dropout_key) return NULL;
    const double of_layers = hf_number(r->root, f->dropout_key, f->dropout);
    if (f->no_dropout) return of_layers > 0 ? hf_unknown(r, f->dropout_key, "only 0.0 is") : NULL;
    d->dropout = of_layers;
    if (f->embedding_dropout_key)
        d->embedding_dropout = hf_number(r->root, f->embedding_dropout_key, f->dropout);
    return NULL;
}

static Error *read_heads(HfReading *r)
{
    const HfConfig *c = &r->c;
    const HfFamily *f = r->family;
    Decoder *d = r->d;
    d->n_head_q = c->num_attention_heads ? *c->num_attention_heads : f->n_heads;
    if (!d->n_head_q) return hf_unknown(r, "num_attention_heads", "it is needed");
    d->n_head_kv = f->n_key_heads ? f->n_key_heads : d->n_head_q;
    if (c->num_key_value_heads && !f->no_groups) d->n_head_kv = *c->num_key_value_heads;
    d->head_width = c->head_dim ? *c->head_dim : f->head_width;
    if (d->n_head_q % d->n_head_kv)
        return hf_unknown(r, "num_key_value_heads", "it must divide num_attention_heads");
    if (f->sharded_heads && d->width % HF_SHARDS)
        return hf_unknown(r, "n_embd", "it must be a multiple of 4: files have heads in 4 shards");
    if (f->latent) TRY(hf_read_latent(r));
    if (!d->head_width && d->width % d->n_head_q)
        return hf_unknown(r, "num_attention_heads", "it must divide hidden_size");
    if (!d->head_width) d->head_width = d->width / d->n_head_q;
    if (f->heads_fill_width && d->head_width * d->n_head_q != d->width)
        return hf_unknown(r, "head_dim", "the class has hidden_size / num_attention_heads");
    return NULL;
}

static Error *read_sizes(HfReading *r)
{
    const HfConfig *c = &r->c;
    const HfFamily *f = r->family;
    Decoder *d = r->d;
    if (!c->hidden_size) return hf_unknown(r, "hidden_size", "it is needed");
    d->vocab_size = c->vocab_size ? *c->vocab_size : f->vocab_size;
    d->width = c->hidden_size;
    d->n_layer = (c->num_hidden_layers ? *c->num_hidden_layers : 0) * hf_blocks_per_layer(f);
    if (f->one_layer) TRY(hf_read_blocks(r));
    if (!d->vocab_size) return hf_unknown(r, "vocab_size", "it is needed");
    if (!d->n_layer) return hf_unknown(r, "num_hidden_layers", "it is needed");
    d->sequence_length =
        c->max_position_embeddings ? *c->max_position_embeddings : f->max_positions;
    if (f->no_attention) return NULL;
    TRY(read_heads(r));
    const int64_t *hidden = c->intermediate_size;
    if (f->short_conv && c->block_ff_dim) hidden = c->block_ff_dim;
    if (f->no_dense) hidden = hf_count(r, "moe_intermediate_size");
    if (!hidden)
        return hf_unknown(r, f->no_dense ? "moe_intermediate_size" : "intermediate_size",
                          "it is needed");
    d->hidden = *hidden;
    if (f->keys.block_ff_dim) TRY(hf_adjust_hidden(r));
    if (f->shared_alone)
        d->hidden = c->shared_intermediate_size ? *c->shared_intermediate_size : 1024;
    if (f->shared_alone && !d->hidden)
        return hf_unknown(r, "shared_intermediate_size", "the class needs its expert");
    return NULL;
}

static double embedding_scale(const HfReading *r)
{
    if (r->family->keys.mup_enabled && r->c.mup_enabled) return sqrt((double)r->d->width);
    if (!r->family->scaled_embedding) return 0;
    return (float)sqrt((double)r->d->width); /* kept as a float there */
}

/* 0: 1/sqrt(head width) */
static double attention_scale(const HfReading *r)
{
    if (r->family->unscaled) return 1;
    if (r->family->soft_caps)
        return 1 / sqrt(r->c.query_pre_attn_scalar ? *r->c.query_pre_attn_scalar : 256);
    return 0;
}

/* null means none, silence what the class has. */
static double cap(const HfReading *r, const char *key, const double *given, double of_class)
{
    if (!r->family->soft_caps && of_class == 0) return 0;
    if (given) return *given;
    return yaml_get(r->root, key) ? 0 : of_class;
}

static double unless_one(double x)
{
    return x == 1 ? 0 : x;
}

static Error *read_multipliers(HfReading *r)
{
    const HfConfig *c = &r->c;
    const bool usual = r->family->logits_multiplied;
    const double *of_scores = c->attention_multiplier;
    Decoder *d = r->d;
    if (!of_scores && !usual && yaml_get(r->root, "attention_multiplier"))
        return hf_unknown(r, "attention_multiplier", "allowed is a number above 0");
    d->embedding_scale = unless_one(c->embedding_multiplier);
    d->attention_scale = of_scores ? *of_scores : usual ? 0 : 1;
    d->residual_scale = unless_one(c->residual_multiplier);
    d->logit_divisor = unless_one(usual ? 1 / c->logits_scaling : c->logits_scaling);
    return NULL;
}

static Error *read_logit_scale(HfReading *r)
{
    const double x = r->c.logit_scale ? hf_number(r->root, "logit_scale", 0) : 0.0625;
    if (!(x > 0)) return hf_unknown(r, "logit_scale", "allowed is a number above 0");
    r->d->logit_divisor = unless_one(1 / x);
    return NULL;
}

static Residual residual_of(const HfReading *r)
{
    const HfFamily *f = r->family;
    const bool *given = r->c.use_parallel_residual;
    if (r->d->residual != RESIDUAL_SERIAL) return r->d->residual; /* options of its own said so */
    const bool parallel = f->keys.use_parallel_residual && given ? *given : f->side_by_side;
    if (!parallel) return RESIDUAL_SERIAL;
    return f->one_norm ? RESIDUAL_ONE_NORM : RESIDUAL_TWO_NORMS;
}

static void read_biases(const HfReading *r)
{
    const HfConfig *c = &r->c;
    const HfFamily *f = r->family;
    const HfKeys *k = &f->keys;
    Decoder *d = r->d;
    const bool attention = option(k->attention_bias, c->attention_bias, f->biased);
    const bool all = f->all_biases || option(k->use_bias, c->use_bias, f->biased);
    d->qkv_bias =
        all || attention || f->qkv_bias || option(k->use_qkv_bias, c->use_qkv_bias, f->biased);
    d->out_bias = all || f->out_bias || (attention && !f->qkv_alone) ||
                  option(k->attention_out_bias, c->attention_out_bias, false);
    d->ffn_bias = all || f->ffn_bias || option(k->mlp_bias, c->mlp_bias, f->ffn_biased);
    d->head_bias = f->head_bias || (k->lm_head_bias && c->lm_head_bias);
}

/* The whole model decides, where it says so. */
static bool is_tied(const HfReading *r)
{
    if (r->family->short_conv && r->c.tie_embedding) return *r->c.tie_embedding;
    const Yaml *whole = yaml_get(r->whole, "tie_word_embeddings");
    if (whole && whole->type == YAML_BOOL) return whole->boolean;
    return r->c.tie_word_embeddings ? *r->c.tie_word_embeddings : r->family->is_tied;
}

/* No block is a mixture; or where there are none the expert that every token goes through is the
 * feed-forward layer. */
static bool has_no_experts(const HfReading *r)
{
    const int64_t *n = r->c.num_local_experts;
    if (r->no_experts) return true;
    if (r->blocks) return !strchr(r->blocks, 'E');
    if (r->family->keys.layer_periods) return *(n ? n : r->c.num_experts) == 1;
    return r->family->shared_alone && n && *n == 0;
}

static Error *read_own(HfReading *r, const HfDialect *dialect)
{
    if (dialect->fields) {
        r->own = arena_alloc(r->arena, dialect->size);
        TRY(hf_read_fields(r, dialect->fields, r->own));
    }
    return dialect->read ? dialect->read(r) : NULL;
}

static Error *read_decoder(HfReading *r)
{
    const HfConfig *c = &r->c;
    const HfFamily *f = r->family;
    Decoder *d = r->d;
    d->name = "huggingface_pretrained_model";
    d->block_class = f->block_class;
    if (f->dialect) TRY(read_own(r, f->dialect));
    if (d->alibi == 0) d->alibi = f->alibi;
    TRY(read_sizes(r));
    TRY(refuse(r));
    d->embedding_scale = embedding_scale(r);
    if (d->attention_scale == 0) d->attention_scale = attention_scale(r);
    /* the class of Gemma 3 has the option and does not use it */
    if (f->attention_cap != 0)
        d->attention_cap =
            cap(r, "attn_logit_softcapping", c->attn_logit_softcapping, f->attention_cap);
    d->logit_cap = cap(r, "final_logit_softcapping", c->final_logit_softcapping, f->logit_cap);
    if (f->keys.multipliers) TRY(read_multipliers(r));
    if (f->keys.scale_depth) hf_read_scales(r);
    if (f->keys.logit_scale) TRY(read_logit_scale(r));
    d->is_tied = is_tied(r);
    if (d->is_tied && f->never_tied)
        return hf_unknown(r, "tie_word_embeddings", "only false is: the class does not tie them");
    d->learned_positions = f->learned_positions;
    d->unused_positions = f->unused_positions;
    d->is_gated = !f->plain;
    d->residual = residual_of(r);
    d->attention_gate = f->gated_attention ? GATE_FEATURE : GATE_NONE;
    read_biases(r);
    d->attention_sinks = f->attention_sinks;
    TRY(read_activation(r));
    TRY(bound_gates(r));
    TRY(read_dropout(r));
    read_norms(r);
    if (f->dialect && f->dialect->adjust) TRY(f->dialect->adjust(r));
    if (f->both_mixers) TRY(hf_read_multipliers(r));
    if (f->linear) TRY(hf_read_linear(r));
    if (f->short_conv) TRY(hf_read_conv(r));
    if (f->state_space) TRY(hf_read_state_space(r));
    if (f->selective) TRY(hf_read_selective(r));
    if (f->keys.layer_periods) TRY(hf_read_periods(r));
    if (f->sparse && !has_no_experts(r)) TRY(hf_read_moe(r));
    return hf_read_layers(r);
}

/* Where intermediate_size has a number for each layer, the first one stands for all so long. */
static Error *take_hidden(HfReading *r)
{
    static const char key[] = "intermediate_size";
    const Yaml *list = yaml_get(r->root, key);
    if (!r->family->hidden_by_layer || !list || list->type != YAML_LIST) return NULL;
    for (int64_t i = 0; i < list->n; i++)
        if (list->item[i]->type != YAML_INT || list->item[i]->integer < 1)
            return hf_unknown(r, key, "each is a whole number of at least 1");
    if (!list->n) return hf_unknown(r, key, "it must have a number for each layer");
    Yaml *root = yaml_copy(r->arena, r->root, NULL);
    hf_set_option(r->arena, root, key, list->item[0]);
    r->hidden = list;
    r->root = root;
    return NULL;
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
    const bool is_part = r.root != r.whole;
    TRY(take_hidden(&r));
    TRY(hf_read_fields(&r, hf_config_fields, &r.c));
    r.d = NEW(a, Decoder);
    TRY(read_decoder(&r));
    *out = (HfModel){ .family = r.family,
                      .of_files = r.of_files ? r.of_files : r.family,
                      .decoder = r.d,
                      .dtype = dtype_of(&r),
                      .is_part = is_part || r.of_files || r.rows_beyond,
                      .layer_of = r.layer_of,
                      .base_layers = r.base_layers,
                      .rows_beyond = r.rows_beyond,
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
