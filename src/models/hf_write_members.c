/* hf_write_members.c - the members of config.json that say what a description does. */
#include "models/hf_write_members.h"
#include "base/json.h"
#include "models/hf_source.h"
#include <string.h>

/* A JSON object that grows. */
void hf_put_key(Text *t, const char *name)
{
    text_printf(t, "%s\n  \"%s\": ", t->len > 1 ? "," : "", name);
}

static void put_text(Text *t, const char *name, const char *value)
{
    hf_put_key(t, name);
    text_json_string(t, str_of(value));
}

static void put_int(Text *t, const char *name, int64_t value)
{
    hf_put_key(t, name);
    text_printf(t, "%lld", (long long)value);
}

void hf_put_double(Text *t, const char *name, double value)
{
    hf_put_key(t, name);
    text_json_double(t, value);
}

void hf_put_bool(Text *t, const char *name, bool value)
{
    hf_put_key(t, name);
    text_puts(t, value ? "true" : "false");
}

static void put_doubles(Text *t, const char *name, const FloatList *list)
{
    hf_put_key(t, name);
    for (int64_t i = 0; i < list->n; i++) {
        text_puts(t, i ? ", " : "[");
        text_json_double(t, list->item[i]);
    }
    text_putc(t, ']');
}

static void put_null(Text *t, const char *name)
{
    hf_put_key(t, name);
    text_puts(t, "null");
}

/* 0: none, which is null; likewise below. */
static void put_optional(Text *t, const char *name, double value)
{
    if (value > 0)
        hf_put_double(t, name, value);
    else
        put_null(t, name);
}

static void put_optional_int(Text *t, const char *name, int64_t value)
{
    if (value > 0)
        put_int(t, name, value);
    else
        put_null(t, name);
}

static const char *activation_name(const Decoder *d)
{
    static const char *const names[] = {
        "gelu", "gelu_pytorch_tanh", "silu", "relu", "relu2", "xielu", "silu"
    };
    return names[d->activation];
}

static const char *dtype_text(Dtype t)
{
    return t == BF16 ? "bfloat16" : t == F16 ? "float16" : "float32";
}

void hf_put_class(Text *t, const char *model_type, const char *class, Dtype dtype)
{
    hf_put_key(t, "architectures");
    text_printf(t, "[\"%s\"]", class);
    put_text(t, "model_type", model_type);
    put_text(t, "torch_dtype", dtype_text(dtype));
    static const char *const ids[] = { "bos_token_id", "eos_token_id", "pad_token_id" };
    for (int i = 0; i < 3; i++) put_null(t, ids[i]);
}

/* An object of its own; with the base, as transformers 5 has it. Phi 3 wants of longrope no more
 * than the factors in it. */
static void put_rope(Text *t, const char *name, const RopeScaling *s, const HfFamily *f,
                     bool with_base, double mscale)
{
    const bool is_phi3 = f->phi3_rope;
    Text r = { 0 };
    text_putc(&r, '{');
    if (with_base) hf_put_double(&r, "rope_theta", s->base);
    put_text(&r, "rope_type", s->kind == ROPE_PLAIN ? "default" : rope_scaling_choices[s->kind]);
    if (s->kind == ROPE_LONG) {
        put_doubles(&r, "short_factor", &s->short_factors);
        put_doubles(&r, "long_factor", &s->long_factors);
        if (!is_phi3) hf_put_double(&r, "attention_factor", s->attention);
    } else if (s->kind != ROPE_PLAIN)
        hf_put_double(&r, "factor", s->factor);
    if (s->kind == ROPE_LLAMA3 || s->kind == ROPE_YARN || (s->kind == ROPE_LONG && !is_phi3))
        put_int(&r, "original_max_position_embeddings", s->original);
    if (s->kind == ROPE_LLAMA3) {
        hf_put_double(&r, "low_freq_factor", s->low_freq);
        hf_put_double(&r, "high_freq_factor", s->high_freq);
    }
    if (s->kind == ROPE_YARN) {
        hf_put_double(&r, "beta_fast", s->beta_fast);
        hf_put_double(&r, "beta_slow", s->beta_slow);
        hf_put_double(&r, "attention_factor", s->attention);
        hf_put_bool(&r, "truncate", s->truncate);
    }
    if (mscale != 0) hf_put_double(&r, "mscale_all_dim", mscale);
    if (mscale != 0 && s->kind == ROPE_LONG) hf_put_double(&r, "factor", s->factor);
    hf_put_key(t, name);
    text_add(t, r.ptr, r.len);
    text_putc(t, '}');
    text_free(&r);
}

static void put_no_rope_layers(Text *t, const Decoder *d)
{
    hf_put_key(t, "no_rope_layers");
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

/* What makes the scale of scores of the factor; 0: nothing does. Most are short numbers, which
 * rounding brings back. */
static double mscale_of(const Decoder *d, const RopeScaling *s)
{
    if (!d->latent || d->attention_scale <= 0 || s->factor <= 1) return 0;
    const double scale = sqrt(d->attention_scale * sqrt((double)d->head_width));
    return rint(1e9 * (scale - 1) / (0.1 * log(s->factor))) / 1e9;
}

static void put_block_types(Text *t, const Decoder *d)
{
    hf_put_key(t, "layers_block_type");
    for (int64_t i = 0; i < d->n_layer; i++)
        text_printf(t, "%s\"%s\"", i ? ", " : "[",
                    d->layer[i].mixer == MIXER_LINEAR      ? "linear_attention"
                    : d->layer[i].mixer == MIXER_ATTENTION ? "full_attention"
                    : d->layer[i].is_sparse                ? "moe"
                                                           : "mlp");
    text_putc(t, ']');
}

static void put_layers(Text *t, const Decoder *d, const HfFamily *f)
{
    const DecoderLayer *local = local_layer(d), *full = turning_layer(d);
    /* classes that have both kinds of layers want a window, even where none has it */
    const bool needs = f->windows == HF_WINDOW_ALTERNATING || f->windows == HF_WINDOW_PATTERN ||
                       f->windows == HF_WINDOW_ROPE || (f->windows == HF_WINDOW_HYBRID && !full);
    put_optional_int(t, "sliding_window", local ? local->window : needs ? f->window : 0);
    if (local) hf_put_bool(t, "use_sliding_window", true);
    if (f->one_layer) {
        if (!f->no_attention) put_block_types(t, d);
    } else if (f->keys.attn_layer_indices) {
        bool first = true;
        hf_put_key(t, "attn_layer_indices");
        text_putc(t, '[');
        for (int64_t i = 0; i < d->n_layer; i++) {
            if (d->layer[i].mixer == MIXER_LINEAR) continue;
            text_printf(t, "%s%lld", first ? "" : ", ", (long long)i);
            first = false;
        }
        text_putc(t, ']');
    } else if (f->short_conv) {
        hf_put_key(t, "layer_types");
        for (int64_t i = 0; i < d->n_layer; i++)
            text_printf(t, "%s\"%s\"", i ? ", " : "[",
                        d->layer[i].mixer == MIXER_CONV ? "conv" : "full_attention");
        text_putc(t, ']');
    } else if (f->state_space) {
        hf_put_key(t, "layer_types");
        for (int64_t i = 0; i < d->n_layer; i++)
            text_printf(t, "%s\"%s\"", i ? ", " : "[",
                        d->layer[i].mixer == MIXER_LINEAR ? "mamba" : "attention");
        text_putc(t, ']');
    } else if (f->windows > HF_WINDOW_EACH || f->linear) {
        hf_put_key(t, "layer_types");
        for (int64_t i = 0; i < d->n_layer; i++)
            text_printf(t, "%s\"%s_attention\"", i ? ", " : "[",
                        d->layer[i].mixer == MIXER_LINEAR ? "linear"
                        : d->layer[i].window              ? "sliding"
                                                          : "full");
        text_putc(t, ']');
    }
    if (f->keys.position_embedding_type)
        put_text(t, "position_embedding_type", full ? "rope" : "nope");
    if (f->keys.no_rope_layers) put_no_rope_layers(t, d);
    if (!full) return;
    hf_put_double(t, f->theta_key ? f->theta_key : "rope_theta", full->rope->base);
    if (f->rotary_share > 0)
        hf_put_double(t, f->share_key ? f->share_key : "partial_rotary_factor",
                      turning_share(full->rope->width, d->head_width));
    if (full->rope->kind == ROPE_LONG && f->phi3_rope)
        put_int(t, "original_max_position_embeddings", full->rope->original);
    if (full->rope->kind == ROPE_PLAIN && f->scaled_rope)
        put_rope(t, "rope_parameters", full->rope, f, true, 0);
    if (full->rope->kind != ROPE_PLAIN)
        put_rope(t, "rope_scaling", full->rope, f, false, mscale_of(d, full->rope));
    if (f->windows != HF_WINDOW_PATTERN || !local || !local->n_rope) return;
    if (f->local_theta != 0) {
        hf_put_double(t, "rope_local_base_freq", local->rope->base);
        return;
    }
    Text both = { 0 };
    text_putc(&both, '{');
    put_rope(&both, "full_attention", full->rope, f, true, 0);
    put_rope(&both, "sliding_attention", local->rope, f, true, 0);
    hf_put_key(t, "rope_parameters");
    text_add(t, both.ptr, both.len);
    text_putc(t, '}');
    text_free(&both);
}

static void put_mlp_layer_types(Text *t, const Decoder *d)
{
    hf_put_key(t, "mlp_layer_types");
    for (int64_t i = 0; i < d->n_layer; i++)
        text_printf(t, "%s\"%s\"", i ? ", " : "[", d->layer[i].is_sparse ? "sparse" : "dense");
    text_putc(t, ']');
}

static void put_latent(Text *t, const Decoder *d)
{
    const Latent *l = d->latent;
    put_int(t, "kv_lora_rank", l->key_rank);
    put_optional_int(t, "q_lora_rank", l->query_rank);
    put_int(t, "qk_nope_head_dim", d->head_width - l->turning);
    put_int(t, "qk_rope_head_dim", l->turning);
    put_int(t, "v_head_dim", l->value_width);
}

static void put_linear(Text *t, const LinearAttention *l)
{
    put_int(t, "linear_num_key_heads", l->key_heads);
    put_int(t, "linear_num_value_heads", l->value_heads);
    put_int(t, "linear_key_head_dim", l->key_width);
    put_int(t, "linear_value_head_dim", l->value_width);
    put_int(t, "linear_conv_kernel_dim", l->conv_width);
}

static void put_conv(Text *t, const ShortConv *s)
{
    put_int(t, "conv_L_cache", s->width);
    hf_put_bool(t, "conv_bias", s->bias);
}

static void put_state_space(Text *t, const Decoder *d, const HfSpaceKeys *k)
{
    const LinearAttention *l = d->linear;
    put_int(t, k->heads, l->value_heads);
    put_int(t, k->head_width, l->value_width);
    if (k->expand) put_int(t, k->expand, l->value_heads * l->value_width / d->width);
    put_int(t, k->state_width, l->key_width);
    put_int(t, k->groups, l->key_heads);
    put_int(t, k->conv_width, l->conv_width);
    hf_put_bool(t, k->conv_bias, l->conv_bias);
    hf_put_bool(t, k->bias, l->bias);
    if (k->activation) put_text(t, k->activation, "silu");
    if (k->least_step) {
        hf_put_double(t, k->least_step, l->least_step);
        return;
    }
    hf_put_key(t, "time_step_limit");
    text_putc(t, '[');
    text_json_double(t, l->least_step);
    text_puts(t, ", ");
    if (l->most_step > 0)
        text_json_double(t, l->most_step);
    else
        text_puts(t, "{\"__float__\": \"Infinity\"}");
    text_putc(t, ']');
}

/* Beside the experts, if there are any. */
static void put_shared_alone(Text *t, const Decoder *d)
{
    put_int(t, "shared_intermediate_size", d->moe ? d->moe->shared_hidden : d->hidden);
    if (d->moe) return;
    put_int(t, "num_local_experts", 0);
    put_int(t, "num_experts_per_tok", 0);
}

static int64_t first_sparse(const Decoder *d)
{
    int64_t first = 0;
    while (first < d->n_layer && !d->layer[first].is_sparse) first++;
    return first;
}

/* Of layers that are sparse from one on. */
static void put_sigmoid_router(Text *t, const Decoder *d, const HfFamily *f)
{
    const Moe *m = d->moe;
    put_int(t, f->experts_key, m->n_experts);
    put_int(t, f->shared_key, f->shared_width_key ? 1 : m->shared_hidden / m->hidden);
    if (f->shared_width_key) put_int(t, f->shared_width_key, m->shared_hidden);
    put_int(t, "num_experts_per_tok", m->top_k);
    put_int(t, "moe_intermediate_size", m->hidden);
    if (f->first_sparse_key) put_int(t, f->first_sparse_key, first_sparse(d));
    hf_put_double(t, f->factor_key, m->factor != 0 ? m->factor : 1);
    if (f->keys.mlp_layer_types) put_mlp_layer_types(t, d);
    if (f->no_expert_groups) return;
    hf_put_bool(t, "norm_topk_prob", m->normalize);
    const char *why;
    const int64_t n_ahead = hf_takes_ahead(f, d, &why) ? d->multi_token->depth : 0;
    if (f->keys.num_nextn_predict_layers) put_int(t, "num_nextn_predict_layers", n_ahead);
    put_int(t, "n_group", m->n_groups ? m->n_groups : 1);
    put_int(t, "topk_group", m->n_groups ? m->top_groups : 1);
    if (f->keys.topk_method)
        put_text(t, "topk_method", m->n_groups ? "group_limited_greedy" : "greedy");
}

/* Sparse layers are those of an interval, from one on and up to another. */
static void put_ernie_moe(Text *t, const Decoder *d, const HfFamily *f)
{
    const Moe *m = d->moe;
    int64_t first = 0, last = d->n_layer - 1, interval = 1;
    while (first < last && !d->layer[first].is_sparse) first++;
    while (last > first && !d->layer[last].is_sparse) last--;
    while (first + interval < last && !d->layer[first + interval].is_sparse) interval++;
    put_int(t, f->experts_key, m->n_experts);
    put_int(t, f->top_k_key, m->top_k);
    put_int(t, "moe_intermediate_size", m->hidden);
    put_int(t, f->shared_key, m->shared_hidden / m->hidden);
    put_int(t, "moe_layer_start_index", first);
    put_int(t, "moe_layer_end_index", last);
    put_int(t, "moe_layer_interval", interval);
    hf_put_double(t, "router_aux_loss_coef", m->aux_loss);
}

static void put_moe(Text *t, const Decoder *d, const HfFamily *f)
{
    const Moe *m = d->moe;
    bool first = true;
    if (f->top_k_key) put_int(t, f->top_k_key, m->top_k);
    put_int(t, "num_local_experts", m->n_experts);
    put_int(t, "num_experts", m->n_experts);
    put_int(t, "num_experts_per_tok", m->top_k);
    put_int(t, "moe_intermediate_size", m->hidden);
    if (m->shared_hidden) put_int(t, "shared_expert_intermediate_size", m->shared_hidden);
    hf_put_bool(t, "norm_topk_prob", m->normalize);
    hf_put_double(t, "router_aux_loss_coef", m->aux_loss);
    if (f->keys.use_expert_bias) hf_put_bool(t, "use_expert_bias", moe_has_biases(m));
    if (f->factor_key) hf_put_double(t, f->factor_key, m->factor != 0 ? m->factor : 1);
    if (f->first_sparse_key) put_int(t, f->first_sparse_key, first_sparse(d));
    hf_put_key(t, "mlp_only_layers");
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
    hf_put_double(t, "embedding_multiplier", d->embedding_scale != 0 ? d->embedding_scale : 1);
    hf_put_double(t, "attention_multiplier", decoder_attention_scale(d));
    hf_put_double(t, "residual_multiplier", d->residual_scale != 0 ? d->residual_scale : 1);
    hf_put_double(t, "logits_scaling", d->logit_divisor != 0 ? d->logit_divisor : 1);
}

static void put_dropout(Text *t, const Decoder *d, const HfFamily *f)
{
    const char *of_layers = f->dropout_key, *embedding = f->embedding_dropout_key;
    if (!of_layers) return;
    hf_put_double(t, of_layers, d->dropout);
    if (embedding && strcmp(embedding, of_layers) != 0)
        hf_put_double(t, embedding, d->embedding_dropout);
}

static void put_llama(Text *t, const Decoder *d, const HfFamily *f)
{
    const bool all_sparse = f->all_sparse;
    put_int(t, "vocab_size", d->vocab_size);
    put_int(t, "hidden_size", d->width);
    const int64_t hidden = all_sparse && d->moe ? d->moe->hidden : d->hidden;
    if (hidden) put_int(t, "intermediate_size", hidden);
    put_int(t, "num_hidden_layers", d->n_layer);
    if (d->n_head_q) {
        put_int(t, "num_attention_heads", d->n_head_q);
        put_int(t, "num_key_value_heads", d->n_head_kv);
        put_int(t, "head_dim", d->latent ? d->latent->turning : d->head_width);
    }
    if (f->latent && d->latent) put_latent(t, d);
    const DecoderLayer *turning = turning_layer(d);
    const RopeScaling *s = turning ? turning->rope : NULL;
    const bool grows = s && s->kind == ROPE_DYNAMIC;
    put_int(t, "max_position_embeddings", grows ? s->original : d->sequence_length);
    hf_put_double(t, f->eps_key ? f->eps_key : "rms_norm_eps", d->head_norm->eps);
    if (f->scaled_embedding) put_text(t, "hidden_activation", activation_name(d));
    if (!f->soft_caps)
        put_text(t, f->activation_key ? f->activation_key : "hidden_act", activation_name(d));
    hf_put_bool(t, "tie_word_embeddings", d->is_tied);
    hf_put_bool(t, "attention_bias", d->qkv_bias && !f->qkv_bias);
    hf_put_bool(t, "mlp_bias", d->ffn_bias);
    if (f->keys.use_bias) hf_put_bool(t, "use_bias", d->ffn_bias);
    if (f->keys.use_qkv_bias) hf_put_bool(t, f->biased ? "qkv_bias" : "use_qkv_bias", d->qkv_bias);
    if (f->keys.use_parallel_residual)
        hf_put_bool(t, "use_parallel_residual", d->residual != RESIDUAL_SERIAL);
    if (f->keys.logit_scale)
        hf_put_double(t, "logit_scale", d->logit_divisor != 0 ? 1 / d->logit_divisor : 1);
    if (f->keys.attention_out_bias) hf_put_bool(t, "attention_out_bias", d->out_bias);
    put_dropout(t, d, f);
    hf_put_double(t, "attention_dropout", d->attention_dropout);
    if (f->soft_caps) {
        const double scale = d->attention_scale, of = scale != 0 ? rint(1 / (scale * scale)) : 0;
        put_int(t, "query_pre_attn_scalar", /* an integer there */
                of >= 1 && of <= 2147483647 ? (int64_t)of : d->head_width);
        put_optional(t, "attn_logit_softcapping", d->attention_cap);
        put_optional(t, "final_logit_softcapping", d->logit_cap);
    }
    if (f->keys.multipliers) put_multipliers(t, d);
    put_layers(t, d, f);
    if (f->linear && d->linear) put_linear(t, d->linear);
    if (f->short_conv && d->short_conv) put_conv(t, d->short_conv);
    if (f->keys.block_ff_dim) hf_put_bool(t, "block_auto_adjust_ff_dim", false);
    if (f->state_space && d->linear) put_state_space(t, d, f->state_space);
    if (f->shared_alone) put_shared_alone(t, d);
    if (f->keys.mup_enabled) hf_put_bool(t, "mup_enabled", d->embedding_scale != 0);
    if (f->keys.use_qk_norm) hf_put_bool(t, "use_qk_norm", d->qk_norm);
    if (!f->sparse || !d->moe) return;
    if (f->shared_experts)
        put_sigmoid_router(t, d, f);
    else if (f->ernie_moe)
        put_ernie_moe(t, d, f);
    else
        put_moe(t, d, f);
}

static void put_gpt2(Text *t, const Decoder *d, const HfFamily *f)
{
    put_int(t, "vocab_size", d->vocab_size);
    put_int(t, "n_embd", d->width);
    put_int(t, "n_layer", d->n_layer);
    put_int(t, "n_head", d->n_head_q);
    put_int(t, "n_inner", d->hidden);
    put_int(t, "n_positions", d->sequence_length);
    hf_put_double(t, f->eps_key, d->head_norm->eps);
    put_text(t, "activation_function",
             d->activation == ACTIVATE_GELU_TANH ? "gelu_new" : activation_name(d));
    hf_put_bool(t, "tie_word_embeddings", d->is_tied);
    hf_put_double(t, "attn_pdrop", d->attention_dropout);
    put_dropout(t, d, f);
    const DecoderLayer *turning = turning_layer(d);
    const int64_t width = turning ? turning->rope->width : 0;
    if (f->keys.rotary_dim) put_int(t, "rotary_dim", width ? width : d->head_width);
    if (!f->scale_by_layer) return;
    hf_put_bool(t, "scale_attn_weights", d->attention_scale != 1);
    hf_put_bool(t, "scale_attn_by_inverse_layer_idx", d->scale_by_layer);
}

/* The old class has one key head or as many as query heads, and one norm for layers side by side.
 */
static void put_falcon(Text *t, const Decoder *d, const HfFamily *f)
{
    const bool two_norms = d->residual == RESIDUAL_TWO_NORMS,
               is_old = d->n_head_kv == 1 || d->n_head_kv == d->n_head_q,
               is_new = d->residual != RESIDUAL_SERIAL && (two_norms || !is_old);
    put_int(t, "vocab_size", d->vocab_size);
    put_int(t, "hidden_size", d->width);
    put_int(t, "ffn_hidden_size", d->hidden);
    put_int(t, "num_hidden_layers", d->n_layer);
    put_int(t, "num_attention_heads", d->n_head_q);
    put_int(t, "num_kv_heads", d->n_head_kv);
    put_int(t, "max_position_embeddings", d->sequence_length);
    hf_put_double(t, f->eps_key, d->head_norm->eps);
    put_text(t, "activation", activation_name(d));
    hf_put_bool(t, "tie_word_embeddings", d->is_tied);
    hf_put_bool(t, "bias", d->ffn_bias);
    hf_put_bool(t, "alibi", false);
    hf_put_bool(t, "new_decoder_architecture", is_new);
    hf_put_bool(t, "multi_query", !is_new && d->n_head_kv == 1);
    hf_put_bool(t, "parallel_attn", d->residual != RESIDUAL_SERIAL);
    put_int(t, "num_ln_in_parallel_attn", two_norms ? 2 : 1);
    put_dropout(t, d, f);
    hf_put_double(t, "attention_dropout", d->attention_dropout);
    put_layers(t, d, f);
}

void hf_put_members(Text *t, const Decoder *d, const HfFamily *f)
{
    if (f->gpt2_keys)
        put_gpt2(t, d, f);
    else if (f->falcon_keys)
        put_falcon(t, d, f);
    else
        put_llama(t, d, f);
}
