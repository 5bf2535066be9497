/* hf_write.c - config.json from a description. What is written is read again and compared, so that
 * a class is only taken when it has every option of the model. */
#include "models/hf_write.h"
#include "base/json.h"
#include "models/decoder_difference.h"
#include <string.h>

/* A JSON object that grows. */
static void key(Text *t, const char *name)
{
    text_printf(t, "%s\n  \"%s\": ", t->len > 1 ? "," : "", name);
}

static void put_text(Text *t, const char *name, const char *value)
{
    key(t, name);
    text_json_string(t, str_of(value));
}

static void put_int(Text *t, const char *name, int64_t value)
{
    key(t, name);
    text_printf(t, "%lld", (long long)value);
}

static void put_double(Text *t, const char *name, double value)
{
    key(t, name);
    text_json_double(t, value);
}

static void put_bool(Text *t, const char *name, bool value)
{
    key(t, name);
    text_puts(t, value ? "true" : "false");
}

static void put_doubles(Text *t, const char *name, const FloatList *list)
{
    key(t, name);
    for (int64_t i = 0; i < list->n; i++) {
        text_puts(t, i ? ", " : "[");
        text_json_double(t, list->item[i]);
    }
    text_putc(t, ']');
}

/* null: none */
static void put_optional(Text *t, const char *name, double value)
{
    if (value > 0)
        put_double(t, name, value);
    else {
        key(t, name);
        text_puts(t, "null");
    }
}

static void put_window(Text *t, int64_t window)
{
    key(t, "sliding_window");
    if (window)
        text_printf(t, "%lld", (long long)window);
    else
        text_puts(t, "null");
}

static const char *activation_name(const Decoder *d)
{
    static const char *const names[] = { "gelu", "gelu_pytorch_tanh", "silu", "relu", "relu2" };
    return names[d->activation];
}

static const char *dtype_text(Dtype t)
{
    return t == BF16 ? "bfloat16" : t == F16 ? "float16" : "float32";
}

static void put_class(Text *t, const char *model_type, const char *class, Dtype dtype)
{
    key(t, "architectures");
    text_printf(t, "[\"%s\"]", class);
    put_text(t, "model_type", model_type);
    put_text(t, "torch_dtype", dtype_text(dtype));
    static const char *const ids[] = { "bos_token_id", "eos_token_id", "pad_token_id" };
    for (int i = 0; i < 3; i++) {
        key(t, ids[i]);
        text_puts(t, "null");
    }
}

/* An object of its own; with the base, as transformers 5 has it. Phi 3 wants of longrope no more
 * than the factors in it. */
static void put_rope(Text *t, const char *name, const RopeScaling *s, const HfFamily *f,
                     bool with_base)
{
    const bool is_phi3 = f->flags & HF_PHI3;
    Text r = { 0 };
    text_putc(&r, '{');
    if (with_base) put_double(&r, "rope_theta", s->base);
    put_text(&r, "rope_type", s->kind == ROPE_PLAIN ? "default" : rope_scaling_choices[s->kind]);
    if (s->kind == ROPE_LONG) {
        put_doubles(&r, "short_factor", &s->short_factors);
        put_doubles(&r, "long_factor", &s->long_factors);
        if (!is_phi3) put_double(&r, "attention_factor", s->attention);
    } else if (s->kind != ROPE_PLAIN)
        put_double(&r, "factor", s->factor);
    if (s->kind == ROPE_LLAMA3 || s->kind == ROPE_YARN || (s->kind == ROPE_LONG && !is_phi3))
        put_int(&r, "original_max_position_embeddings", s->original);
    if (s->kind == ROPE_LLAMA3) {
        put_double(&r, "low_freq_factor", s->low_freq);
        put_double(&r, "high_freq_factor", s->high_freq);
    }
    if (s->kind == ROPE_YARN) {
        put_double(&r, "beta_fast", s->beta_fast);
        put_double(&r, "beta_slow", s->beta_slow);
        put_double(&r, "attention_factor", s->attention);
        put_bool(&r, "truncate", s->truncate);
    }
    key(t, name);
    text_add(t, r.ptr, r.len);
    text_putc(t, '}');
    text_free(&r);
}

static void put_no_rope_layers(Text *t, const Decoder *d)
{
    key(t, "no_rope_layers");
    for (int64_t i = 0; i < d->n_layer; i++)
        text_printf(t, "%s%d", i ? ", " : "[", d->layer[i].n_rope > 0);
    text_putc(t, ']');
}

/* A layer with a window, or NULL. */
static const DecoderLayer *local_layer(const Decoder *d)
{
    int64_t i = d->n_layer - 1;
    while (i >= 0 && !d->layer[i].window) i--;
    return i < 0 ? NULL : &d->layer[i];
}

/* A layer whose positions turn, one without a window if there is one; NULL: there is none. */
static const DecoderLayer *turning_layer(const Decoder *d)
{
    const DecoderLayer *found = NULL;
    for (int64_t i = 0; i < d->n_layer; i++)
        if (d->layer[i].n_rope && (!found || !d->layer[i].window)) found = &d->layer[i];
    return found;
}

/* A number that gives the width again: there the product is cut to an integer. */
static double turning_share(int64_t width, int64_t head)
{
    const double share = width ? (double)width / (double)head : 1;
    return (int64_t)(share * (double)head) < width ? nextafter(share, 1) : share;
}

static void put_layers(Text *t, const Decoder *d, const HfFamily *f)
{
    const DecoderLayer *local = local_layer(d), *full = turning_layer(d);
    /* classes that have both kinds of layers want a window, even where none has it */
    const bool needs = f->windows == HF_WINDOW_ALTERNATING || f->windows == HF_WINDOW_PATTERN ||
                       f->windows == HF_WINDOW_ROPE;
    put_window(t, local ? local->window : needs ? f->window : 0);
    if (local) put_bool(t, "use_sliding_window", true);
    if (f->windows > HF_WINDOW_EACH) {
        key(t, "layer_types");
        for (int64_t i = 0; i < d->n_layer; i++)
            text_printf(t, "%s\"%s_attention\"", i ? ", " : "[",
                        d->layer[i].window ? "sliding" : "full");
        text_putc(t, ']');
    }
    if (f->options & HF_NO_ROPE_LAYERS) put_no_rope_layers(t, d);
    if (!full) return;
    put_double(t, f->theta_key ? f->theta_key : "rope_theta", full->rope->base);
    if (f->rotary_share > 0)
        put_double(t, f->share_key ? f->share_key : "partial_rotary_factor",
                   turning_share(full->rope->width, d->head_width));
    if (full->rope->kind == ROPE_LONG && f->flags & HF_PHI3)
        put_int(t, "original_max_position_embeddings", full->rope->original);
    if (full->rope->kind != ROPE_PLAIN) put_rope(t, "rope_scaling", full->rope, f, false);
    if (f->windows != HF_WINDOW_PATTERN || !local || !local->n_rope) return;
    if (f->local_theta != 0) {
        put_double(t, "rope_local_base_freq", local->rope->base);
        return;
    }
    Text both = { 0 };
    text_putc(&both, '{');
    put_rope(&both, "full_attention", full->rope, f, true);
    put_rope(&both, "sliding_attention", local->rope, f, true);
    key(t, "rope_parameters");
    text_add(t, both.ptr, both.len);
    text_putc(t, '}');
    text_free(&both);
}

/* Of layers that are sparse from one on. */
static void put_sigmoid_router(Text *t, const Decoder *d, const HfFamily *f)
{
    const Moe *m = d->moe;
    const bool is_afmoe = f->flags & HF_AFMOE;
    int64_t first = 0;
    while (first < d->n_layer && !d->layer[first].is_sparse) first++;
    put_int(t, is_afmoe ? "num_experts" : "n_routed_experts", m->n_experts);
    put_int(t, is_afmoe ? "num_shared_experts" : "n_shared_experts", m->shared_hidden / m->hidden);
    put_int(t, "num_experts_per_tok", m->top_k);
    put_int(t, "moe_intermediate_size", m->hidden);
    put_int(t, is_afmoe ? "num_dense_layers" : "first_k_dense_replace", first);
    put_double(t, is_afmoe ? "route_scale" : "routed_scaling_factor",
               m->factor != 0 ? m->factor : 1);
    if (is_afmoe) return;
    put_bool(t, "norm_topk_prob", m->normalize);
    put_int(t, "n_group", 1);
    put_int(t, "topk_group", 1);
}

static void put_moe(Text *t, const Decoder *d)
{
    const Moe *m = d->moe;
    bool first = true;
    put_int(t, "num_local_experts", m->n_experts);
    put_int(t, "num_experts", m->n_experts);
    put_int(t, "num_experts_per_tok", m->top_k);
    put_int(t, "moe_intermediate_size", m->hidden);
    if (m->shared_hidden) put_int(t, "shared_expert_intermediate_size", m->shared_hidden);
    put_bool(t, "norm_topk_prob", m->normalize);
    put_double(t, "router_aux_loss_coef", m->aux_loss);
    key(t, "mlp_only_layers");
    text_putc(t, '[');
    for (int64_t i = 0; i < d->n_layer; i++) {
        if (d->layer[i].is_sparse) continue;
        text_printf(t, "%s%lld", first ? "" : ", ", (long long)i);
        first = false;
    }
    text_putc(t, ']');
}

static void put_multipliers(Text *t, const Decoder *d)
{
    put_double(t, "embedding_multiplier", d->embedding_scale != 0 ? d->embedding_scale : 1);
    put_double(t, "attention_multiplier", decoder_attention_scale(d));
    put_double(t, "residual_multiplier", d->residual_scale != 0 ? d->residual_scale : 1);
    put_double(t, "logits_scaling", d->logit_divisor != 0 ? d->logit_divisor : 1);
}

static void put_dropout(Text *t, const Decoder *d, const HfFamily *f)
{
    const char *of_layers = f->dropout_key, *embedding = f->embedding_dropout_key;
    if (!of_layers) return;
    put_double(t, of_layers, d->dropout);
    if (embedding && strcmp(embedding, of_layers) != 0)
        put_double(t, embedding, d->embedding_dropout);
}

static void put_llama(Text *t, const Decoder *d, const HfFamily *f)
{
    const bool all_sparse = f->flags & HF_ALL_SPARSE;
    put_int(t, "vocab_size", d->vocab_size);
    put_int(t, "hidden_size", d->width);
    put_int(t, "intermediate_size", all_sparse && d->moe ? d->moe->hidden : d->hidden);
    put_int(t, "num_hidden_layers", d->n_layer);
    put_int(t, "num_attention_heads", d->n_head_q);
    put_int(t, "num_key_value_heads", d->n_head_kv);
    put_int(t, "head_dim", d->head_width);
    const DecoderLayer *turning = turning_layer(d);
    const RopeScaling *s = turning ? turning->rope : NULL;
    const bool grows = s && s->kind == ROPE_DYNAMIC;
    put_int(t, "max_position_embeddings", grows ? s->original : d->sequence_length);
    put_double(t, f->eps_key ? f->eps_key : "rms_norm_eps", d->head_norm->eps);
    if (f->flags & HF_SCALED_EMBEDDING) put_text(t, "hidden_activation", activation_name(d));
    if (!(f->flags & HF_SOFT_CAPS)) put_text(t, "hidden_act", activation_name(d));
    put_bool(t, "tie_word_embeddings", d->is_tied);
    put_bool(t, "attention_bias", d->qkv_bias && !(f->flags & HF_QKV_BIAS));
    put_bool(t, "mlp_bias", d->ffn_bias);
    if (f->options & HF_USE_BIAS) put_bool(t, "use_bias", d->ffn_bias);
    if (f->options & HF_USE_QKV_BIAS)
        put_bool(t, f->flags & HF_BIASED ? "qkv_bias" : "use_qkv_bias", d->qkv_bias);
    if (f->options & HF_PARALLEL_RESIDUAL)
        put_bool(t, "use_parallel_residual", d->residual != RESIDUAL_SERIAL);
    if (f->options & HF_LOGIT_SCALE)
        put_double(t, "logit_scale", d->logit_divisor != 0 ? 1 / d->logit_divisor : 1);
    if (f->options & HF_OUT_BIAS) put_bool(t, "attention_out_bias", d->out_bias);
    put_dropout(t, d, f);
    put_double(t, "attention_dropout", d->attention_dropout);
    if (f->flags & HF_SOFT_CAPS) {
        const double scale = d->attention_scale, of = scale != 0 ? rint(1 / (scale * scale)) : 0;
        put_int(t, "query_pre_attn_scalar", /* an integer there */
                of >= 1 && of <= 2147483647 ? (int64_t)of : d->head_width);
        put_optional(t, "attn_logit_softcapping", d->attention_cap);
        put_optional(t, "final_logit_softcapping", d->logit_cap);
    }
    if (f->options & HF_MULTIPLIERS) put_multipliers(t, d);
    put_layers(t, d, f);
    if (f->flags & HF_AFMOE) put_bool(t, "mup_enabled", d->embedding_scale != 0);
    if (f->options & HF_USE_QK_NORM) put_bool(t, "use_qk_norm", d->qk_norm);
    if (!(f->flags & HF_SPARSE) || !d->moe) return;
    if (f->flags & HF_SIGMOID_ROUTER)
        put_sigmoid_router(t, d, f);
    else
        put_moe(t, d);
}

static void put_gpt2(Text *t, const Decoder *d, const HfFamily *f)
{
    put_int(t, "vocab_size", d->vocab_size);
    put_int(t, "n_embd", d->width);
    put_int(t, "n_layer", d->n_layer);
    put_int(t, "n_head", d->n_head_q);
    put_int(t, "n_inner", d->hidden);
    put_int(t, "n_positions", d->sequence_length);
    put_double(t, f->eps_key, d->head_norm->eps);
    put_text(t, "activation_function",
             d->activation == ACTIVATE_GELU_TANH ? "gelu_new" : activation_name(d));
    put_bool(t, "tie_word_embeddings", d->is_tied);
    put_double(t, "attn_pdrop", d->attention_dropout);
    put_dropout(t, d, f);
    put_bool(t, "scale_attn_weights", d->attention_scale != 1);
    put_bool(t, "scale_attn_by_inverse_layer_idx", d->scale_by_layer);
}

static void write_as(const Decoder *d, const HfFamily *f, Dtype dtype, Text *out)
{
    text_clear(out);
    text_putc(out, '{');
    put_class(out, f->model_type, f->class_name, dtype);
    if (f->flags & HF_GPT2)
        put_gpt2(out, d, f);
    else
        put_llama(out, d, f);
    text_puts(out, "\n}\n");
}

/* What is in the way of the family; NULL: nothing. */
static const char *obstacle(Arena *a, const Decoder *d, const HfFamily *f, Dtype dtype, Text *out)
{
    Yaml *root;
    HfModel m;
    if (f->flags & HF_DIVIDED && d->width % d->n_head_q) return "width: no multiple of the heads";
    write_as(d, f, dtype, out);
    Error *e = yaml_parse(a, (Str){ arena_string(a, out->ptr), out->len }, "config.json", &root);
    if (!e) e = hf_config_parse(a, root, "config.json", &m);
    const char *text = e ? arena_string(a, error_text(e)) : decoder_difference(a, d, m.decoder);
    error_free(e);
    return text;
}

Error *hf_config_write(Arena *a, const Decoder *d, Dtype dtype, const HfFamily *wanted,
                       const HfFamily **family, Text *out)
{
    *family = wanted;
    if (wanted && !obstacle(a, d, wanted, dtype, out)) return NULL;
    const HfFamily *closest = hf_family_find(d->learned_positions ? "gpt2" : "llama");
    if (d->moe) closest = hf_family_find("mixtral");
    for (const HfFamily *f = hf_families; f->model_type; f++) {
        if (obstacle(a, d, f, dtype, out)) continue;
        *family = f;
        return NULL;
    }
    return error_new("no standard class of transformers computes what the model does; the closest "
                     "is %s, but for %s",
                     closest->class_name, obstacle(a, d, closest, dtype, out));
}

/* What the original's class has, with the model's own sizes and its one epsilon. */
static const char *custom_obstacle(Arena *a, const Decoder *d)
{
    Decoder class = *d;
    class.attention_norm = class.ffn_norm = class.head_norm;
    class.attention_post_norm = class.ffn_post_norm = class.qk_norm = class.qk_norm_width = NULL;
    class.learned_positions = false;
    class.is_gated = true;
    class.activation = ACTIVATE_SILU;
    class.out_bias = class.ffn_bias = d->qkv_bias;
    class.moe = NULL;
    class.residual = RESIDUAL_SERIAL;
    class.attention_gate = GATE_NONE;
    class.scale_by_layer = false;
    class.embedding_scale = class.attention_scale = class.attention_cap = class.logit_cap = 0;
    class.residual_scale = class.logit_divisor = 0;
    if (d->head_norm->type != NORM_LAYER) return "norm in front of the head: an RMS norm";
    for (int64_t i = 0; i < d->n_layer; i++)
        if (d->layer[i].n_rope != 1 || d->layer[i].rope->kind != ROPE_PLAIN ||
            d->layer[i].rope->width || d->layer[i].window)
            return "positions: there is not one rotary transform";
    return decoder_difference(a, d, &class);
}

Error *hf_custom_config_write(Arena *a, const Decoder *d, Dtype dtype, const HfFamily **family,
                              Text *out)
{
    const char *option = custom_obstacle(a, d);
    if (option)
        return error_new(
            "the original's own class (modalities-gpt2) lacks an option of the model: %s", option);
    *family = hf_family_find("llama");
    text_clear(out);
    text_putc(out, '{');
    put_class(out, "modalities-gpt2", "GPT2ForCausalLM", dtype);
    key(out, "auto_map");
    text_puts(out, "{\"AutoConfig\": \"configuration_gpt2.GPT2Config\", "
                   "\"AutoModel\": \"modeling_gpt2.GPT2Model\", "
                   "\"AutoModelForCausalLM\": \"modeling_gpt2.GPT2ForCausalLM\"}");
    put_llama(out, d, *family);
    put_double(out, "layer_norm_eps", d->head_norm->eps);
    put_bool(out, "layer_norm_elementwise_affine", d->head_norm->has_weight);
    put_bool(out, "layer_norm_bias", d->head_norm->has_bias);
    text_puts(out, "\n}\n");
    return NULL;
}
