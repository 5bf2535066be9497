/* hf_write_members.c - the members of config.json that say what a description does. */
#include "models/hf_write_members.h"
#include "base/json.h"
#include "models/hf_write_values.h"
#include <string.h>

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
    hf_put_text(t, "model_type", model_type);
    hf_put_text(t, "torch_dtype", dtype_text(dtype));
    static const char *const ids[] = { "bos_token_id", "eos_token_id", "pad_token_id" };
    for (int i = 0; i < 3; i++) hf_put_null(t, ids[i]);
}

static void put_latent(Text *t, const Decoder *d)
{
    const Latent *l = d->latent;
    hf_put_int(t, "kv_lora_rank", l->key_rank);
    hf_put_optional_int(t, "q_lora_rank", l->query_rank);
    hf_put_int(t, "qk_nope_head_dim", d->head_width - l->turning);
    hf_put_int(t, "qk_rope_head_dim", l->turning);
    hf_put_int(t, "v_head_dim", l->value_width);
}

static void put_linear(Text *t, const LinearAttention *l)
{
    hf_put_int(t, "linear_num_key_heads", l->key_heads);
    hf_put_int(t, "linear_num_value_heads", l->value_heads);
    hf_put_int(t, "linear_key_head_dim", l->key_width);
    hf_put_int(t, "linear_value_head_dim", l->value_width);
    hf_put_int(t, "linear_conv_kernel_dim", l->conv_width);
}

/* What Falcon-H1 has of its own. */
static void put_both(Text *t, const Decoder *d)
{
    const Multipliers *m = decoder_multipliers(d);
    double of_spaces[] = { m->gates, m->values, m->keys, m->queries, m->steps },
           of_ffn[] = { m->ffn_gate, m->ffn_out };
    hf_put_doubles(t, "ssm_multipliers", &(FloatList){ of_spaces, 5 });
    hf_put_doubles(t, "mlp_multipliers", &(FloatList){ of_ffn, 2 });
    hf_put_double(t, "attention_in_multiplier", m->attention_in);
    hf_put_double(t, "attention_out_multiplier", m->attention_out);
    hf_put_double(t, "ssm_in_multiplier", m->linear_in);
    hf_put_double(t, "ssm_out_multiplier", m->linear_out);
    hf_put_double(t, "embedding_multiplier", d->embedding_scale != 0 ? d->embedding_scale : 1);
    hf_put_double(t, "lm_head_multiplier", d->logit_divisor != 0 ? 1 / d->logit_divisor : 1);
    hf_put_double(t, "key_multiplier",
                  d->attention_scale != 0 ? d->attention_scale * sqrt((double)d->head_width) : 1);
    if (!d->linear) return;
    hf_put_bool(t, "projectors_bias", d->linear->bias);
    hf_put_bool(t, "mamba_rms_norm", d->linear->norm);
    hf_put_bool(t, "mamba_norm_before_gate", d->linear->norm_first);
}

static void put_conv(Text *t, const ShortConv *s)
{
    hf_put_int(t, "conv_L_cache", s->width);
    hf_put_bool(t, "conv_bias", s->bias);
}

static void put_state_space(Text *t, const Decoder *d, const HfSpaceKeys *k)
{
    const LinearAttention *l = d->linear;
    hf_put_int(t, k->heads, l->value_heads);
    hf_put_int(t, k->head_width, l->value_width);
    if (k->all)
        hf_put_int(t, k->all, l->value_heads * l->value_width);
    else if (k->expand)
        hf_put_int(t, k->expand, l->value_heads * l->value_width / d->width);
    hf_put_int(t, k->state_width, l->key_width);
    hf_put_int(t, k->groups, l->key_heads);
    hf_put_int(t, k->conv_width, l->conv_width);
    hf_put_bool(t, k->conv_bias, l->conv_bias);
    hf_put_bool(t, k->bias, l->bias);
    if (k->activation) hf_put_text(t, k->activation, "silu");
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

static void put_multipliers(Text *t, const Decoder *d, bool multiplied)
{
    const double divisor = d->logit_divisor != 0 ? d->logit_divisor : 1;
    hf_put_double(t, "embedding_multiplier", d->embedding_scale != 0 ? d->embedding_scale : 1);
    hf_put_double(t, "attention_multiplier", decoder_attention_scale(d));
    hf_put_double(t, "residual_multiplier", d->residual_scale != 0 ? d->residual_scale : 1);
    hf_put_double(t, "logits_scaling", multiplied ? 1 / divisor : divisor);
}

/* A number that gives the scale of a layer again, the shorter one if there are several. */
static double depth_of(double scale, double root)
{
    const double x = scale * root,
                 near[] = { rint(1e9 * x) / 1e9, x, nextafter(x, 0), nextafter(x, INFINITY) };
    for (int i = 0; i < 4; i++)
        if (near[i] / root == scale) return near[i];
    return x;
}

static void put_scales(Text *t, const Decoder *d)
{
    const double of_layers = d->residual_scale != 0 ? d->residual_scale : 1,
                 base =
                     d->logit_divisor != 0 ? (double)d->width / d->logit_divisor : (double)d->width;
    hf_put_double(t, "scale_emb", d->embedding_scale != 0 ? d->embedding_scale : 1);
    hf_put_double(t, "scale_depth", depth_of(of_layers, sqrt((double)d->n_layer)));
    hf_put_int(t, "dim_model_base", base >= 1 && base <= 2147483647 ? (int64_t)rint(base) : 1);
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
    hf_put_int(t, "vocab_size", d->vocab_size);
    hf_put_int(t, "hidden_size", d->width);
    const int64_t hidden = all_sparse && d->moe ? d->moe->hidden : d->hidden;
    if (hidden && !f->no_dense) hf_put_int(t, "intermediate_size", hidden);
    if (f->llama4_keys && d->hidden) hf_put_int(t, "intermediate_size_mlp", d->hidden);
    hf_put_int(t, "num_hidden_layers", d->n_layer);
    if (d->n_head_q) {
        hf_put_int(t, "num_attention_heads", d->n_head_q);
        hf_put_int(t, "num_key_value_heads", d->n_head_kv);
        hf_put_int(t, "head_dim", d->latent ? d->latent->turning : d->head_width);
    }
    if (f->latent && d->latent) put_latent(t, d);
    const DecoderLayer *turning = hf_turning_layer(d);
    const RopeScaling *s = turning ? turning->rope : NULL;
    const bool grows = s && s->kind == ROPE_DYNAMIC;
    hf_put_int(t, "max_position_embeddings", grows ? s->original : d->sequence_length);
    hf_put_double(t, f->eps_key ? f->eps_key : "rms_norm_eps", d->head_norm->eps);
    if (f->scaled_embedding) hf_put_text(t, "hidden_activation", activation_name(d));
    if (!f->soft_caps)
        hf_put_text(t, f->activation_key ? f->activation_key : "hidden_act", activation_name(d));
    hf_put_bool(t, "tie_word_embeddings", d->is_tied);
    hf_put_bool(t, "attention_bias", d->qkv_bias && !f->qkv_bias);
    hf_put_bool(t, "mlp_bias", d->ffn_bias);
    if (f->keys.use_bias) hf_put_bool(t, "use_bias", d->ffn_bias);
    if (f->phimoe_keys) hf_put_bool(t, "lm_head_bias", d->head_bias);
    if (f->keys.use_qkv_bias) hf_put_bool(t, f->biased ? "qkv_bias" : "use_qkv_bias", d->qkv_bias);
    if (f->keys.use_parallel_residual)
        hf_put_bool(t, "use_parallel_residual", d->residual != RESIDUAL_SERIAL);
    if (f->keys.logit_scale)
        hf_put_double(t, "logit_scale", d->logit_divisor != 0 ? 1 / d->logit_divisor : 1);
    if (f->keys.attention_out_bias) hf_put_bool(t, "attention_out_bias", d->out_bias);
    put_dropout(t, d, f);
    hf_put_double(t, "attention_dropout", d->attention_dropout);
    if (f->soft_caps) {
        const double scale = f->unscaled ? 0 : d->attention_scale,
                     of = scale != 0 ? rint(1 / (scale * scale)) : 0;
        hf_put_int(t, "query_pre_attn_scalar", /* an integer there */
                   of >= 1 && of <= 2147483647 ? (int64_t)of : d->head_width);
        hf_put_optional(t, "attn_logit_softcapping", d->attention_cap);
        hf_put_optional(t, "final_logit_softcapping", d->logit_cap);
    }
    if (!f->soft_caps && f->logit_cap != 0)
        hf_put_optional(t, "final_logit_softcapping", d->logit_cap);
    if (f->keys.scale_depth) put_scales(t, d);
    if (f->keys.multipliers) put_multipliers(t, d, f->logits_multiplied);
    if (f->keys.use_post_norm) hf_put_bool(t, "use_post_norm", d->attention_post_norm);
    hf_put_layers(t, d, f);
    if (f->linear && d->linear) put_linear(t, d->linear);
    if (f->both_mixers) put_both(t, d);
    if (f->short_conv && d->short_conv) put_conv(t, d->short_conv);
    if (f->keys.block_ff_dim) hf_put_bool(t, "block_auto_adjust_ff_dim", false);
    if (f->state_space && d->linear) put_state_space(t, d, f->state_space);
    if (f->keys.mup_enabled) hf_put_bool(t, "mup_enabled", d->embedding_scale != 0);
    if (f->keys.clip_qkv) hf_put_optional(t, "clip_qkv", d->qkv_clip);
    if (f->keys.qk_layernorm) hf_put_bool(t, "qk_layernorm", d->qk_norm);
    if (f->keys.use_qk_norm) hf_put_bool(t, "use_qk_norm", d->qk_norm);
    hf_put_moe(t, d, f);
}

static const char *gpt2_activation(const Decoder *d)
{
    return d->activation == ACTIVATE_GELU_TANH ? "gelu_new" : activation_name(d);
}

/* What every class has, by the names that this one has for its sizes. */
static void put_sizes(Text *t, const Decoder *d, const HfFamily *f, const char *width,
                      const char *layers, const char *heads, const char *positions)
{
    hf_put_int(t, "vocab_size", d->vocab_size);
    hf_put_int(t, width, d->width);
    hf_put_int(t, layers, d->n_layer);
    hf_put_int(t, heads, d->n_head_q);
    hf_put_int(t, positions, d->sequence_length);
    if (f->eps_key) hf_put_double(t, f->eps_key, d->head_norm->eps);
    hf_put_bool(t, "tie_word_embeddings", d->is_tied);
}

static void put_gpt2(Text *t, const Decoder *d, const HfFamily *f)
{
    put_sizes(t, d, f, "n_embd", "n_layer", "n_head", "n_positions");
    hf_put_int(t, "n_inner", d->hidden);
    if (f->keys.multi_query) hf_put_bool(t, "multi_query", d->n_head_kv == 1);
    hf_put_text(t, "activation_function", gpt2_activation(d));
    hf_put_double(t, "attn_pdrop", d->attention_dropout);
    put_dropout(t, d, f);
    const DecoderLayer *turning = hf_turning_layer(d);
    const int64_t width = turning ? turning->rope->width : 0;
    if (f->keys.rotary_dim) hf_put_int(t, "rotary_dim", width ? width : d->head_width);
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
    put_sizes(t, d, f, "hidden_size", "num_hidden_layers", "num_attention_heads",
              "max_position_embeddings");
    hf_put_int(t, "ffn_hidden_size", d->hidden);
    hf_put_int(t, "num_kv_heads", d->n_head_kv);
    hf_put_text(t, "activation", activation_name(d));
    hf_put_bool(t, "bias", d->ffn_bias);
    hf_put_bool(t, "alibi", false);
    hf_put_bool(t, "new_decoder_architecture", is_new);
    hf_put_bool(t, "multi_query", !is_new && d->n_head_kv == 1);
    hf_put_bool(t, "parallel_attn", d->residual != RESIDUAL_SERIAL);
    hf_put_int(t, "num_ln_in_parallel_attn", two_norms ? 2 : 1);
    put_dropout(t, d, f);
    hf_put_double(t, "attention_dropout", d->attention_dropout);
    hf_put_layers(t, d, f);
}

static void put_neo_kind(Text *item, const DecoderLayer *l, int64_t i)
{
    (void)i;
    text_printf(item, "[[\"%s\"], 1]", l->window ? "local" : "global");
}

static void put_neo(Text *t, const Decoder *d, const HfFamily *f)
{
    int64_t window = f->window;
    for (int64_t i = 0; i < d->n_layer; i++)
        if (d->layer[i].window) window = d->layer[i].window;
    put_sizes(t, d, f, "hidden_size", "num_layers", "num_heads", "max_position_embeddings");
    hf_put_int(t, "intermediate_size", d->hidden);
    hf_put_text(t, f->activation_key, gpt2_activation(d));
    hf_put_int(t, f->window_key, window);
    hf_put_of_layers(t, "attention_types", d, put_neo_kind);
    put_dropout(t, d, f);
    hf_put_double(t, "attention_dropout", d->attention_dropout);
}

static void put_bloom(Text *t, const Decoder *d, const HfFamily *f)
{
    put_sizes(t, d, f, "hidden_size", "n_layer", "n_head", "seq_length");
    put_dropout(t, d, f);
    hf_put_double(t, "attention_dropout", d->attention_dropout);
}

/* The class computes with its own alibi_bias_max, whatever the file says; its dropout is a whole
 * number. */
static void put_mpt(Text *t, const Decoder *d, const HfFamily *f)
{
    Text options = { 0 };
    put_sizes(t, d, f, "d_model", "n_layers", "n_heads", "max_seq_len");
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

static void put_opt(Text *t, const Decoder *d, const HfFamily *f)
{
    put_sizes(t, d, f, "hidden_size", "num_hidden_layers", "num_attention_heads",
              "max_position_embeddings");
    hf_put_int(t, "ffn_dim", d->hidden);
    hf_put_text(t, f->activation_key, activation_name(d));
    hf_put_bool(t, "enable_bias", d->ffn_bias);
    hf_put_bool(t, "layer_norm_elementwise_affine", d->head_norm->has_weight);
    put_dropout(t, d, f);
    hf_put_double(t, "attention_dropout", d->attention_dropout);
}

static void put_dbrx(Text *t, const Decoder *d, const HfFamily *f)
{
    put_sizes(t, d, f, "d_model", "n_layers", "n_heads", "max_seq_len");
    hf_put_dbrx(t, d, f, activation_name(d));
}

void hf_put_members(Text *t, const Decoder *d, const HfFamily *f)
{
    if (f->gpt2_keys)
        put_gpt2(t, d, f);
    else if (f->falcon_keys)
        put_falcon(t, d, f);
    else if (f->neo_keys)
        put_neo(t, d, f);
    else if (f->bloom_keys)
        put_bloom(t, d, f);
    else if (f->opt_keys)
        put_opt(t, d, f);
    else if (f->mpt_keys)
        put_mpt(t, d, f);
    else if (f->dbrx_keys)
        put_dbrx(t, d, f);
    else
        put_llama(t, d, f);
}
