/* write.c - config.json from a description. What is written is read again and compared, so that
 * a class is only taken when it has every option of the model. */
#include "models/hf/write.h"
#include "models/decoder_difference.h"
#include "models/hf/write_members.h"
#include "models/hf/write_values.h"
#include <string.h>

static void write_as(const Decoder *d, const HfFamily *f, Dtype dtype, Text *out)
{
    text_clear(out);
    text_putc(out, '{');
    hf_put_class(out, f->model_type, f->class_name, dtype);
    hf_put_token_ids(out, d, f);
    hf_put_members(out, d, f);
    if (d->is_ternary) {
        hf_put_key(out, "quantization_config");
        text_puts(out, "{\"quant_method\": \"bitnet\", \"linear_class\": \"autobitlinear\", "
                       "\"quantization_mode\": \"online\"}");
    }
    text_puts(out, "\n}\n");
}

/* What is in the way of the family; NULL: nothing. */
static const char *obstacle(Arena *a, const Decoder *d, const HfFamily *f, Dtype dtype, Text *out)
{
    Yaml *root;
    HfModel m;
    if (f->heads_divide_width && d->n_head_q && d->width % d->n_head_q)
        return "width: no multiple of the heads";
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
    const HfFamily *closest = hf_family_find(d->sinusoidal_base > 0                  ? "xglm"
                                             : d->unused_positions                   ? "opt"
                                             : d->learned_positions && !d->head_norm ? "openai-gpt"
                                             : d->learned_positions                  ? "gpt2"
                                                                                     : "llama");
    if (d->alibi > 0)
        closest = hf_family_find(d->embedding_norm    ? "bloom"
                                 : d->alibi_scale > 0 ? "falcon"
                                                      : "mpt");
    if (d->head_transform) closest = hf_family_find("modernbert-decoder");
    if (d->moe) closest = hf_family_find("mixtral");
    if (d->moe && d->attention_sinks) closest = hf_family_find("gpt_oss");
    if (d->latent) closest = hf_family_find(d->moe ? "deepseek_v3" : "youtu");
    if (d->sparse) closest = hf_family_find("deepseek_v32");
    if (d->norm_gate_rank) closest = hf_family_find("axk2");
    if (d->softplus_gates) closest = hf_family_find("laguna");
    if (d->joint || d->hyper) closest = hf_family_find(d->latent ? "hy_v4" : "deepseek_v4");
    if (d->differential) closest = hf_family_find("diffllama");
    if (d->streams) closest = hf_family_find("gemma3n_text");
    if (d->layer[0].shortcut) closest = hf_family_find("longcat_flash");
    if (d->short_conv) closest = hf_family_find(d->moe ? "lfm2_moe" : "lfm2");
    if (d->linear) closest = hf_family_find(d->moe ? "qwen3_next" : "qwen3_5_text");
    if (d->linear && d->linear->front_norm) closest = hf_family_find("olmo_hybrid");
    if (d->linear && d->linear->row_decays) closest = hf_family_find("kimi_linear");
    if (d->linear && d->linear->row_decays && d->attention_gate)
        closest = hf_family_find("bailing_hybrid");
    if (d->linear && d->linear->fixed_decays) closest = hf_family_find("minimax");
    if (d->linear && d->linear->is_state_space)
        closest = hf_family_find(d->layer[0].no_ffn ? "nemotron_h" : "granitemoehybrid");
    if (d->selective)
        closest = hf_family_find(d->n_head_q || d->hidden || d->moe ? "jamba"
                                 : d->selective->norm               ? "falcon_mamba"
                                                                    : "mamba");
    if (d->recurrent) closest = hf_family_find("recurrent_gemma");
    if (d->layer[0].mixer == MIXER_BOTH) closest = hf_family_find("falcon_h1");
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
    const Norm *n = d->usual_norm;
    DecoderLayer *plain = NEW_N(a, DecoderLayer, d->n_layer);
    for (int64_t i = 0; i < d->n_layer; i++)
        plain[i] = (DecoderLayer){ .rope = d->layer[i].rope, .n_rope = d->layer[i].n_rope };
    const Decoder class = { .vocab_size = d->vocab_size,
                            .sequence_length = d->sequence_length,
                            .n_layer = d->n_layer,
                            .width = d->width,
                            .n_head_q = d->n_head_q,
                            .n_head_kv = d->n_head_kv,
                            .head_width = d->n_head_q ? d->width / d->n_head_q : 0,
                            .hidden = d->hidden,
                            .qkv_bias = d->qkv_bias,
                            .out_bias = d->qkv_bias,
                            .ffn_bias = d->qkv_bias,
                            .activation = ACTIVATE_SILU,
                            .is_gated = true,
                            .is_tied = d->is_tied,
                            .attention_norm = n,
                            .ffn_norm = n,
                            .head_norm = n,
                            .usual_norm = n,
                            .layer = plain };
    if (n->type != NORM_LAYER) return "norm in front of the head: an RMS norm";
    for (int64_t i = 0; i < d->n_layer; i++)
        if (d->layer[i].mixer != MIXER_ATTENTION || d->layer[i].no_ffn)
            return "blocks: one is not attention and a feed-forward layer";
    for (int64_t i = 0; i < d->n_layer; i++)
        if (d->layer[i].head_width || d->layer[i].n_head_q || d->layer[i].n_head_kv ||
            d->layer[i].keys_as_values)
            return "blocks: one has heads of its own";
    for (int64_t i = 0; i < d->n_layer; i++)
        if (d->layer[i].n_rope != 1 || d->layer[i].rope->kind != ROPE_PLAIN ||
            d->layer[i].rope->width || d->layer[i].rope->growth != 0 || d->layer[i].window)
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
    hf_put_class(out, "modalities-gpt2", "GPT2ForCausalLM", dtype);
    hf_put_token_ids(out, d, *family);
    hf_put_key(out, "auto_map");
    text_puts(out, "{\"AutoConfig\": \"configuration_gpt2.GPT2Config\", "
                   "\"AutoModel\": \"modeling_gpt2.GPT2Model\", "
                   "\"AutoModelForCausalLM\": \"modeling_gpt2.GPT2ForCausalLM\"}");
    hf_put_members(out, d, *family);
    hf_put_double(out, "layer_norm_eps", d->usual_norm->eps);
    hf_put_bool(out, "layer_norm_elementwise_affine", d->usual_norm->has_weight);
    hf_put_bool(out, "layer_norm_bias", d->usual_norm->has_bias);
    text_puts(out, "\n}\n");
    return NULL;
}
