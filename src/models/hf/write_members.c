/* write_members.c - the members of config.json that say what a description does. */
#include "models/hf/write_members.h"
#include "base/json.h"
#include "models/hf/write_values.h"
#include <string.h>

const char *hf_name_of_activation(Activation activation)
{
    static const char *const names[] = { "gelu",  "gelu_pytorch_tanh", "silu",  "relu",
                                         "relu2", "quick_gelu",        "xielu", "silu" };
    return names[activation];
}

const char *hf_activation_name(const Decoder *d)
{
    return hf_name_of_activation(d->activation);
}

const char *hf_old_activation_name(const Decoder *d)
{
    return d->activation == ACTIVATE_GELU_TANH ? "gelu_new" : hf_activation_name(d);
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
}

void hf_put_token_ids(Text *t, const Decoder *d, const HfFamily *f)
{
    static const char *const ids[] = { "bos_token_id", "pad_token_id" };
    for (int i = 0; i < 2; i++) {
        if (f->needs_token_ids)
            hf_put_int(t, ids[i], d->vocab_size - 1);
        else
            hf_put_null(t, ids[i]);
    }
    hf_put_null(t, "eos_token_id");
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

void hf_put_dropout(Text *t, const Decoder *d, const HfFamily *f)
{
    const char *of_layers = f->dropout_key, *embedding = f->embedding_dropout_key;
    if (!of_layers) return;
    hf_put_double(t, of_layers, d->dropout);
    if (embedding && strcmp(embedding, of_layers) != 0)
        hf_put_double(t, embedding, d->embedding_dropout);
}

void hf_put_sizes(Text *t, const Decoder *d, const HfFamily *f, const char *width,
                  const char *layers, const char *heads, const char *positions)
{
    hf_put_int(t, "vocab_size", d->vocab_size);
    hf_put_int(t, width, d->width);
    hf_put_int(t, layers, d->n_layer);
    hf_put_int(t, heads, d->n_head_q);
    hf_put_int(t, positions, d->sequence_length);
    if (f->eps_key) hf_put_double(t, f->eps_key, d->usual_norm->eps);
    hf_put_bool(t, "tie_word_embeddings", d->is_tied);
}

/* Bounds of scores and logits, and the scale of scores beside them. */
static void put_caps(Text *t, const Decoder *d, const HfFamily *f)
{
    const double scale = f->unscaled ? 0 : d->attention_scale,
                 of = scale != 0 ? rint(1 / (scale * scale)) : 0;
    if (f->soft_caps || f->logit_cap != 0)
        hf_put_optional(t, "final_logit_softcapping", d->logit_cap);
    if (!f->soft_caps) return;
    hf_put_int(t, "query_pre_attn_scalar", /* an integer there */
               of >= 1 && of <= 2147483647 ? (int64_t)of : d->head_width);
    hf_put_optional(t, "attn_logit_softcapping", d->attention_cap);
}

/* Of feed-forward layers: one number, or where the class has it so, one for each. */
static void put_hidden(Text *t, const Decoder *d, const HfFamily *f, int64_t hidden)
{
    if (!f->hidden_by_layer) {
        hf_put_int(t, "intermediate_size", hidden);
        return;
    }
    hf_put_key(t, "intermediate_size");
    for (int64_t i = 0; i < d->n_layer; i++)
        text_printf(t, "%s%lld", i ? ", " : "[", (long long)decoder_hidden_of(d, &d->layer[i]));
    text_putc(t, ']');
}

static void put_llama(Text *t, const Decoder *d, const HfFamily *f)
{
    const bool all_sparse = f->all_sparse;
    hf_put_int(t, "vocab_size", d->vocab_size);
    hf_put_int(t, "hidden_size", d->width);
    const bool of_experts = all_sparse || (f->keys.layer_periods && !d->hidden);
    const int64_t hidden = of_experts && d->moe ? d->moe->hidden : d->hidden;
    if (hidden && !f->no_dense) put_hidden(t, d, f, hidden);
    hf_put_int(t, "num_hidden_layers", d->n_layer / hf_blocks_per_layer(f));
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
    hf_put_double(t, f->eps_key ? f->eps_key : "rms_norm_eps", d->usual_norm->eps);
    if (f->scaled_embedding) hf_put_text(t, "hidden_activation", hf_activation_name(d));
    if (!f->soft_caps)
        hf_put_text(t, f->activation_key ? f->activation_key : "hidden_act", hf_activation_name(d));
    hf_put_bool(t, "tie_word_embeddings", d->is_tied);
    hf_put_bool(t, "attention_bias", d->qkv_bias && !f->qkv_bias);
    hf_put_bool(t, "mlp_bias", d->ffn_bias);
    if (f->keys.use_bias) hf_put_bool(t, "use_bias", d->ffn_bias);
    if (f->keys.lm_head_bias) hf_put_bool(t, "lm_head_bias", d->head_bias);
    if (f->keys.use_qkv_bias) hf_put_bool(t, f->biased ? "qkv_bias" : "use_qkv_bias", d->qkv_bias);
    if (f->keys.use_parallel_residual)
        hf_put_bool(t, "use_parallel_residual", d->residual != RESIDUAL_SERIAL);
    if (f->keys.logit_scale)
        hf_put_double(t, "logit_scale", d->logit_divisor != 0 ? 1 / d->logit_divisor : 1);
    if (f->keys.attention_out_bias) hf_put_bool(t, "attention_out_bias", d->out_bias);
    hf_put_dropout(t, d, f);
    hf_put_double(t, "attention_dropout", d->attention_dropout);
    put_caps(t, d, f);
    if (f->keys.scale_depth) put_scales(t, d);
    if (f->keys.multipliers) put_multipliers(t, d, f->logits_multiplied);
    if (f->keys.use_post_norm) hf_put_bool(t, "use_post_norm", d->attention_post_norm);
    hf_put_layers(t, d, f);
    if (f->linear && !f->latent && d->linear && !d->linear->fixed_decays) put_linear(t, d->linear);
    if (f->both_mixers) put_both(t, d);
    if (f->short_conv && d->short_conv) put_conv(t, d->short_conv);
    if (f->keys.block_ff_dim) hf_put_bool(t, "block_auto_adjust_ff_dim", false);
    if (f->state_space && d->linear) put_state_space(t, d, f->state_space);
    if (f->selective && d->selective) hf_put_selective(t, d, f);
    if (f->keys.layer_periods) hf_put_periods(t, d);
    if (f->keys.mup_enabled) hf_put_bool(t, "mup_enabled", d->embedding_scale != 0);
    if (f->keys.clip_qkv) hf_put_optional(t, "clip_qkv", d->qkv_clip);
    if (f->keys.qk_layernorm) hf_put_bool(t, "qk_layernorm", d->qk_norm);
    if (f->keys.use_qk_norm) hf_put_bool(t, "use_qk_norm", d->qk_norm);
    hf_put_moe(t, d, f);
}

void hf_put_members(Text *t, const Decoder *d, const HfFamily *f)
{
    const HfDialect *own = f->dialect;
    if (own && own->write)
        own->write(t, d, f);
    else
        put_llama(t, d, f);
    if (own && own->add) own->add(t, d);
    for (const HfRenamed *n = own ? own->renamed : NULL; n && n->theirs; n++)
        hf_rename_key(t, n->ours, n->theirs);
}
