/* hf_config.c - reads config.json, in the spelling of transformers 4 and 5. */
#include "base/file.h"
#include "config/field_read.h"
#include "models/hf_config_parts.h"
#include <string.h>

Error *hf_unknown(const HfReading *r, const char *key, const char *allowed)
{
    const Yaml *v = yaml_get(r->root, key);
    if (!v) return error_new("%s: %s is missing; %s", yaml_place(r->arena, r->root), key, allowed);
    return error_new("%s: %s: %s is not known; %s", yaml_place(r->arena, v), key,
                     yaml_show(r->arena, v), allowed);
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
                  { "relu2", ACTIVATE_RELU_SQUARED } };
    const unsigned flags = r->family->flags;
    const bool is_gpt2 = flags & HF_GPT2, of_gemma = flags & HF_FROM_ONE;
    const bool is_newer = is_gpt2 || flags & HF_SANDWICH || (of_gemma && !r->c.hidden_act);
    const char *key = is_gpt2    ? "activation_function"
                      : is_newer ? "hidden_activation"
                                 : "hidden_act";
    const char *name = is_newer ? r->c.hidden_activation : r->c.hidden_act;
    if (!name) name = r->family->activation;
    /* the first Gemma files say gelu in hidden_act, and mean the form with tanh */
    if (of_gemma && !is_newer && !strcmp(name, "gelu")) name = r->family->activation;
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (!strcmp(names[i].name, name)) {
            r->d->activation = names[i].activation;
            return NULL;
        }
    return hf_unknown(r, key,
                      "known are gelu, gelu_python, gelu_new, gelu_fast, gelu_accurate, "
                      "gelu_pytorch_tanh, silu, swish, relu, relu2");
}

/* What sliding_window says; 0: no window. */
static Error *read_window(const HfReading *r, int64_t *out)
{
    const HfConfig *c = &r->c;
    const Yaml *v = yaml_get(r->root, "sliding_window");
    *out = r->family->window;
    if (v && v->type == YAML_INT && v->integer > 0)
        *out = v->integer;
    else if (v && v->type != YAML_NULL)
        return hf_unknown(r, "sliding_window", "allowed are a positive integer and null");
    else if (v)
        *out = 0;
    const bool is_asked = c->use_sliding_window && *c->use_sliding_window;
    const HfWindows kind = r->family->windows;
    const bool asks = kind == HF_WINDOW_UPPER || kind == HF_WINDOW_NO_ROPE ||
                      !strcmp(r->family->model_type, "qwen3_moe");
    if ((asks && !is_asked) || kind == HF_NO_WINDOW) *out = 0;
    return NULL;
}

static bool turns(const HfReading *r, int64_t i)
{
    const HfConfig *c = &r->c;
    if (!(r->family->flags & HF_NO_ROPE)) return !(r->family->flags & HF_GPT2);
    if (c->no_rope_layers.n) return c->no_rope_layers.item[i] != 0;
    return (i + 1) % c->no_rope_layer_interval != 0;
}

static Error *is_local(const HfReading *r, int64_t i, bool *out)
{
    const HfConfig *c = &r->c;
    const int64_t pattern =
        c->sliding_window_pattern ? *c->sliding_window_pattern : r->family->pattern;
    if (c->layer_types) {
        const char *type = i < c->layer_types->n ? c->layer_types->item[i] : "";
        *out = !strcmp(type, "sliding_attention");
        if (*out || !strcmp(type, "full_attention")) return NULL;
        return hf_unknown(r, "layer_types",
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
    case HF_WINDOW_NO_ROPE:
        *out = !turns(r, i);
        break;
    default:
        *out = true;
    }
    return NULL;
}

static bool is_sparse(const HfReading *r, int64_t i)
{
    const HfConfig *c = &r->c;
    if (!(r->family->flags & HF_SPARSE)) return false;
    for (int64_t k = 0; k < c->mlp_only_layers.n; k++)
        if (c->mlp_only_layers.item[k] == i) return false;
    return (i + 1) % c->decoder_sparse_step == 0;
}

static Error *read_layers(HfReading *r)
{
    Decoder *d = r->d;
    RopeScaling *rope = NEW_N(r->arena, RopeScaling, 2);
    DecoderLayer *layer = NEW_N(r->arena, DecoderLayer, d->n_layer);
    int64_t window;
    if (r->family->flags & HF_NO_ROPE && r->c.no_rope_layers.n &&
        r->c.no_rope_layers.n < d->n_layer)
        return hf_unknown(r, "no_rope_layers", "it must have a number for each layer");
    TRY(hf_read_ropes(r, &rope[0], &rope[1]));
    TRY(read_window(r, &window));
    for (int64_t i = 0; i < d->n_layer; i++) {
        bool local;
        TRY(is_local(r, i, &local));
        layer[i] = (DecoderLayer){ .window = local ? window : 0,
                                   .rope = &rope[local],
                                   .n_rope = turns(r, i) ? 1 : 0,
                                   .is_sparse = is_sparse(r, i) };
    }
    d->layer = layer;
    if (rope[0].kind == ROPE_DYNAMIC)
        d->sequence_length = (int64_t)(rope[0].factor * (double)rope[0].original);
    return NULL;
}

static Error *read_moe(HfReading *r)
{
    const HfConfig *c = &r->c;
    Moe *m = NEW(r->arena, Moe);
    const int64_t *n = c->num_local_experts ? c->num_local_experts : c->num_experts;
    const int64_t *hidden =
        c->moe_intermediate_size ? c->moe_intermediate_size : c->intermediate_size;
    if (!n) return hf_unknown(r, "num_experts", "a mixture of experts needs it");
    if (!hidden) return hf_unknown(r, "moe_intermediate_size", "a mixture of experts needs it");
    *m = (Moe){ .n_experts = *n,
                .top_k = c->num_experts_per_tok ? *c->num_experts_per_tok : 2,
                .hidden = *hidden,
                .normalize =
                    r->family->flags & HF_NORMALIZED || (c->norm_topk_prob && *c->norm_topk_prob),
                .aux_loss = c->router_aux_loss_coef,
                .activation = r->d->activation };
    if (m->top_k > m->n_experts)
        return hf_unknown(r, "num_experts_per_tok", "it is more than there are experts");
    if (c->router_jitter_noise > 0)
        return hf_unknown(r, "router_jitter_noise", "only 0.0 is: there is no noise in the router");
    r->d->moe = m;
    return NULL;
}

static const Norm *norm_of(HfReading *r, int64_t width)
{
    const HfConfig *c = &r->c;
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

static void read_norms(HfReading *r)
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
static Error *refuse(const HfReading *r)
{
    const HfConfig *c = &r->c;
    const Yaml *both = c->use_bidirectional_attention;
    if (c->quantization_config && c->quantization_config->type != YAML_NULL)
        return hf_unknown(r, "quantization_config", "only weights that are not packed can be read");
    if (both && both->type == YAML_BOOL && both->boolean)
        return hf_unknown(r, "use_bidirectional_attention", "only false and null are");
    if (c->partial_rotary_factor && *c->partial_rotary_factor != 1)
        return hf_unknown(r, "partial_rotary_factor", "only 1.0 is: whole heads turn");
    if (c->clip_qkv) return hf_unknown(r, "clip_qkv", "only null is: nothing bounds them");
    if (c->add_cross_attention) return hf_unknown(r, "add_cross_attention", "only false is");
    return NULL;
}

static Error *read_dropout(HfReading *r)
{
    const HfConfig *c = &r->c;
    const bool is_gpt2 = r->family->flags & HF_GPT2;
    const double *attention = is_gpt2 ? c->attn_pdrop : c->attention_dropout;
    const double otherwise = is_gpt2 ? 0.1 : 0;
    r->d->attention_dropout = attention ? *attention : otherwise;
    if (r->family->flags & HF_NO_DROPOUT && c->resid_pdrop && *c->resid_pdrop > 0)
        return hf_unknown(r, "resid_pdrop", "only 0.0 is");
    if (!is_gpt2) return NULL;
    r->d->dropout = c->resid_pdrop ? *c->resid_pdrop : otherwise;
    if ((c->embd_pdrop ? *c->embd_pdrop : otherwise) == r->d->dropout) return NULL;
    return hf_unknown(r, "embd_pdrop", "it must equal resid_pdrop");
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
    const int64_t n_key_heads = f->n_key_heads ? f->n_key_heads : d->n_head_q;
    d->n_head_kv = c->num_key_value_heads ? *c->num_key_value_heads : n_key_heads;
    d->sequence_length =
        c->max_position_embeddings ? *c->max_position_embeddings : f->max_positions;
    d->head_width = c->head_dim ? *c->head_dim : f->head_width;
    if (d->n_head_q % d->n_head_kv)
        return hf_unknown(r, "num_key_value_heads", "it must divide num_attention_heads");
    if (!d->head_width && d->width % d->n_head_q)
        return hf_unknown(r, "num_attention_heads", "it must divide hidden_size");
    if (!d->head_width) d->head_width = d->width / d->n_head_q;
    const int64_t *hidden = f->flags & HF_GPT2 ? c->n_inner : c->intermediate_size;
    if (!hidden && !(f->flags & HF_GPT2)) return hf_unknown(r, "intermediate_size", "it is needed");
    d->hidden = hidden ? *hidden : 4 * d->width;
    return NULL;
}

static double embedding_scale(const HfReading *r)
{
    if (!(r->family->flags & HF_SCALED_EMBEDDING)) return 0;
    return (float)sqrt((double)r->d->width); /* kept as a float there */
}

/* 0: 1/sqrt(head width) */
static double attention_scale(const HfReading *r)
{
    if (r->family->flags & HF_SANDWICH)
        return 1 / sqrt(r->c.query_pre_attn_scalar ? *r->c.query_pre_attn_scalar : 256);
    return r->c.scale_attn_weights ? 0 : 1;
}

/* null means none, silence what the class has. */
static double cap(const HfReading *r, const char *key, const double *given, double of_class)
{
    if (!(r->family->flags & HF_SANDWICH)) return 0;
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

/* The whole model decides, where it says so. */
static bool is_tied(const HfReading *r)
{
    const Yaml *whole = yaml_get(r->whole, "tie_word_embeddings");
    if (whole && whole->type == YAML_BOOL) return whole->boolean;
    return r->c.tie_word_embeddings ? *r->c.tie_word_embeddings : r->family->is_tied;
}

static Error *read_decoder(HfReading *r)
{
    const HfConfig *c = &r->c;
    const unsigned flags = r->family->flags;
    Decoder *d = r->d;
    d->name = "huggingface_pretrained_model";
    d->block_class = r->family->block_class;
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
    if (flags & HF_MULTIPLIERS) read_multipliers(c, d);
    d->scale_by_layer = flags & HF_GPT2 && c->scale_attn_by_inverse_layer_idx;
    d->is_tied = is_tied(r);
    d->learned_positions = flags & HF_GPT2;
    d->is_gated = !(flags & (HF_GPT2 | HF_PLAIN));
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
    *out = (HfModel){
        .family = r.family, .decoder = r.d, .dtype = dtype_of(&r), .is_part = r.root != r.whole
    };
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
