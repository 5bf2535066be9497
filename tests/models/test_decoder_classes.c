/* test_decoder_classes.c - every family of Hugging Face is a row of model.decoder's settings, and
 * what computes the same is written as its class. */
#include "models/decoder_difference.h"
#include "models/decoder_model.h"
#include "models/hf/write.h"
#include "test.h"
#include <string.h>

/* config.json, and model.decoder's settings for it. */
typedef struct Pair {
    const char *json, *yaml;
} Pair;

#define SIZES                                                                                      \
    "\"vocab_size\": 16, \"hidden_size\": 8, \"intermediate_size\": 12, \"num_hidden_layers\": "   \
    "4, "                                                                                          \
    "\"num_attention_heads\": 2, \"num_key_value_heads\": 1, \"max_position_embeddings\": 32, "    \
    "\"tie_word_embeddings\": false, "
/* Experts of a token may be any. */
#define SPREAD                                                                                     \
    "\"vocab_size\": 16, \"hidden_size\": 8, \"intermediate_size\": 12, \"num_hidden_layers\": "   \
    "4, \"num_attention_heads\": 2, \"max_position_embeddings\": 32, \"tie_word_embeddings\": "    \
    "false, \"kv_lora_rank\": 6, \"qk_nope_head_dim\": 4, \"qk_rope_head_dim\": 2, "               \
    "\"v_head_dim\": 3, \"n_routed_experts\": 8, \"n_shared_experts\": 1, "                        \
    "\"num_experts_per_tok\": 2, \"moe_intermediate_size\": 6, \"routed_scaling_factor\": 1.5, "
#define LATENT SPREAD "\"n_group\": 4, \"topk_group\": 2, "
#define LATENT_SETTINGS                                                                            \
    "sample_key: input_ids, prediction_key: logits, vocab_size: 16, sequence_length: 32, n_embd: " \
    "8, n_layer: 4, n_head_q: 2, n_head_kv: 2, head_width: 6, ffn_hidden: 12, "
#define KIMI                                                                                       \
    "\"model_type\": \"kimi_linear\", \"vocab_size\": 16, \"hidden_size\": 8, "                    \
    "\"intermediate_size\": 12, \"num_hidden_layers\": 5, \"num_attention_heads\": 2, "            \
    "\"kv_lora_rank\": 6, \"qk_nope_head_dim\": 4, \"qk_rope_head_dim\": 2, \"v_head_dim\": 3, "   \
    "\"moe_intermediate_size\": 6, "
#define KIMI_SETTINGS                                                                              \
    "sample_key: input_ids, prediction_key: logits, vocab_size: 16, sequence_length: 32, n_embd: " \
    "8, n_layer: 5, n_head_q: 2, n_head_kv: 2, head_width: 6, ffn_hidden: 12, norm: {eps: 1e-5}, "
#define BAILING                                                                                    \
    "\"model_type\": \"bailing_hybrid\", \"vocab_size\": 16, \"hidden_size\": 8, "                 \
    "\"intermediate_size\": 12, \"num_hidden_layers\": 6, \"num_attention_heads\": 2, "            \
    "\"num_key_value_heads\": 2, \"kv_lora_rank\": 6, \"qk_nope_head_dim\": 4, "                   \
    "\"qk_rope_head_dim\": 2, \"v_head_dim\": 3, \"moe_intermediate_size\": 6, "
#define LING_SETTINGS                                                                              \
    "sample_key: input_ids, prediction_key: logits, vocab_size: 16, sequence_length: 32, n_embd: " \
    "8, n_layer: 6, n_head_q: 2, n_head_kv: 2, head_width: 6, ffn_hidden: 12, norm: {eps: 1e-6}, " \
    "attention_gate: head, "
#define MAMBA                                                                                      \
    "\"vocab_size\": 16, \"hidden_size\": 8, \"num_hidden_layers\": 4, "                           \
    "\"max_position_embeddings\": 32, "
#define MAMBA_SETTINGS                                                                             \
    "sample_key: input_ids, prediction_key: logits, vocab_size: 16, sequence_length: 32, n_embd: " \
    "8, n_layer: 4, layers: [{linear: true, no_ffn: true}], "
#define OPT_SETTINGS                                                                               \
    "sample_key: input_ids, prediction_key: logits, vocab_size: 16, sequence_length: 32, n_embd: " \
    "8, n_layer: 4, n_head_q: 2, n_head_kv: 2, ffn_hidden: 20, norm: {type: layer, bias: true, "   \
    "eps: 1e-5}, learned_positions: true, unused_positions: 2, qkv_bias: true, out_bias: true, "   \
    "ffn_bias: true, gated: false, activation: relu, "
/* The root of 8 in bf16. */
#define RECURRENT_SETTINGS                                                                         \
    "sample_key: input_ids, prediction_key: logits, vocab_size: 16, sequence_length: 32, n_embd: " \
    "8, n_layer: 4, n_head_q: 2, ffn_hidden: 12, norm: {eps: 1e-6, from_one: true}, activation: "  \
    "gelu_tanh, embedding_scale: 2.828125, out_bias: true, ffn_bias: true, "
static const Pair pairs[] = {
    { SIZES "\"model_type\": \"llama\", \"rms_norm_eps\": 1e-6, \"rope_theta\": 500000.0, "
            "\"rope_scaling\": {\"rope_type\": \"llama3\", \"factor\": 8.0, \"low_freq_factor\": "
            "1.0, \"high_freq_factor\": 4.0, \"original_max_position_embeddings\": 16}",
      DECODER_SETTINGS
      "norm: {eps: 1e-6}, rope: {base: 500000.0, kind: llama3, factor: 8.0, original: 16}" },
    { SIZES "\"model_type\": \"llama\", \"rms_norm_eps\": 1e-6, \"attention_bias\": true, "
            "\"mlp_bias\": true, \"rope_scaling\": {\"rope_type\": \"yarn\", \"factor\": 4.0, "
            "\"original_max_position_embeddings\": 8}",
      DECODER_SETTINGS
      "norm: {eps: 1e-6}, rope: {kind: yarn, factor: 4.0, original: 8}, qkv_bias: true, "
      "out_bias: true, ffn_bias: true" },
    { SIZES "\"model_type\": \"ministral3\", \"rms_norm_eps\": 1e-6, \"head_dim\": 4, "
            "\"rope_parameters\": {\"rope_type\": \"yarn\", \"rope_theta\": 10000.0, \"factor\": "
            "4.0, \"original_max_position_embeddings\": 8, \"llama_4_scaling_beta\": 0.5}",
      DECODER_SETTINGS
      "norm: {eps: 1e-6}, rope: {kind: yarn, factor: 4.0, original: 8, growth: 0.5}" },
    { SIZES "\"model_type\": \"ministral3\", \"rms_norm_eps\": 1e-6, \"head_dim\": 4, "
            "\"rope_parameters\": {\"rope_type\": \"default\", \"rope_theta\": 10000.0, "
            "\"original_max_position_embeddings\": 8, \"llama_4_scaling_beta\": 0.5}",
      DECODER_SETTINGS "norm: {eps: 1e-6}, rope: {original: 8, growth: 0.5}" },
    { SIZES "\"model_type\": \"ministral\", \"rms_norm_eps\": 1e-6, \"sliding_window\": 4",
      DECODER_SETTINGS "norm: {eps: 1e-6}, rope: {base: 10000.0}, layers: [{window: 4}]" },
    { SIZES "\"model_type\": \"ministral\", \"rms_norm_eps\": 1e-6, \"sliding_window\": 4, "
            "\"layer_types\": [\"sliding_attention\", \"full_attention\", \"sliding_attention\", "
            "\"full_attention\"]",
      DECODER_SETTINGS "norm: {eps: 1e-6}, rope: {base: 10000.0}, layers: [{window: 4}, {}]" },
    { SIZES "\"model_type\": \"cwm\", \"rms_norm_eps\": 1e-6, \"head_dim\": 4, \"sliding_window\": "
            "4, \"rope_parameters\": {\"rope_type\": \"default\", \"rope_theta\": 10000.0}",
      DECODER_SETTINGS
      "norm: {eps: 1e-6}, rope: {base: 10000.0}, layers: [{}, {count: 3, window: 4}]" },
    { SIZES "\"model_type\": \"helium\", \"rms_norm_eps\": 1e-6, \"head_dim\": 4, "
            "\"attention_bias\": true",
      DECODER_SETTINGS "norm: {eps: 1e-6}, rope: {base: 10000.0}, qkv_bias: true" },
    { SIZES "\"model_type\": \"jais2\", \"layer_norm_eps\": 1e-6", DECODER_SETTINGS
      "norm: {type: layer, bias: true, eps: 1e-6}, rope: {base: 10000.0}, gated: false, "
      "activation: relu_squared, qkv_bias: true, out_bias: true, ffn_bias: true" },
    { SIZES
      "\"model_type\": \"exaone_moe\", \"rms_norm_eps\": 1e-6, \"head_dim\": 4, "
      "\"sliding_window\": 4, \"num_experts\": 4, \"num_shared_experts\": 2, "
      "\"num_experts_per_tok\": 2, \"moe_intermediate_size\": 6, \"routed_scaling_factor\": 1.5",
      DECODER_SETTINGS
      "norm: {eps: 1e-6}, qk_norm: head, rope: {base: 10000.0}, layers: [{window: 4}, {count: 2, "
      "window: 4, sparse: true}, {no_rope: true, sparse: true}], mixture: {score: sigmoid, "
      "n_experts: 4, top_k: 2, hidden: 6, shared_hidden: 12, factor: 1.5, balance_rate: 0.001}" },
    { "\"vocab_size\": 16, \"hidden_size\": 8, \"num_hidden_layers\": 4, \"num_attention_heads\": "
      "2, \"num_key_value_heads\": 1, \"max_position_embeddings\": 32, \"tie_word_embeddings\": "
      "false, "
      "\"model_type\": \"solar_open\", \"rms_norm_eps\": 1e-6, \"head_dim\": 4, \"rope_theta\": "
      "10000.0, \"n_routed_experts\": 4, \"n_shared_experts\": 1, \"num_experts_per_tok\": 2, "
      "\"moe_intermediate_size\": 6, \"routed_scaling_factor\": 1.5",
      DECODER_SETTINGS "norm: {eps: 1e-6}, rope: {base: 10000.0}, layers: [{sparse: "
                       "true}], mixture: {score: sigmoid, n_experts: 4, top_k: 2, hidden: 6, "
                       "shared_hidden: 6, factor: 1.5, balance_rate: 0.001}" },
    { SIZES "\"model_type\": \"mistral\", \"rms_norm_eps\": 1e-6, \"sliding_window\": 4",
      DECODER_SETTINGS "norm: {eps: 1e-6}, rope: {base: 10000.0}, layers: [{window: 4}]" },
    { SIZES "\"model_type\": \"qwen2\", \"rms_norm_eps\": 1e-6",
      DECODER_SETTINGS "norm: {eps: 1e-6}, rope: {base: 10000.0}, qkv_bias: true" },
    { SIZES "\"model_type\": \"qwen3\", \"rms_norm_eps\": 1e-6, \"head_dim\": 6",
      DECODER_SETTINGS "norm: {eps: 1e-6}, rope: {base: 10000.0}, head_width: 6, qk_norm: head" },
    { SIZES "\"model_type\": \"olmo2\", \"rms_norm_eps\": 1e-6", DECODER_SETTINGS
      "norm: {eps: 1e-6}, norm_in_front: false, norm_behind: true, qk_norm: width, rope: "
      "{base: 10000.0}" },
    { SIZES "\"model_type\": \"gemma2\", \"rms_norm_eps\": 1e-6, \"head_dim\": 4, "
            "\"sliding_window\": 8, \"query_pre_attn_scalar\": 16, \"attn_logit_softcapping\": "
            "50.0, \"final_logit_softcapping\": 30.0",
      DECODER_SETTINGS
      "norm: {eps: 1e-6, from_one: true}, norm_behind: true, activation: gelu_tanh, "
      "embedding_scale: 2.8284270763397217, attention_scale: 0.25, attention_cap: 50.0, "
      "logit_cap: 30.0, rope: {base: 10000.0}, layers: [{window: 8}, {}]" },
    { SIZES "\"model_type\": \"mixtral\", \"rms_norm_eps\": 1e-6, \"num_local_experts\": 4, "
            "\"num_experts_per_tok\": 2, \"sliding_window\": null, \"rope_theta\": 10000.0",
      DECODER_SETTINGS
      "norm: {eps: 1e-6}, rope: {base: 10000.0}, layers: [{sparse: true}], mixture: "
      "{n_experts: 4, top_k: 2, hidden: 12}" },
    { SIZES "\"model_type\": \"qwen3_moe\", \"rms_norm_eps\": 1e-6, \"head_dim\": 4, "
            "\"num_experts\": 8, \"num_experts_per_tok\": 3, \"moe_intermediate_size\": 6, "
            "\"norm_topk_prob\": true, \"decoder_sparse_step\": 2, \"mlp_only_layers\": [3]",
      DECODER_SETTINGS
      "norm: {eps: 1e-6}, rope: {base: 10000.0}, qk_norm: head, layers: [{}, {sparse: "
      "true}, {count: 2}], mixture: {n_experts: 8, top_k: 3, hidden: 6}" },
    { "\"model_type\": \"gpt2\", \"vocab_size\": 16, \"n_embd\": 8, \"n_layer\": 4, \"n_head\": 2, "
      "\"n_positions\": 32, \"layer_norm_epsilon\": 1e-5, \"resid_pdrop\": 0.0, \"embd_pdrop\": "
      "0.0, \"attn_pdrop\": 0.0",
      "sample_key: input_ids, prediction_key: logits, vocab_size: 16, sequence_length: 32, n_embd: "
      "8, n_layer: 4, n_head_q: 2, n_head_kv: 2, ffn_hidden: 32, learned_positions: true, "
      "use_weight_tying: true, qkv_bias: true, out_bias: true, ffn_bias: true, gated: false, "
      "activation: gelu_tanh, norm: {type: layer, eps: 1e-5, bias: true}" },
    { "\"model_type\": \"gpt2\", \"vocab_size\": 16, \"n_embd\": 8, \"n_layer\": 4, \"n_head\": 2, "
      "\"n_positions\": 32, \"layer_norm_epsilon\": 1e-5, \"resid_pdrop\": 0.0, \"embd_pdrop\": "
      "0.0, \"attn_pdrop\": 0.0, \"activation_function\": \"relu\", \"scale_attn_weights\": false, "
      "\"scale_attn_by_inverse_layer_idx\": true",
      "sample_key: input_ids, prediction_key: logits, vocab_size: 16, sequence_length: 32, n_embd: "
      "8, n_layer: 4, n_head_q: 2, n_head_kv: 2, ffn_hidden: 32, learned_positions: true, "
      "use_weight_tying: true, qkv_bias: true, out_bias: true, ffn_bias: true, gated: false, "
      "activation: relu, norm: {type: layer, eps: 1e-5, bias: true}, attention_scale: 1.0, "
      "scale_by_layer: true" },
    { SIZES "\"model_type\": \"gemma\", \"rms_norm_eps\": 1e-6, \"head_dim\": 4, \"hidden_act\": "
            "\"relu2\"",
      DECODER_SETTINGS
      "norm: {eps: 1e-6, from_one: true}, activation: relu_squared, embedding_scale: "
      "2.8284270763397217, rope: {base: 10000.0}" },
    { SIZES
      "\"model_type\": \"olmo3\", \"rms_norm_eps\": 1e-6, \"sliding_window\": 8, \"rope_scaling\": "
      "{\"rope_type\": \"linear\", \"factor\": 2.0}",
      DECODER_SETTINGS
      "norm: {eps: 1e-6}, norm_in_front: false, norm_behind: true, qk_norm: width, rope: "
      "{base: 500000.0, kind: linear, factor: 2.0}, layers: [{count: 3, window: 8, rope: "
      "{base: 500000.0}}, {}]" },
    { SIZES
      "\"model_type\": \"olmo3\", \"rms_norm_eps\": 1e-6, \"layer_types\": [\"full_attention\", "
      "\"full_attention\", \"full_attention\", \"full_attention\"], \"sliding_window\": 4",
      DECODER_SETTINGS
      "norm: {eps: 1e-6}, norm_in_front: false, norm_behind: true, qk_norm: width, rope: "
      "{base: 500000.0}" },
    { SIZES "\"model_type\": \"olmoe\", \"rms_norm_eps\": 1e-6, \"num_experts\": 4, "
            "\"num_experts_per_tok\": 2",
      DECODER_SETTINGS
      "norm: {eps: 1e-6}, rope: {base: 10000.0}, qk_norm: width, layers: [{sparse: true}], "
      "mixture: {n_experts: 4, top_k: 2, hidden: 12, normalize: false}" },
    { SIZES "\"model_type\": \"smollm3\", \"rms_norm_eps\": 1e-6, \"use_sliding_window\": true, "
            "\"sliding_window\": 4",
      DECODER_SETTINGS
      "norm: {eps: 1e-6}, rope: {base: 2000000.0}, layers: [{count: 3}, {no_rope: true, "
      "window: 4}]" },
    { SIZES "\"model_type\": \"smollm3\", \"rms_norm_eps\": 1e-6, \"no_rope_layers\": [0, 1, 1, 0]",
      DECODER_SETTINGS
      "norm: {eps: 1e-6}, rope: {base: 2000000.0}, layers: [{no_rope: true}, {count: 2}, "
      "{no_rope: true}]" },
    { SIZES "\"model_type\": \"arcee\", \"rms_norm_eps\": 1e-6, \"mlp_bias\": true",
      DECODER_SETTINGS
      "norm: {eps: 1e-6}, rope: {base: 10000.0}, gated: false, activation: relu_squared, "
      "ffn_bias: true" },
    { SIZES
      "\"model_type\": \"granite\", \"rms_norm_eps\": 1e-6, \"embedding_multiplier\": 12.0, "
      "\"attention_multiplier\": 0.015625, \"residual_multiplier\": 0.22, \"logits_scaling\": 8.0",
      DECODER_SETTINGS
      "norm: {eps: 1e-6}, rope: {base: 10000.0}, embedding_scale: 12.0, attention_scale: "
      "0.015625, residual_scale: 0.22, logit_divisor: 8.0" },
    { SIZES "\"model_type\": \"granite\", \"rms_norm_eps\": 1e-6",
      DECODER_SETTINGS "norm: {eps: 1e-6}, rope: {base: 10000.0}, attention_scale: 1.0" },
    /* Gemma 3 has the option of bent scores, and its class does not use it. */
    { SIZES "\"model_type\": \"gemma3_text\", \"rms_norm_eps\": 1e-6, \"head_dim\": 4, "
            "\"sliding_window\": 8, \"layer_types\": [\"sliding_attention\", \"full_attention\", "
            "\"sliding_attention\", \"full_attention\"], \"query_pre_attn_scalar\": 16, "
            "\"attn_logit_softcapping\": 5.0, \"final_logit_softcapping\": 3.0",
      DECODER_SETTINGS
      "norm: {eps: 1e-6, from_one: true}, norm_behind: true, activation: gelu_tanh, "
      "embedding_scale: 2.8284270763397217, attention_scale: 0.25, logit_cap: 3.0, "
      "qk_norm: head, rope: {base: 1000000.0}, layers: [{window: 8, rope: {base: "
      "10000.0}}, {}]" },
    { SIZES "\"model_type\": \"gpt_neox\", \"rotary_pct\": 0.5, \"rotary_emb_base\": 500.0, "
            "\"rope_theta\": 20.0, \"hidden_dropout\": 0.1",
      "sample_key: input_ids, prediction_key: logits, vocab_size: 16, sequence_length: 32, n_embd: "
      "8, n_layer: 4, n_head_q: 2, n_head_kv: 2, ffn_hidden: 12, qkv_bias: true, out_bias: true, "
      "ffn_bias: true, gated: false, activation: gelu, norm: {type: layer, eps: 1e-5, bias: true}, "
      "residual: two_norms, rope: {base: 500.0, width: 2}, dropout: 0.1" },
    { SIZES "\"model_type\": \"granitemoe\", \"num_local_experts\": 4, \"num_experts_per_tok\": 2, "
            "\"embedding_multiplier\": 12.0, \"attention_multiplier\": 0.015625, "
            "\"residual_multiplier\": 0.22, \"logits_scaling\": 8.0",
      DECODER_SETTINGS
      "norm: {eps: 1e-6}, rope: {base: 10000.0}, embedding_scale: 12.0, attention_scale: 0.015625, "
      "residual_scale: 0.22, logit_divisor: 8.0, layers: [{sparse: true}], mixture: {n_experts: 4, "
      "top_k: 2, hidden: 12}" },
    { SIZES "\"model_type\": \"granitemoeshared\", \"num_local_experts\": 4, "
            "\"num_experts_per_tok\": 2, \"shared_intermediate_size\": 10, "
            "\"attention_multiplier\": 0.25",
      DECODER_SETTINGS
      "norm: {eps: 1e-6}, rope: {base: 10000.0}, attention_scale: 0.25, layers: [{sparse: true}], "
      "mixture: {n_experts: 4, top_k: 2, hidden: 12, shared_hidden: 10}" },
    { SIZES "\"model_type\": \"granitemoeshared\", \"num_local_experts\": 4, "
            "\"shared_intermediate_size\": 0",
      DECODER_SETTINGS
      "norm: {eps: 1e-6}, rope: {base: 10000.0}, attention_scale: 1.0, layers: [{sparse: true}], "
      "mixture: {n_experts: 4, top_k: 2, hidden: 12}" },
    { SIZES "\"model_type\": \"granite_swa\", \"sliding_window\": 4, \"rope_theta\": 500.0",
      DECODER_SETTINGS
      "norm: {eps: 1e-5}, rope: {base: 500.0}, attention_scale: 1.0, attention_sinks: true, "
      "layers: [{}, {count: 3, window: 4}]" },
    { SIZES "\"model_type\": \"granite_swa\", \"sliding_window\": 4, \"layer_rope_theta\": [0, "
            "500.0, 20.0, 0.0], \"residual_multiplier\": 0.22",
      DECODER_SETTINGS
      "norm: {eps: 1e-5}, attention_scale: 1.0, attention_sinks: true, residual_scale: 0.22, "
      "layers: [{}, {window: 4, rope: {base: 500.0}}, {window: 4, rope: {base: 20.0}}, {window: "
      "4}]" },
    { SIZES "\"model_type\": \"granitemoe_swa\", \"num_local_experts\": 4, "
            "\"num_experts_per_tok\": 2, \"shared_intermediate_size\": 10, \"sliding_window\": 4, "
            "\"layer_types\": [\"full_attention\", \"full_attention\", \"sliding_attention\", "
            "\"full_attention\"], \"layer_rope_theta\": [0, 0, 20.0, 0]",
      DECODER_SETTINGS
      "norm: {eps: 1e-6}, attention_scale: 1.0, attention_sinks: true, layers: [{count: 2, sparse: "
      "true}, {window: 4, sparse: true, rope: {base: 20.0}}, {sparse: true}], mixture: {n_experts: "
      "4, top_k: 2, hidden: 12, shared_hidden: 10}" },
    { SIZES "\"model_type\": \"hyperclovax\", \"attention_multiplier\": null, "
            "\"logits_scaling\": 0.125, \"embedding_multiplier\": 10.0",
      DECODER_SETTINGS
      "norm: {eps: 1e-6}, norm_behind: true, rope: {base: 10000.0}, embedding_scale: 10.0, "
      "logit_divisor: 8.0" },
    { SIZES "\"model_type\": \"hyperclovax\", \"attention_multiplier\": 0.25, "
            "\"use_post_norm\": false, \"mlp_bias\": true",
      DECODER_SETTINGS
      "norm: {eps: 1e-6}, rope: {base: 10000.0}, attention_scale: 0.25, ffn_bias: true" },
    { SIZES "\"model_type\": \"persimmon\", \"hidden_act\": \"relu2\"",
      "sample_key: input_ids, prediction_key: logits, vocab_size: 16, sequence_length: 32, n_embd: "
      "8, n_layer: 4, n_head_q: 2, n_head_kv: 2, ffn_hidden: 12, qkv_bias: true, out_bias: true, "
      "ffn_bias: true, gated: false, activation: relu_squared, norm: {type: layer, eps: 1e-5, "
      "bias: "
      "true}, qk_norm: head, rope: {base: 10000.0, width: 2}" },
    { SIZES "\"model_type\": \"persimmon\", \"qk_layernorm\": false, \"partial_rotary_factor\": "
            "1.0, \"hidden_act\": \"gelu\"",
      "sample_key: input_ids, prediction_key: logits, vocab_size: 16, sequence_length: 32, n_embd: "
      "8, n_layer: 4, n_head_q: 2, n_head_kv: 2, ffn_hidden: 12, qkv_bias: true, out_bias: true, "
      "ffn_bias: true, gated: false, activation: gelu, norm: {type: layer, eps: 1e-5, bias: true}, "
      "rope: {base: 10000.0}" },
    { SIZES "\"model_type\": \"mellum\", \"head_dim\": 4, \"num_experts\": 4, "
            "\"num_nextn_predict_layers\": null, "
            "\"num_experts_per_tok\": 2, \"moe_intermediate_size\": 6, \"rope_parameters\": "
            "{\"full_attention\": {\"rope_theta\": 500.0}, \"sliding_attention\": {\"rope_theta\": "
            "20.0}}",
      DECODER_SETTINGS
      "norm: {eps: 1e-6}, qk_norm: head, rope: {base: 500.0}, layers: [{sparse: true}], mixture: "
      "{n_experts: 4, top_k: 2, hidden: 6}" },
    { SIZES "\"model_type\": \"mellum\", \"head_dim\": 4, \"num_experts\": 4, "
            "\"num_experts_per_tok\": 2, \"moe_intermediate_size\": 6, \"norm_topk_prob\": false, "
            "\"sliding_window\": 4, \"layer_types\": [\"full_attention\", \"sliding_attention\", "
            "\"sliding_attention\", \"sliding_attention\"], \"mlp_layer_types\": [\"sparse\", "
            "\"dense\", \"dense\", \"dense\"], \"rope_parameters\": {\"full_attention\": "
            "{\"rope_theta\": 500.0}, \"sliding_attention\": {\"rope_theta\": 20.0}}",
      DECODER_SETTINGS
      "norm: {eps: 1e-6}, qk_norm: head, rope: {base: 500.0}, layers: [{sparse: true}, {count: 3, "
      "window: 4, rope: {base: 20.0}}], mixture: {n_experts: 4, top_k: 2, hidden: 6, normalize: "
      "false}" },
    { SIZES
      "\"model_type\": \"dots1\", \"n_routed_experts\": 8, \"n_shared_experts\": 2, "
      "\"num_experts_per_tok\": 3, \"moe_intermediate_size\": 6, \"first_k_dense_replace\": 1, "
      "\"norm_topk_prob\": true, \"routed_scaling_factor\": 2.5, \"sliding_window\": 4, "
      "\"max_window_layers\": 2",
      DECODER_SETTINGS
      "norm: {eps: 1e-6}, rope: {base: 10000.0}, qk_norm: head, layers: [{}, {sparse: true}, "
      "{sparse: true, window: 4, count: 2}], mixture: {score: sigmoid, n_experts: 8, top_k: 3, "
      "hidden: 6, shared_hidden: 12, factor: 2.5, balance_rate: 0.001}" },
    { SIZES "\"model_type\": \"hunyuan_v1_dense\", \"head_dim\": 4, \"use_qk_norm\": true, "
            "\"rope_scaling\": {\"type\": \"dynamic\", \"alpha\": 9.0, \"factor\": 1.0}",
      DECODER_SETTINGS
      "norm: {eps: 1e-5}, rope: {base: 810000.0}, qk_norm: head, qk_norm_before_rope: false" },
    { SIZES "\"model_type\": \"hunyuan_v1_moe\", \"num_experts\": 4, \"moe_topk\": [2, 2, 2, 2], "
            "\"moe_intermediate_size\": [12, 12, 12, 12], \"num_shared_expert\": [1, 1, 1, 1]",
      DECODER_SETTINGS
      "norm: {eps: 1e-5}, rope: {base: 10000.0}, qk_norm: head, qk_norm_before_rope: false, "
      "layers: [{sparse: true}], mixture: {n_experts: 4, top_k: 2, hidden: 12, shared_hidden: "
      "12}" },
    { SIZES "\"model_type\": \"minimax_m2\", \"head_dim\": 4, \"num_local_experts\": 4, "
            "\"num_experts_per_tok\": 2, \"rotary_dim\": 2, \"use_qk_norm\": true, "
            "\"scoring_func\": \"sigmoid\"",
      DECODER_SETTINGS
      "norm: {eps: 1e-6}, rope: {base: 5000000.0, width: 2}, qk_norm: width, layers: [{sparse: "
      "true}], mixture: {score: sigmoid, n_experts: 4, top_k: 2, hidden: 12, balance_rate: "
      "0.001}" },
    { SIZES
      "\"model_type\": \"ernie4_5_moe\", \"moe_num_experts\": 4, \"moe_k\": 2, "
      "\"moe_num_shared_experts\": 1, \"moe_intermediate_size\": 6, \"moe_layer_interval\": 2, "
      "\"moe_layer_end_index\": 2",
      DECODER_SETTINGS
      "norm: {eps: 1e-5}, rope: {base: 500000.0}, layers: [{}, {sparse: true}, {count: 2}], "
      "mixture: {n_experts: 4, top_k: 2, hidden: 6, shared_hidden: 6, balance_rate: 0.001}" },
    { SIZES "\"model_type\": \"falcon\", \"ffn_hidden_size\": 12", DECODER_SETTINGS
      "gated: false, activation: gelu, norm: {type: layer, eps: 1e-5, bias: true}, residual: "
      "one_norm, rope: {base: 10000.0}" },
    { SIZES "\"model_type\": \"falcon\", \"ffn_hidden_size\": 12, \"new_decoder_architecture\": "
            "true, \"num_kv_heads\": 1, \"bias\": true",
      DECODER_SETTINGS
      "gated: false, activation: gelu, norm: {type: layer, eps: 1e-5, bias: true}, residual: "
      "two_norms, rope: {base: 10000.0}, qkv_bias: true, out_bias: true, ffn_bias: true" },
    { SIZES "\"model_type\": \"falcon\", \"ffn_hidden_size\": 12, \"parallel_attn\": false",
      DECODER_SETTINGS
      "gated: false, activation: gelu, norm: {type: layer, eps: 1e-5, bias: true}, rope: {base: "
      "10000.0}" },
    { SIZES "\"model_type\": \"falcon\", \"ffn_hidden_size\": 12, \"alibi\": true", DECODER_SETTINGS
      "gated: false, activation: gelu, norm: {type: layer, eps: 1e-5, bias: true}, residual: "
      "one_norm, alibi: 8.0, alibi_scale: 0.5" },
    { SIZES "\"model_type\": \"phi\", \"partial_rotary_factor\": 0.5, \"layer_norm_eps\": 1e-6, "
            "\"resid_pdrop\": 0.1",
      DECODER_SETTINGS
      "qkv_bias: true, out_bias: true, ffn_bias: true, head_bias: true, gated: false, activation: "
      "gelu_tanh, norm: {type: layer, eps: 1e-6, bias: true}, residual: one_norm, rope: {width: "
      "2}, dropout: 0.1, embedding_dropout: 0.0" },
    { SIZES "\"model_type\": \"phi\", \"partial_rotary_factor\": 0.5, \"qk_layernorm\": true, "
            "\"hidden_act\": \"quick_gelu\"",
      DECODER_SETTINGS
      "qkv_bias: true, out_bias: true, ffn_bias: true, head_bias: true, gated: false, activation: "
      "quick_gelu, norm: {type: layer, eps: 1e-5, bias: true}, residual: one_norm, rope: {width: "
      "2}, qk_norm: head" },
    { "\"model_type\": \"gptj\", \"vocab_size\": 16, \"n_embd\": 8, \"n_layer\": 4, \"n_head\": 2, "
      "\"n_positions\": 32, \"rotary_dim\": 2, \"attn_pdrop\": 0.1",
      "sample_key: input_ids, prediction_key: logits, vocab_size: 16, sequence_length: 32, n_embd: "
      "8, n_layer: 4, n_head_q: 2, n_head_kv: 2, ffn_hidden: 32, ffn_bias: true, head_bias: true, "
      "gated: false, activation: gelu_tanh, norm: {type: layer, eps: 1e-5, bias: true}, residual: "
      "one_norm, rope: {width: 2}, attention_dropout: 0.1" },
    { "\"model_type\": \"codegen\", \"vocab_size\": 16, \"n_embd\": 16, \"n_layer\": 4, "
      "\"n_head\": 4, "
      "\"n_positions\": 32, \"rotary_dim\": 2, \"n_inner\": 20",
      "sample_key: input_ids, prediction_key: logits, vocab_size: 16, sequence_length: 32, n_embd: "
      "16, n_layer: 4, n_head_q: 4, n_head_kv: 4, ffn_hidden: 20, ffn_bias: true, head_bias: true, "
      "gated: false, activation: gelu_tanh, norm: {type: layer, eps: 1e-5, bias: true}, residual: "
      "one_norm, rope: {width: 2}" },
    { SIZES "\"model_type\": \"gpt_neox\", \"rotary_pct\": 1.0, \"use_parallel_residual\": false, "
            "\"attention_bias\": false, \"layer_norm_eps\": 1e-6",
      "sample_key: input_ids, prediction_key: logits, vocab_size: 16, sequence_length: 32, n_embd: "
      "8, n_layer: 4, n_head_q: 2, n_head_kv: 2, ffn_hidden: 12, ffn_bias: true, gated: false, "
      "activation: gelu, norm: {type: layer, eps: 1e-6, bias: true}, rope: {base: 10000.0, width: "
      "4}" },
    { "\"model_type\": \"gpt_neox_japanese\", \"vocab_size\": 16, \"hidden_size\": 8, "
      "\"num_hidden_layers\": 4, \"num_attention_heads\": 2, \"max_position_embeddings\": 32, "
      "\"rotary_emb_base\": 500.0, \"layer_norm_eps\": 1e-6, \"hidden_dropout\": 0.2",
      "sample_key: input_ids, prediction_key: logits, vocab_size: 16, sequence_length: 32, n_embd: "
      "8, n_layer: 4, n_head_q: 2, n_head_kv: 2, ffn_hidden: 32, out_bias: true, gated: false, "
      "activation: gelu, norm: {type: layer, eps: 1e-6, bias: true}, rope: {base: 500.0}, layers: "
      "[{count: 3, no_out_bias: true}, {}], dropout: 0.2, embedding_dropout: 0.0, "
      "attention_dropout: 0.1, use_weight_tying: true" },
    { SIZES "\"model_type\": \"stablelm\", \"partial_rotary_factor\": 0.5, "
            "\"use_parallel_residual\": true, \"use_qkv_bias\": true",
      DECODER_SETTINGS
      "norm: {type: layer, eps: 1e-5, bias: true}, residual: one_norm, qkv_bias: true, "
      "rope: {width: 2}" },
    { SIZES "\"model_type\": \"stablelm\", \"partial_rotary_factor\": 0.5, "
            "\"use_parallel_residual\": true, \"qk_layernorm\": true",
      DECODER_SETTINGS
      "norm: {type: layer, eps: 1e-5, bias: true}, residual: one_norm, rope: {width: 2}, qk_norm: "
      "each_head, qk_norm_bias: false" },
    { SIZES "\"model_type\": \"starcoder2\", \"sliding_window\": 4, \"residual_dropout\": 0.2, "
            "\"embedding_dropout\": 0.2, \"norm_epsilon\": 1e-4",
      DECODER_SETTINGS
      "norm: {type: layer, eps: 1e-4, bias: true}, gated: false, activation: gelu_tanh, "
      "qkv_bias: true, out_bias: true, ffn_bias: true, rope: {}, layers: [{window: 4}], "
      "dropout: 0.2" },
    { SIZES "\"model_type\": \"nemotron\", \"rope_scaling\": {\"rope_type\": \"yarn\", "
            "\"factor\": 4.0, \"original_max_position_embeddings\": 8}",
      DECODER_SETTINGS
      "norm: {type: layer, eps: 1e-5, bias: true, from_one: true}, gated: false, "
      "activation: relu_squared, rope: {kind: yarn, factor: 4.0, original: 8, width: 2}" },
    { SIZES "\"model_type\": \"phi3\", \"rms_norm_eps\": 1e-5, \"sliding_window\": null, "
            "\"original_max_position_embeddings\": 8, \"rope_scaling\": {\"type\": \"su\", "
            "\"short_factor\": [1.0, 1.5], \"long_factor\": [2.0, 4.0]}",
      DECODER_SETTINGS
      "rope: {kind: longrope, factor: 4.0, original: 8, short_factors: [1.0, 1.5], "
      "long_factors: [2.0, 4.0]}" },
    { SIZES "\"model_type\": \"llama\", \"rms_norm_eps\": 1e-5, \"rope_scaling\": {\"rope_type\": "
            "\"longrope\", \"short_factor\": [1.0, 1.5], \"long_factor\": [2.0, 4.0], "
            "\"attention_factor\": 1.25, \"original_max_position_embeddings\": 8}",
      DECODER_SETTINGS
      "rope: {kind: longrope, original: 8, short_factors: [1.0, 1.5], long_factors: [2.0, "
      "4.0], attention: 1.25}" },
    { SIZES "\"model_type\": \"cohere\", \"logit_scale\": 0.25", DECODER_SETTINGS
      "norm: {type: layer, eps: 1e-5}, residual: one_norm, rope: {base: 500000.0}, "
      "logit_divisor: 4.0" },
    { SIZES "\"model_type\": \"cohere\", \"use_qk_norm\": true", DECODER_SETTINGS
      "norm: {type: layer, eps: 1e-5}, residual: one_norm, rope: {base: 500000.0}, "
      "logit_divisor: 16.0, qk_norm: each_head" },
    { SIZES "\"model_type\": \"cohere2\", \"sliding_window\": 4", DECODER_SETTINGS
      "norm: {type: layer, eps: 1e-5}, residual: one_norm, rope: {}, logit_divisor: 16.0, "
      "layers: [{count: 3, window: 4}, {no_rope: true}]" },
    { SIZES "\"model_type\": \"glm\", \"head_dim\": 8, \"rms_norm_eps\": 1e-5",
      DECODER_SETTINGS "head_width: 8, qkv_bias: true, rope: {width: 4}" },
    { SIZES "\"model_type\": \"glm4\", \"head_dim\": 8, \"rms_norm_eps\": 1e-5, "
            "\"attention_bias\": false",
      DECODER_SETTINGS "head_width: 8, norm_behind: true, rope: {width: 4}" },
    { SIZES "\"model_type\": \"glm4_moe\", \"head_dim\": 8, \"use_qk_norm\": true, "
            "\"n_routed_experts\": 4, \"n_shared_experts\": 2, \"num_experts_per_tok\": 2, "
            "\"moe_intermediate_size\": 6, \"first_k_dense_replace\": 1, \"norm_topk_prob\": "
            "false, \"routed_scaling_factor\": 1.5",
      DECODER_SETTINGS
      "head_width: 8, qk_norm: head, rope: {width: 4}, layers: [{}, {count: 3, sparse: "
      "true}], mixture: {score: sigmoid, n_experts: 4, top_k: 2, hidden: 6, "
      "shared_hidden: 12, normalize: false, factor: 1.5, balance_rate: 0.001}" },
    { SIZES "\"model_type\": \"qwen2_moe\", \"num_experts\": 4, \"num_experts_per_tok\": 2, "
            "\"moe_intermediate_size\": 6, \"shared_expert_intermediate_size\": 10, \"qkv_bias\": "
            "false, \"use_sliding_window\": true, \"sliding_window\": 4, \"max_window_layers\": 2",
      DECODER_SETTINGS
      "norm: {eps: 1e-6}, rope: {}, layers: [{sparse: true, window: 4}, {count: 3, sparse: true}], "
      "mixture: {n_experts: 4, top_k: 2, hidden: 6, normalize: false, shared_hidden: 10, "
      "shared_gate: true}" },
    { SIZES
      "\"model_type\": \"afmoe\", \"head_dim\": 4, \"num_experts\": 4, \"num_shared_experts\": 2, "
      "\"num_experts_per_tok\": 2, \"moe_intermediate_size\": 6, \"num_dense_layers\": 1, "
      "\"route_scale\": 1.5, \"mup_enabled\": true, \"sliding_window\": 4, "
      "\"global_attn_every_n_layers\": 2",
      DECODER_SETTINGS
      "norm_behind: true, qk_norm: head, rope: {}, attention_gate: feature, "
      "embedding_scale: 2.8284271247461903, layers: [{window: 4}, {no_rope: true, sparse: "
      "true}, {window: 4, sparse: true}, {no_rope: true, sparse: true}], mixture: {score: "
      "sigmoid, n_experts: 4, top_k: 2, hidden: 6, shared_hidden: 12, factor: 1.5, "
      "balance_rate: 0.001}" },
    { SIZES "\"model_type\": \"ernie4_5\", \"head_dim\": 4, \"use_bias\": true",
      DECODER_SETTINGS "qkv_bias: true, out_bias: true, ffn_bias: true, rope: {}" },
    { SIZES "\"model_type\": \"seed_oss\", \"head_dim\": 4",
      DECODER_SETTINGS "norm: {eps: 1e-6}, qkv_bias: true, rope: {}" },
    { SIZES "\"model_type\": \"exaone4\", \"head_dim\": 4, \"sliding_window\": 5, "
            "\"sliding_window_pattern\": \"LG\", \"layer_types\": [\"sliding_attention\", "
            "\"full_attention\", \"sliding_attention\", \"full_attention\"]",
      DECODER_SETTINGS "norm_in_front: false, norm_behind: true, qk_norm: head, rope: {}, layers: "
                       "[{window: 5}, {no_rope: true}]" },
    { SIZES "\"model_type\": \"exaone4\", \"head_dim\": 4, \"sliding_window\": null",
      DECODER_SETTINGS "norm_in_front: false, norm_behind: true, qk_norm: head, rope: {}" },
    { SIZES "\"model_type\": \"apertus\", \"rope_parameters\": {\"rope_type\": \"default\"}",
      DECODER_SETTINGS "qk_norm: head, gated: false, activation: xielu, rope: {base: 12000000.0}" },
    { SIZES "\"model_type\": \"gpt_oss\", \"head_dim\": 4, \"sliding_window\": 5, "
            "\"num_local_experts\": 4, \"num_experts_per_tok\": 2, \"rope_parameters\": "
            "{\"rope_type\": \"default\"}",
      DECODER_SETTINGS "rope: {base: 150000.0}, qkv_bias: true, out_bias: true, attention_sinks: "
                       "true, activation: clamped_swiglu, layers: [{window: 5, sparse: true}, "
                       "{sparse: true}], mixture: {n_experts: 4, top_k: 2, hidden: 12, bias: true, "
                       "aux_loss: 0.001}" },
    { SIZES "\"model_type\": \"gemma3n_text\", \"head_dim\": 4, \"sliding_window\": 5, "
            "\"rms_norm_eps\": 1e-5, \"final_logit_softcapping\": 9.0, "
            "\"hidden_size_per_layer_input\": 4, \"vocab_size_per_layer_input\": 3, "
            "\"num_kv_shared_layers\": 2, \"altup_num_inputs\": 3, \"altup_active_idx\": 2, "
            "\"altup_coef_clip\": 7.0, \"laurel_rank\": 2, \"activation_sparsity_pattern\": "
            "[0.25, 0.0, 0.0, 0.0], \"layer_types\": [\"sliding_attention\", \"full_attention\", "
            "\"sliding_attention\", "
            "\"full_attention\"]",
      DECODER_SETTINGS
      "embedding_scale: 2.8284270763397217, attention_scale: 1.0, activation: gelu_tanh, "
      "norm_behind: true, qk_norm: head, value_norm: true, logit_cap: 9.0, laurel_rank: 2, "
      "alternating_updates: {streams: 3, active: 2, bound: 7.0, scale: true}, "
      "per_layer_embedding: {width: 4, vocab_size: 3, scale: 2.0}, rope: {base: 1000000.0}, "
      "layers: [{window: 5, rope: {}, sparsity: 0.25}, {}, {window: 5, rope: {}, shared_kv: true}, "
      "{shared_kv: true}]" },
    { SIZES "\"model_type\": \"gemma4_text\", \"head_dim\": 4, \"global_head_dim\": 8, "
            "\"num_global_key_value_heads\": 2, \"attention_k_eq_v\": true, \"sliding_window\": 5, "
            "\"hidden_size_per_layer_input\": 0, \"rms_norm_eps\": 1e-5, "
            "\"use_bidirectional_attention\": \"vision\", \"layer_types\": "
            "[\"sliding_attention\", \"full_attention\", \"sliding_attention\", "
            "\"sliding_attention\"]",
      DECODER_SETTINGS "embedding_scale: 2.8284270763397217, attention_scale: 1.0, activation: "
                       "gelu_tanh, norm_behind: true, qk_norm: head, value_norm: true, "
                       "block_scale: true, rope: {base: 1000000.0, width: 2, proportional: true}, "
                       "layers: [{window: 5, rope: {}}, {head_width: 8, n_head_kv: 2, "
                       "keys_as_values: true}]" },
    { SIZES "\"model_type\": \"gemma4_text\", \"head_dim\": 4, \"global_head_dim\": 8, "
            "\"sliding_window\": 5, \"hidden_size_per_layer_input\": 4, \"rms_norm_eps\": 1e-5, "
            "\"vocab_size_per_layer_input\": 20, \"num_kv_shared_layers\": 2, "
            "\"use_double_wide_mlp\": true, \"layer_types\": [\"sliding_attention\", "
            "\"full_attention\", \"sliding_attention\", \"full_attention\"]",
      DECODER_SETTINGS
      "embedding_scale: 2.8284270763397217, attention_scale: 1.0, activation: "
      "gelu_tanh, norm_behind: true, qk_norm: head, value_norm: true, "
      "block_scale: true, rope: {}, per_layer_embedding: {width: 4, vocab_size: 20, scale: 2.0}, "
      "layers: [{window: 5}, {head_width: 8, rope: {base: 1000000.0, width: 2, proportional: "
      "true}}, {window: 5, shared_kv: true, ffn_hidden: 24}, {head_width: 8, shared_kv: true, "
      "ffn_hidden: 24, rope: {base: 1000000.0, width: 2, proportional: true}}]" },
    { SIZES "\"model_type\": \"gemma4_unified_text\", \"head_dim\": 4, \"global_head_dim\": 8, "
            "\"rms_norm_eps\": 1e-5, \"num_kv_shared_layers\": 1, \"layer_types\": "
            "[\"full_attention\", \"sliding_attention\", \"full_attention\", "
            "\"sliding_attention\"], \"attention_bias\": true",
      DECODER_SETTINGS
      "embedding_scale: 2.8284270763397217, attention_scale: 1.0, activation: "
      "gelu_tanh, norm_behind: true, qk_norm: head, value_norm: true, qkv_bias: true, out_bias: "
      "true, block_scale: true, rope: {base: 1000000.0, width: 2, proportional: true}, layers: "
      "[{head_width: 8}, {window: 1024, rope: {}}, {head_width: 8}, {head_width: 8, shared_kv: "
      "true}]" },
    { SIZES "\"model_type\": \"gemma4_text\", \"head_dim\": 4, \"global_head_dim\": 8, "
            "\"sliding_window\": 5, \"hidden_size_per_layer_input\": 0, \"rms_norm_eps\": 1e-5, "
            "\"enable_moe_block\": true, \"num_experts\": 4, \"top_k_experts\": 2, "
            "\"moe_intermediate_size\": 6, \"final_logit_softcapping\": 9.0",
      DECODER_SETTINGS
      "embedding_scale: 2.8284270763397217, attention_scale: 1.0, activation: "
      "gelu_tanh, norm_behind: true, qk_norm: head, value_norm: true, "
      "block_scale: true, logit_cap: 9.0, rope: {}, layers: [{count: 3, window: 5, "
      "sparse: true}, {head_width: 8, rope: {base: 1000000.0, width: 2, proportional: true}, "
      "sparse: true}], mixture: {n_experts: 4, top_k: 2, hidden: 6, beside_ffn: "
      "true, router_norm: true, expert_scale: true}" },
    { "\"model_type\": \"dbrx\", \"vocab_size\": 16, \"d_model\": 8, \"n_layers\": 4, \"n_heads\": "
      "2, \"max_seq_len\": 32, \"resid_pdrop\": 0.1, \"attn_config\": {\"clip_qkv\": 8, "
      "\"rope_theta\": 500000.0, \"attn_pdrop\": 0.2}, \"ffn_config\": {\"ffn_hidden_size\": 6, "
      "\"moe_num_experts\": 4, \"moe_top_k\": 2, \"moe_normalize_expert_weights\": null, "
      "\"ffn_act_fn\": {\"name\": \"gelu\"}}",
      "sample_key: input_ids, prediction_key: logits, vocab_size: 16, sequence_length: 32, n_embd: "
      "8, n_layer: 4, n_head_q: 2, n_head_kv: 1, dropout: 0.1, embedding_dropout: 0.0, "
      "attention_dropout: 0.2, norm: {type: layer, eps: 1e-5}, qkv_clip: 8.0, activation: gelu, "
      "rope: {base: 500000.0}, layers: [{sparse: true}], mixture: {n_experts: 4, top_k: 2, hidden: "
      "6, normalize: false, aux_loss: 0.01}" },
    { SIZES "\"model_type\": \"nanochat\", \"rms_norm_eps\": 1e-4",
      DECODER_SETTINGS "norm: {eps: 1e-4, weight: false}, embedding_norm: true, qk_norm: head, "
                       "qk_norm_before_rope: false, rope: {}, logit_cap: 15.0, gated: false, "
                       "activation: relu_squared" },
    { SIZES "\"model_type\": \"cohere2_moe\", \"head_dim\": 4, \"sliding_window\": 5, "
            "\"sliding_window_pattern\": 2, \"num_experts\": 4, \"num_shared_experts\": 2, "
            "\"first_k_dense_replace\": 1, \"prefix_dense_intermediate_size\": 12, "
            "\"logit_scale\": 0.5",
      DECODER_SETTINGS
      "norm: {type: layer, eps: 1e-5}, residual: one_norm, rope: {}, "
      "logit_divisor: 2.0, layers: [{}, {window: 5, sparse: true}, {no_rope: true, "
      "sparse: true}, {window: 5, sparse: true}], mixture: {n_experts: 4, top_k: "
      "2, hidden: 12, factor: 0.5, shared_hidden: 24, shared_factor: 0.5}" },
    { SIZES "\"model_type\": \"cohere2_moe\", \"head_dim\": 4, \"sliding_window\": null, "
            "\"num_experts\": 4, \"expert_selection_fn\": \"sigmoid\", \"norm_topk_prob\": false, "
            "\"num_shared_experts\": 1, \"shared_expert_combination_strategy\": \"sum\", "
            "\"rms_norm_eps\": 1e-5, \"logit_scale\": 1.0, \"mlp_layer_types\": [\"dense\", "
            "\"sparse\", \"sparse\", \"sparse\"]",
      DECODER_SETTINGS
      "residual: one_norm, rope: {}, layers: [{}, {count: 3, no_rope: true, sparse: "
      "true}], mixture: {n_experts: 4, top_k: 2, hidden: 12, score: sigmoid, "
      "normalize: false, shared_hidden: 12}" },
    { SIZES "\"model_type\": \"flint\", \"head_dim\": 4, \"num_experts\": 4, "
            "\"num_experts_per_tok\": 2, \"moe_intermediate_size\": 6, "
            "\"shared_expert_intermediate_size\": 10, \"sliding_window\": 5",
      DECODER_SETTINGS "norm: {eps: 1e-6}, qk_norm: head, attention_sinks: true, rope: {}, "
                       "layers: [{count: 2, no_rope: true}, {window: 5, sparse: true}, {no_rope: "
                       "true, sparse: true}], mixture: {score: sigmoid, n_experts: 4, top_k: 2, "
                       "hidden: 6, shared_hidden: 10, aux_loss: 0.0005}" },
    { SIZES "\"model_type\": \"laguna\", \"head_dim\": 4, \"num_experts\": 9, "
            "\"moe_intermediate_size\": 6, \"shared_expert_intermediate_size\": 10",
      DECODER_SETTINGS
      "norm: {eps: 1e-6}, qk_norm: head, attention_gate: head, attention_gate_by: softplus, rope: "
      "{base: 500000.0, width: 2}, layers: [{}, {count: 3, sparse: true}], mixture: {score: "
      "sigmoid, n_experts: 9, top_k: 8, hidden: 6, shared_hidden: 10, aux_loss: 0.001, "
      "balance_rate: 0.001}" },
    { SIZES
      "\"model_type\": \"laguna\", \"head_dim\": 4, \"num_experts\": 4, \"attention_bias\": true, "
      "\"num_experts_per_tok\": 2, \"moe_intermediate_size\": 6, \"gating\": \"per-element\", "
      "\"shared_expert_intermediate_size\": 10, \"num_attention_heads_per_layer\": [2, 3, 2, 3], "
      "\"moe_router_logit_softcapping\": 0.5, \"moe_routed_scaling_factor\": 2.5, "
      "\"mlp_layer_types\": [\"sparse\", \"dense\", \"sparse\", \"dense\"], \"sliding_window\": 5, "
      "\"layer_types\": [\"full_attention\", \"sliding_attention\", \"full_attention\", "
      "\"sliding_attention\"], \"rope_parameters\": {\"full_attention\": {\"rope_theta\": 500.0}, "
      "\"sliding_attention\": {\"rope_theta\": 100.0, \"partial_rotary_factor\": 0.5}}",
      DECODER_SETTINGS
      "norm: {eps: 1e-6}, qk_norm: head, qkv_bias: true, out_bias: true, attention_gate: feature, "
      "attention_gate_by: softplus, rope: {base: 500.0}, layers: [{sparse: true}, {window: 5, "
      "n_head_q: 3, rope: {base: 100.0, width: 2}}], mixture: {score: sigmoid, n_experts: 4, "
      "top_k: 2, hidden: 6, shared_hidden: 10, factor: 2.5, logit_cap: 0.5, aux_loss: 0.001, "
      "balance_rate: 0.001}" },
    { SIZES "\"model_type\": \"flint\", \"head_dim\": 4, \"num_experts\": 4, "
            "\"num_experts_per_tok\": 2, \"moe_intermediate_size\": 6, "
            "\"shared_expert_intermediate_size\": 10, \"mlp_only_layers\": [], "
            "\"decoder_sparse_step\": 2, \"norm_topk_prob\": false, \"attention_bias\": true, "
            "\"sliding_window\": 5, \"layer_types\": [\"sliding_attention\", "
            "\"full_attention\", \"sliding_attention\", \"full_attention\"]",
      DECODER_SETTINGS
      "norm: {eps: 1e-6}, qkv_bias: true, out_bias: true, qk_norm: head, attention_sinks: true, "
      "rope: {}, layers: [{window: 5}, {no_rope: true, sparse: true}], mixture: {score: sigmoid, "
      "n_experts: 4, top_k: 2, hidden: 6, normalize: false, shared_hidden: 10, aux_loss: 0.0005}" },
    { SIZES "\"model_type\": \"hy_v3\", \"head_dim\": 4, \"num_experts\": 4, "
            "\"num_shared_experts\": 2, \"num_experts_per_tok\": 2, \"moe_intermediate_size\": 6",
      DECODER_SETTINGS
      "qk_norm: head, rope: {base: 11158840.0}, layers: [{}, {count: 3, sparse: true}], "
      "mixture: {score: sigmoid, n_experts: 4, top_k: 2, hidden: 6, shared_hidden: 12, factor: "
      "2.826, balance_rate: 0.001}" },
    { SIZES "\"model_type\": \"hy_v3\", \"head_dim\": 4, \"num_experts\": 4, "
            "\"num_shared_experts\": 1, \"num_experts_per_tok\": 2, \"moe_intermediate_size\": 6, "
            "\"router_scaling_factor\": 1.5, \"attention_bias\": true, \"mlp_layer_types\": "
            "[\"sparse\", \"dense\", \"sparse\", \"dense\"]",
      DECODER_SETTINGS
      "qkv_bias: true, out_bias: true, qk_norm: head, rope: {base: 11158840.0}, layers: "
      "[{sparse: true}, {}], mixture: {score: sigmoid, n_experts: 4, top_k: 2, hidden: 6, "
      "shared_hidden: 6, factor: 1.5, balance_rate: 0.001}" },
    { SIZES "\"model_type\": \"phimoe\", \"num_local_experts\": 4, \"lm_head_bias\": true, "
            "\"rope_parameters\": {\"rope_type\": \"longrope\", \"rope_theta\": 10000.0, "
            "\"short_factor\": [1.0, 2.0], \"long_factor\": [2.0, 4.0], \"short_mscale\": 1.25, "
            "\"long_mscale\": 1.25, \"original_max_position_embeddings\": 8}",
      DECODER_SETTINGS "norm: {type: layer, bias: true}, head_bias: true, rope: {kind: longrope, "
                       "factor: 4.0, original: 8, attention: 1.25, short_factors: [1.0, 2.0], "
                       "long_factors: [2.0, 4.0]}, layers: [{sparse: true}], mixture: {n_experts: "
                       "4, top_k: 2, hidden: 12, score: mixer, near: 0.01, normalize: false, "
                       "aux_loss: 0.001}" },
    { SIZES "\"model_type\": \"llama4_text\", \"head_dim\": 4, \"attention_chunk_size\": 5, "
            "\"num_local_experts\": 4, \"interleave_moe_layer_step\": 2, "
            "\"intermediate_size_mlp\": 12, \"floor_scale\": 16",
      DECODER_SETTINGS "rope: {base: 500000.0}, qk_norm: head, qk_norm_weight: false, "
                       "qk_norm_before_rope: false, layers: [{window: 5, chunks: true}, {window: "
                       "5, chunks: true, sparse: true}, {window: 5, chunks: true}, {no_qk_norm: "
                       "true, rope: {still: true, growth: 0.1, growth_offset: 1, original: 16}, "
                       "sparse: true}], mixture: {n_experts: 4, top_k: 1, hidden: 12, score: "
                       "sigmoid, normalize: false, weigh_inputs: true, shared_hidden: 12}" },
    { SIZES "\"model_type\": \"llama4_text\", \"head_dim\": 4, \"attention_chunk_size\": null, "
            "\"num_local_experts\": 4, \"num_experts_per_tok\": 2, \"use_qk_norm\": false, "
            "\"intermediate_size_mlp\": 12, \"attn_temperature_tuning\": 0, \"moe_layers\": [0], "
            "\"no_rope_layers\": [1, 0, 1, 1], \"attention_bias\": true",
      DECODER_SETTINGS "rope: {base: 500000.0}, qkv_bias: true, out_bias: true, layers: [{sparse: "
                       "true}, {no_rope: true}, {count: 2}], mixture: {n_experts: 4, top_k: 2, "
                       "hidden: 12, score: sigmoid, normalize: false, weigh_inputs: true, "
                       "shared_hidden: 12}" },
    { "\"vocab_size\": 16, \"hidden_size\": 8, \"num_hidden_layers\": 4, \"num_attention_heads\": "
      "2, \"num_key_value_heads\": 1, \"max_position_embeddings\": 32, \"tie_word_embeddings\": "
      "false, \"model_type\": \"kolibri1\", \"head_dim\": 4, \"num_experts\": 4, "
      "\"num_experts_per_tok\": 2, \"moe_intermediate_size\": 6, "
      "\"shared_expert_intermediate_size\": 10, \"sliding_window_pattern\": 2",
      DECODER_SETTINGS "norm: {eps: 1e-6}, norm_behind: true, qk_norm: head, rope: {}, layers: "
                       "[{window: 513, sparse: true}], mixture: {score: sigmoid, n_experts: 4, "
                       "top_k: 2, hidden: 6, shared_hidden: 10, normalize: false, by_logits: true, "
                       "balance_rate: 0.001}" },
    { SIZES "\"model_type\": \"sarvam_moe\", \"head_dim\": 4, \"num_experts\": 4, "
            "\"num_shared_experts\": 1, \"num_experts_per_tok\": 2, \"moe_intermediate_size\": 6, "
            "\"first_k_dense_replace\": 1, \"use_qkv_bias\": true, \"score_function\": \"sigmoid\"",
      DECODER_SETTINGS
      "norm: {eps: 1e-6}, qk_norm: head, qkv_bias: true, rope: {base: 8000000.0}, layers: [{}, "
      "{sparse: true, count: 3}], mixture: {score: sigmoid, n_experts: 4, top_k: 2, hidden: 6, "
      "shared_hidden: 6, factor: 2.5, balance_rate: 0.001}" },
    { LATENT "\"model_type\": \"sarvam_mla\", \"head_dim\": 8, \"first_k_dense_replace\": 1, "
             "\"rope_scaling\": {\"type\": \"deepseek_yarn\", \"factor\": 4.0, "
             "\"original_max_position_embeddings\": 8, \"mscale\": 1.0, \"mscale_all_dim\": 1.0}",
      LATENT_SETTINGS
      "norm: {eps: 1e-6}, attention_scale: 0.5292845159284535, rope: {kind: yarn, factor: 4.0, "
      "original: 8, attention: 1.0}, latent: {key_rank: 6, rope_width: 2, value_width: 3}, "
      "layers: [{}, {sparse: true, count: 3}], mixture: {score: sigmoid, n_experts: 8, top_k: 2, "
      "hidden: 6, shared_hidden: 6, factor: 1.5, n_groups: 4, top_groups: 2, balance_rate: "
      "0.001}" },
    { SIZES "\"model_type\": \"lfm3\", \"head_dim\": 8, \"sliding_window\": 5", DECODER_SETTINGS
      "norm: {eps: 1e-5}, norm_behind: true, qk_norm: head, head_width: 8, attention_gate: head, "
      "short_conv: {width: 7}, rope: {base: 1000000.0, width: 4, proportional: true}, layers: "
      "[{count: 2, conv: true}, {}, {conv: true}]" },
    { SIZES
      "\"model_type\": \"lfm3\", \"head_dim\": 4, \"sliding_window\": 5, "
      "\"use_sandwich_norm\": false, \"use_attention_gate\": false, \"conv_L_cache\": 3, "
      "\"layer_types\": [\"conv\", \"sliding_attention\", \"conv\", \"full_attention\"], "
      "\"attention_bias\": true, \"rope_parameters\": {\"sliding_attention\": {\"rope_type\": "
      "\"default\"}, \"full_attention\": {\"rope_theta\": 500.0}}",
      DECODER_SETTINGS
      "norm: {eps: 1e-5}, qk_norm: head, qkv_bias: true, out_bias: true, short_conv: {width: 3}, "
      "rope: {base: 500.0}, layers: [{conv: true}, {window: 5, rope: {base: 1000000.0}}, {conv: "
      "true}, {}]" },
    { SIZES "\"model_type\": \"mimo_v2_flash\", \"head_dim\": 6, \"v_head_dim\": 4, "
            "\"sliding_window_size\": 4, \"n_routed_experts\": 4, \"num_experts_per_tok\": 2, "
            "\"moe_intermediate_size\": 6, \"n_group\": 2",
      DECODER_SETTINGS
      "head_width: 6, value_width: 4, attention_sinks: true, multipliers: {attention_out: 0.707}, "
      "rope: {base: 5000000.0, width: 2}, layers: [{no_sinks: true}, {count: 3, window: 5, "
      "n_head_kv: 2, rope: {base: 10000.0, width: 2}, sparse: true}], mixture: {score: sigmoid, "
      "n_experts: 4, top_k: 2, hidden: 6, n_groups: 2, top_groups: 1, balance_rate: 0.001}" },
    { SIZES "\"model_type\": \"mimo_v2_flash\", \"head_dim\": 6, \"v_head_dim\": 4, "
            "\"sliding_window_size\": 4, \"n_routed_experts\": 4, \"num_experts_per_tok\": 2, "
            "\"moe_intermediate_size\": 6, \"hybrid_layer_pattern\": [0, 1, 0, 1], "
            "\"moe_layer_freq\": [1, 0, 1, 0]",
      DECODER_SETTINGS
      "head_width: 6, value_width: 4, attention_sinks: true, multipliers: {attention_out: 0.707}, "
      "rope: {base: 5000000.0, width: 2}, layers: [{no_sinks: true, sparse: true}, {window: 5, "
      "n_head_kv: 2, rope: {base: 10000.0, width: 2}}], mixture: {score: sigmoid, n_experts: 4, "
      "top_k: 2, hidden: 6, balance_rate: 0.001}" },
    { SIZES
      "\"model_type\": \"mimo_v2_flash\", \"head_dim\": 4, \"v_head_dim\": 4, \"layer_types\": "
      "[\"full_attention\", \"full_attention\", \"full_attention\", \"full_attention\"], "
      "\"attention_value_scale\": null, \"n_routed_experts\": 4, \"num_experts_per_tok\": 2, "
      "\"moe_intermediate_size\": 6, \"attention_bias\": true, \"routed_scaling_factor\": null, "
      "\"mlp_layer_types\": [\"sparse\", \"dense\", \"sparse\", \"dense\"], "
      "\"rope_parameters\": {\"full_attention\": {\"rope_theta\": 500.0, "
      "\"partial_rotary_factor\": 1.0}}",
      DECODER_SETTINGS
      "rope: {base: 500.0}, qkv_bias: true, layers: [{sparse: true}, {}], mixture: {score: "
      "sigmoid, n_experts: 4, top_k: 2, hidden: 6, balance_rate: 0.001}" },
    { LATENT "\"model_type\": \"deepseek_v2\", \"q_lora_rank\": null, \"topk_method\": "
             "\"group_limited_greedy\", \"first_k_dense_replace\": 1",
      LATENT_SETTINGS "norm: {eps: 1e-6}, latent: {key_rank: 6, rope_width: 2, value_width: 3}, "
                      "rope: {}, layers: [{}, {count: 3, sparse: true}], mixture: {n_experts: 8, "
                      "top_k: 2, hidden: 6, shared_hidden: 6, normalize: false, factor: 1.5, "
                      "n_groups: 4, top_groups: 2}" },
    { LATENT
      "\"model_type\": \"deepseek_v3\", \"q_lora_rank\": 5, \"norm_topk_prob\": true, "
      "\"first_k_dense_replace\": 1, \"attention_bias\": true, \"rope_scaling\": {\"rope_type\": "
      "\"yarn\", \"factor\": 4.0, \"mscale\": 1.0, \"mscale_all_dim\": 1.0, "
      "\"original_max_position_embeddings\": 8}",
      LATENT_SETTINGS
      "norm: {eps: 1e-6}, qkv_bias: true, out_bias: true, latent: {key_rank: 6, query_rank: "
      "5, rope_width: 2, value_width: 3}, rope: {kind: yarn, factor: 4.0, original: 8, attention: "
      "1.0}, attention_scale: 0.5292845159284535, layers: [{}, {count: 3, sparse: true}], "
      "mixture: {score: sigmoid, n_experts: 8, top_k: 2, hidden: 6, shared_hidden: 6, factor: 1.5, "
      "n_groups: 4, top_groups: 2, balance_rate: 0.001}" },
    { LATENT "\"model_type\": \"glm4_moe_lite\", \"q_lora_rank\": 5, \"norm_topk_prob\": false, "
             "\"mlp_layer_types\": [\"sparse\", \"dense\", \"sparse\", \"dense\"]",
      LATENT_SETTINGS "latent: {key_rank: 6, query_rank: 5, rope_width: 2, value_width: 3}, rope: "
                      "{}, layers: [{sparse: true}, {}], mixture: {score: sigmoid, n_experts: 8, "
                      "top_k: 2, hidden: 6, shared_hidden: 6, normalize: false, factor: 1.5, "
                      "n_groups: 4, top_groups: 2, balance_rate: 0.001}" },
    { MAMBA "\"model_type\": \"diffllama\", \"intermediate_size\": 12, \"num_attention_heads\": 4, "
            "\"head_dim\": 4, \"attention_bias\": true, \"lambda_std_dev\": 0.2",
      "sample_key: input_ids, prediction_key: logits, vocab_size: 16, sequence_length: 32, n_embd: "
      "8, n_layer: 4, n_head_q: 4, n_head_kv: 4, head_width: 4, ffn_hidden: 12, rope: {}, "
      "qkv_bias: true, out_bias: true, differential: {std: 0.2}" },
    { LATENT "\"model_type\": \"deepseek_v32\", \"q_lora_rank\": 5, \"index_n_heads\": 3, "
             "\"index_head_dim\": 4, \"index_topk\": 7, \"layer_types\": [\"indexed_attention\", "
             "\"indexed_attention\", \"indexed_attention\", \"indexed_attention\"]",
      LATENT_SETTINGS "norm: {eps: 1e-6}, latent: {key_rank: 6, query_rank: 5, rope_width: 2, "
                      "value_width: 3}, sparse_attention: {heads: 3, width: 4, top_k: 7}, rope: "
                      "{}, layers: [{count: 3}, {sparse: true}], mixture: {score: sigmoid, "
                      "n_experts: 8, top_k: 2, hidden: 6, shared_hidden: 6, factor: 1.5, n_groups: "
                      "4, top_groups: 2, balance_rate: 0.001}" },
    { LATENT "\"model_type\": \"deepseek_v32\", \"q_lora_rank\": 5, \"norm_topk_prob\": false, "
             "\"attention_bias\": true, \"first_k_dense_replace\": 1, \"mlp_layer_types\": "
             "[\"sparse\", \"dense\", \"sparse\", \"dense\"], \"indexer_rope_interleave\": false",
      LATENT_SETTINGS
      "norm: {eps: 1e-6}, qkv_bias: true, out_bias: true, latent: {key_rank: 6, query_rank: 5, "
      "rope_width: 2, value_width: 3}, sparse_attention: {heads: 64, width: 128, top_k: 2048}, "
      "rope: {}, layers: [{sparse: true}, {}], mixture: {score: sigmoid, n_experts: 8, top_k: 2, "
      "hidden: 6, shared_hidden: 6, normalize: false, factor: 1.5, n_groups: 4, top_groups: 2, "
      "balance_rate: 0.001}" },
    { SPREAD "\"model_type\": \"hy_v4\", \"q_lora_rank\": 5, \"index_n_heads\": 3, "
             "\"index_head_dim\": 4, \"index_topk\": 7, \"hc_mult\": 3, \"hc_magnitude\": 1.5, "
             "\"hc_eps\": 1e-3, \"swiglu_limit\": 0.5, \"indexer_types\": [\"full\", \"shared\", "
             "\"full\", \"shared\"]",
      LATENT_SETTINGS
      "norm: {eps: 1e-5}, attention_sinks: true, attention_gate: feature, latent: {key_rank: 6, "
      "query_rank: 5, rope_width: 2, value_width: 3}, sparse_attention: {heads: 3, width: 4, "
      "top_k: 7, eps: 1e-5}, rope: {}, hyper_connections: {streams: 3, iterations: 0, eps: 1e-3, "
      "write_scale: 1.5}, layers: [{}, {sparse: true, shared_index: true}, {sparse: true}, "
      "{sparse: true, shared_index: true}], mixture: {score: sigmoid, n_experts: 8, top_k: 2, "
      "hidden: 6, shared_hidden: 6, factor: 1.5, experts_bound: 0.5, balance_rate: 0.001}" },
    { SPREAD "\"model_type\": \"hy_v4\", \"q_lora_rank\": 5, \"attention_bias\": true, "
             "\"norm_topk_prob\": false, \"mlp_layer_types\": [\"sparse\", \"dense\", \"sparse\", "
             "\"dense\"]",
      LATENT_SETTINGS
      "norm: {eps: 1e-5}, attention_sinks: true, attention_gate: feature, qkv_bias: true, "
      "out_bias: true, latent: {key_rank: 6, query_rank: 5, rope_width: 2, value_width: 3}, "
      "sparse_attention: {heads: 16, width: 128, top_k: 2048, eps: 1e-5}, rope: {}, "
      "hyper_connections: {iterations: 0}, layers: [{sparse: true}, {}, {sparse: true, "
      "shared_index: true}, {shared_index: true}], mixture: {score: sigmoid, n_experts: 8, top_k: "
      "2, hidden: 6, shared_hidden: 6, normalize: false, factor: 1.5, experts_bound: 10.0, "
      "balance_rate: 0.001}" },
    { SPREAD "\"model_type\": \"axk2\", \"q_lora_rank\": 5, \"index_n_heads\": 3, "
             "\"index_head_dim\": 4, \"index_topk\": 7, \"gated_norm_rank\": 3, \"n_group\": null, "
             "\"topk_group\": null",
      LATENT_SETTINGS
      "norm: {eps: 1e-6}, norm_gate_rank: 3, attention_gate: feature, latent: {key_rank: 6, "
      "query_rank: 5, query_joined: true, rope_width: 2, value_width: 3}, sparse_attention: "
      "{heads: 3, width: 4, top_k: 7}, rope: {}, layers: [{}, {count: 3, sparse: true}], mixture: "
      "{score: sigmoid, n_experts: 8, top_k: 2, hidden: 6, shared_hidden: 6, factor: 1.5, "
      "balance_rate: 0.001}" },
    { SPREAD "\"model_type\": \"axk2\", \"q_lora_rank\": 5, \"norm_topk_prob\": false, "
             "\"attention_bias\": true, \"mlp_layer_types\": [\"sparse\", \"dense\", \"sparse\", "
             "\"dense\"], \"n_group\": 2, \"topk_group\": 2",
      LATENT_SETTINGS
      "norm: {eps: 1e-6}, norm_gate_rank: 16, attention_gate: feature, qkv_bias: true, out_bias: "
      "true, latent: {key_rank: 6, query_rank: 5, query_joined: true, rope_width: 2, value_width: "
      "3}, sparse_attention: {heads: 16, width: 128, top_k: 2048}, rope: {}, layers: [{sparse: "
      "true}, {}], mixture: {score: sigmoid, n_experts: 8, top_k: 2, hidden: 6, shared_hidden: 6, "
      "normalize: false, factor: 1.5, balance_rate: 0.001}" },
    { "\"model_type\": \"deepseek_v4\", \"vocab_size\": 16, \"hidden_size\": 8, "
      "\"moe_intermediate_size\": 6, \"num_hidden_layers\": 4, \"num_attention_heads\": 4, "
      "\"num_key_value_heads\": 1, \"head_dim\": 4, \"q_lora_rank\": 5, \"o_groups\": 2, "
      "\"o_lora_rank\": 3, \"qk_rope_head_dim\": 2, \"index_n_heads\": 3, \"index_head_dim\": 6, "
      "\"index_topk\": 7, \"n_routed_experts\": 8, \"num_experts_per_tok\": 2, "
      "\"max_position_embeddings\": 32, \"compress_ratios\": [0, 128, 4, 128], "
      "\"compress_rate_hca\": 8, \"num_hash_layers\": 1, \"router_aux_loss_coef\": 0.0, "
      "\"rope_scaling\": {\"type\": \"yarn\", \"factor\": 4.0, "
      "\"original_max_position_embeddings\": 8}",
      "sample_key: input_ids, prediction_key: logits, vocab_size: 16, sequence_length: 32, n_embd: "
      "8, n_layer: 4, n_head_q: 4, n_head_kv: 1, head_width: 4, norm: {eps: 1e-6}, "
      "attention_sinks: true, gate_bound: 10.0, rope: {base: 160000.0, kind: yarn, factor: 4.0, "
      "original: 8, attention: 1.0, width: 2}, joint_attention: {query_rank: 5, output_groups: 2, "
      "output_rank: 3}, sparse_attention: {heads: 3, width: 6, top_k: 7}, hyper_connections: {}, "
      "layers: [{window: 128, rope: {width: 2}, sparse: true, by_id: true}, {window: 128, "
      "compress: 8, sparse: true}, {window: 128, compress: 4, overlaps: true, selects: true, "
      "sparse: true}, {window: 128, compress: 8, sparse: true}], mixture: {score: sqrt_softplus, "
      "n_experts: 8, top_k: 2, hidden: 6, shared_hidden: 6, sum_eps: 1e-20, factor: 1.5, "
      "balance_rate: 0.001}" },
    { LATENT "\"model_type\": \"glm_moe_dsa\", \"q_lora_rank\": 5, \"index_topk_freq\": 2, "
             "\"first_k_dense_replace\": 2, \"indexer_rope_interleave\": true",
      LATENT_SETTINGS
      "norm: {eps: 1e-5}, latent: {key_rank: 6, query_rank: 5, rope_width: 2, value_width: 3}, "
      "sparse_attention: {heads: 32, width: 128, top_k: 2048}, rope: {}, layers: [{count: 2}, "
      "{sparse: true, shared_index: true}, {sparse: true}], mixture: {score: sigmoid, n_experts: "
      "8, top_k: 2, hidden: 6, shared_hidden: 6, factor: 1.5, n_groups: 4, top_groups: 2, "
      "balance_rate: 0.001}" },
    { LATENT "\"model_type\": \"glm_moe_dsa\", \"q_lora_rank\": 5, \"index_topk_pattern\": "
             "\"FSFS\", \"index_topk_freq\": 3, \"index_n_heads\": 2, \"index_head_dim\": 2, "
             "\"mlp_layer_types\": [\"sparse\", \"dense\", \"sparse\", \"dense\"]",
      LATENT_SETTINGS
      "norm: {eps: 1e-5}, latent: {key_rank: 6, query_rank: 5, rope_width: 2, value_width: 3}, "
      "sparse_attention: {heads: 2, width: 2, top_k: 2048}, rope: {}, layers: [{sparse: true}, "
      "{shared_index: true}], mixture: {score: sigmoid, n_experts: 8, top_k: 2, hidden: 6, "
      "shared_hidden: 6, factor: 1.5, n_groups: 4, top_groups: 2, balance_rate: 0.001}" },
    { LATENT "\"model_type\": \"axk1\", \"q_lora_rank\": 5",
      LATENT_SETTINGS "norm: {eps: 1e-6}, latent: {key_rank: 6, query_rank: 5, rope_width: 2, "
                      "value_width: 3}, rope: {}, layers: [{}, {count: 3, sparse: true}], "
                      "mixture: {score: sigmoid, n_experts: 8, top_k: 2, hidden: 6, "
                      "shared_hidden: 6, factor: 1.5, n_groups: 4, top_groups: 2, norm_behind: "
                      "true, balance_rate: 0.001}" },
    { LATENT "\"model_type\": \"axk1\", \"q_lora_rank\": 5, \"norm_topk_prob\": false, "
             "\"attention_bias\": true, \"mlp_layer_types\": [\"sparse\", \"dense\", "
             "\"sparse\", \"dense\"]",
      LATENT_SETTINGS
      "norm: {eps: 1e-6}, qkv_bias: true, out_bias: true, latent: {key_rank: 6, query_rank: 5, "
      "rope_width: 2, value_width: 3}, rope: {}, layers: [{sparse: true}, {}], mixture: {score: "
      "sigmoid, n_experts: 8, top_k: 2, hidden: 6, shared_hidden: 6, normalize: false, factor: "
      "1.5, n_groups: 4, top_groups: 2, norm_behind: true, balance_rate: 0.001}" },
    { "\"model_type\": \"modernbert-decoder\", \"embedding_dropout\": 0.1",
      "sample_key: input_ids, prediction_key: logits, vocab_size: 50368, sequence_length: 8192, "
      "n_embd: 768, n_layer: 22, n_head_q: 12, n_head_kv: 12, ffn_hidden: 1152, norm: {type: "
      "layer, eps: 1e-5}, embedding_norm: true, head_transform: {}, head_bias: true, activation: "
      "gelu, use_weight_tying: true, embedding_dropout: 0.1, rope: {base: 160000.0}, layers: "
      "[{no_mixer_norm: true}, {count: 2, window: 64, rope: {base: 10000.0}}, {}, {count: 2, "
      "window: 64, rope: {base: 10000.0}}, {}, {count: 2, window: 64, rope: {base: 10000.0}}, {}, "
      "{count: 2, window: 64, rope: {base: 10000.0}}, {}, {count: 2, window: 64, rope: {base: "
      "10000.0}}, {}, {count: 2, window: 64, rope: {base: 10000.0}}, {}, {count: 2, window: 64, "
      "rope: {base: 10000.0}}, {}]" },
    { SIZES
      "\"model_type\": \"modernbert-decoder\", \"norm_bias\": true, \"attention_bias\": true, "
      "\"mlp_bias\": true, \"decoder_bias\": false, \"classifier_bias\": true, "
      "\"classifier_activation\": \"silu\", \"local_attention\": 11, "
      "\"global_attn_every_n_layers\": 2, \"global_rope_theta\": 500.0, "
      "\"local_rope_theta\": 30.0, \"rope_scaling\": {\"rope_type\": \"linear\", \"factor\": "
      "2.0}, \"rope_parameters\": {\"full_attention\": {\"rope_theta\": 700.0}}",
      "sample_key: input_ids, prediction_key: logits, vocab_size: 16, sequence_length: 32, n_embd: "
      "8, n_layer: 4, n_head_q: 2, n_head_kv: 2, ffn_hidden: 12, norm: {type: layer, bias: true, "
      "eps: 1e-5}, embedding_norm: true, head_transform: {activation: silu, bias: true}, qkv_bias: "
      "true, out_bias: true, ffn_bias: true, activation: gelu, rope: {base: 700.0, kind: linear, "
      "factor: 2.0}, layers: [{no_mixer_norm: true}, {window: 5, rope: {base: 30.0, kind: linear, "
      "factor: 2.0}}, {}, {window: 5, rope: {base: 30.0, kind: linear, factor: 2.0}}]" },
    { "\"model_type\": \"openai-gpt\", \"n_embd\": 24, \"n_layer\": 4, \"resid_pdrop\": 0.2",
      "sample_key: input_ids, prediction_key: logits, vocab_size: 40478, sequence_length: 512, "
      "n_embd: 24, n_layer: 4, n_head_q: 12, n_head_kv: 12, ffn_hidden: 96, norm: {type: layer, "
      "bias: true, eps: 1e-5}, residual: norm_of_sum, head_norm: false, learned_positions: true, "
      "qkv_bias: true, out_bias: true, ffn_bias: true, gated: false, activation: gelu_tanh, "
      "dropout: 0.2, embedding_dropout: 0.1, attention_dropout: 0.1, use_weight_tying: true" },
    { SIZES "\"model_type\": \"aria_text\", \"moe_topk\": 3", DECODER_SETTINGS
      "norm: {eps: 1e-6}, rope: {}, layers: [{sparse: true}], mixture: {n_experts: "
      "8, top_k: 3, hidden: 12, shared_hidden: 24}" },
    { "\"model_type\": \"mistral4\"",
      "sample_key: input_ids, prediction_key: logits, vocab_size: 131072, sequence_length: "
      "1048576, "
      "n_embd: 4096, n_layer: 36, n_head_q: 32, n_head_kv: 32, head_width: 128, ffn_hidden: 12288, "
      "norm: {eps: 1e-6}, latent: {key_rank: 256, query_rank: 1024, rope_width: 64, value_width: "
      "128}, attention_scale: 0.19496949473302966, rope: {kind: yarn, factor: 128.0, original: "
      "8192, attention: 1.0, "
      "growth: 0.1}, layers: [{sparse: true}], mixture: {n_experts: 128, top_k: 4, hidden: 2048, "
      "shared_hidden: 2048}" },
    { LATENT "\"model_type\": \"longcat_flash\", \"q_lora_rank\": 2, \"head_dim\": 2, "
             "\"num_layers\": 2, \"zero_expert_num\": 3, \"rope_theta\": 10000.0",
      LATENT_SETTINGS
      "norm: {eps: 1e-5}, latent: {key_rank: 6, query_rank: 2, rope_width: 2, value_width: 3, "
      "key_scale: 1.1547005383792515, query_scale: 2.0}, rope: {}, layers: [{sparse: true, "
      "shortcut: true}, {}], mixture: {n_experts: 8, zero_experts: 3, top_k: 2, hidden: 6, "
      "normalize: false, factor: 1.5, balance_rate: 0.001}" },
    { "\"model_type\": \"longcat_flash\"",
      "sample_key: input_ids, prediction_key: logits, vocab_size: 131072, sequence_length: 131072, "
      "n_embd: 6144, n_layer: 56, n_head_q: 64, n_head_kv: 64, head_width: 192, ffn_hidden: 12288, "
      "norm: {eps: 1e-5}, latent: {key_rank: 512, query_rank: 1536, rope_width: 64, value_width: "
      "128, key_scale: 3.4641016151377544, query_scale: 2.0}, rope: {base: 1e7}, layers: [{sparse: "
      "true, shortcut: true}, {}], mixture: {n_experts: 512, zero_experts: 256, top_k: 12, hidden: "
      "2048, normalize: false, factor: 6.0, balance_rate: 0.001}" },
    { KIMI
      "\"model_max_length\": 32, \"num_experts\": 8, \"num_experts_per_token\": 2, "
      "\"num_shared_experts\": 1, \"num_expert_group\": 4, \"topk_group\": 2, "
      "\"moe_renormalize\": true, \"routed_scaling_factor\": 1.5, \"first_k_dense_replace\": 2, "
      "\"moe_layer_freq\": 1, \"mla_use_nope\": true, \"moe_router_activation_func\": "
      "\"sigmoid\", \"head_dim\": 72, \"rope_theta\": 10000.0, \"linear_head_dim\": 7, "
      "\"linear_attn_config\": {\"full_attn_layers\": [3], \"kda_layers\": [1, 2, 4, 5], "
      "\"num_heads\": 3, \"head_dim\": 4, \"short_conv_kernel_size\": 3}",
      KIMI_SETTINGS
      "latent: {key_rank: 6, rope_width: 2, value_width: 3}, linear_attention: {key_heads: 3, "
      "value_heads: 3, key_width: 4, value_width: 4, conv_width: 3, decay: feature, decay_rank: 4, "
      "gate: sigmoid, gate_rank: 4, eps: 1e-5}, layers: [{count: 2, linear: true}, {sparse: true}, "
      "{count: 2, linear: true, sparse: true}], mixture: {score: sigmoid, n_experts: 8, top_k: 2, "
      "hidden: 6, shared_hidden: 6, factor: 1.5, n_groups: 4, top_groups: 2, balance_rate: "
      "0.001}" },
    { KIMI "\"max_position_embeddings\": 32, \"num_local_experts\": 4, \"num_experts_per_tok\": 1, "
           "\"n_shared_experts\": 2, \"norm_topk_prob\": false, \"attention_bias\": true, "
           "\"q_lora_rank\": 5, \"linear_num_heads\": 2, \"linear_head_dim\": 5",
      KIMI_SETTINGS
      "qkv_bias: true, out_bias: true, latent: {key_rank: 6, query_rank: 5, rope_width: 2, "
      "value_width: 3}, linear_attention: {key_heads: 2, value_heads: 2, key_width: 5, "
      "value_width: 5, decay: feature, decay_rank: 5, gate: sigmoid, gate_rank: 5, eps: 1e-5}, "
      "layers: [{linear: true}, {count: 3, linear: true, sparse: true}, {sparse: true}], mixture: "
      "{score: sigmoid, n_experts: 4, top_k: 1, hidden: 6, shared_hidden: 12, normalize: false, "
      "factor: 2.446, balance_rate: 0.001}" },
    { BAILING "\"model_max_length\": 32, \"num_experts\": 8, \"num_experts_per_token\": 2, "
              "\"num_shared_experts\": 1, \"num_expert_group\": 4, \"topk_group\": 2, "
              "\"moe_renormalize\": true, \"routed_scaling_factor\": 1.5, \"head_dim\": 4, "
              "\"layer_group_size\": 3, \"short_conv_kernel_size\": 3, \"kda_lower_bound\": -2.5",
      LING_SETTINGS
      "latent: {key_rank: 6, rope_width: 2, value_width: 3}, rope: {base: 6000000.0}, "
      "linear_attention: {key_heads: 2, value_heads: 2, key_width: 4, value_width: 4, conv_width: "
      "3, decay: feature, decay_bound: 2.5, gate: sigmoid, eps: 1e-6}, layers: [{count: 2, "
      "linear: true}, {sparse: true}, {count: 2, linear: true, sparse: true}, {sparse: true}], "
      "mixture: {score: "
      "sigmoid, n_experts: 8, top_k: 2, hidden: 6, shared_hidden: 6, factor: 1.5, n_groups: 4, "
      "top_groups: 2, balance_rate: 0.001}" },
    { BAILING
      "\"max_position_embeddings\": 32, \"num_local_experts\": 4, \"num_experts_per_tok\": 1, "
      "\"n_shared_experts\": 2, \"norm_topk_prob\": false, \"attention_bias\": true, "
      "\"q_lora_rank\": 5, \"linear_num_heads\": 3, \"linear_head_dim\": 5, \"head_dim\": 2, "
      "\"linear_conv_kernel_dim\": 2, \"kda_safe_gate\": false, \"n_group\": 1, \"topk_group\": "
      "1, \"first_k_dense_replace\": 1",
      LING_SETTINGS
      "qkv_bias: true, out_bias: true, latent: {key_rank: 6, query_rank: 5, rope_width: 2, "
      "value_width: 3}, rope: {base: 6000000.0}, linear_attention: {key_heads: 3, value_heads: 3, "
      "key_width: 5, value_width: 5, conv_width: 2, decay: feature, gate: sigmoid, eps: 1e-6}, "
      "layers: [{linear: true}, {count: 4, linear: true, sparse: true}, {sparse: true}], mixture: "
      "{score: sigmoid, n_experts: 4, top_k: 1, hidden: 6, shared_hidden: 12, normalize: false, "
      "factor: 2.5, balance_rate: 0.001}" },
    { SIZES "\"model_type\": \"olmo_hybrid\", \"rope_parameters\": null, \"rope_theta\": null, "
            "\"linear_num_key_heads\": 2, \"linear_num_value_heads\": 4, \"linear_key_head_dim\": "
            "5, \"linear_value_head_dim\": 6, \"linear_conv_kernel_dim\": 3",
      DECODER_SETTINGS
      "norm: {eps: 1e-6}, norm_in_front: false, norm_behind: true, qk_norm: width, layers: "
      "[{count: 3, linear: true}, {}], linear_attention: {key_heads: 2, value_heads: 4, key_width: "
      "5, value_width: 6, conv_width: 3, negative: true, norm_in_front: true, eps: 1e-5}" },
    { SIZES "\"model_type\": \"olmo_hybrid\", \"rms_norm_eps\": 1e-5, \"attention_bias\": true, "
            "\"rope_parameters\": {\"rope_type\": \"linear\", \"factor\": 2.0, \"rope_theta\": "
            "500000.0}, \"rope_theta\": null, \"linear_allow_neg_eigval\": false, \"layer_types\": "
            "[\"full_attention\", \"linear_attention\", \"full_attention\", \"linear_attention\"]",
      DECODER_SETTINGS
      "norm: {eps: 1e-5}, norm_in_front: false, norm_behind: true, qk_norm: width, qkv_bias: true, "
      "out_bias: true, rope: {kind: linear, factor: 2.0, base: 500000.0}, layers: [{}, {linear: "
      "true}], linear_attention: {key_heads: 2, value_heads: 2, key_width: 3, value_width: 6, "
      "conv_width: 4, norm_in_front: true, eps: 1e-5}" },
    { SIZES "\"model_type\": \"minimax\", \"num_local_experts\": 4, \"sliding_window\": null",
      DECODER_SETTINGS
      "norm: {eps: 1e-5}, rope: {base: 1e6}, residual: normed, layers: [{sparse: true}, {linear: "
      "true, sparse: true}], linear_attention: {key_heads: 2, value_heads: 2, key_width: 4, "
      "value_width: 4, conv_width: 0, decay: fixed, norm: width, gate: sigmoid}, mixture: "
      "{n_experts: 4, top_k: 2, hidden: 12}" },
    { SIZES "\"model_type\": \"minimax\", \"rms_norm_eps\": 1e-6, \"head_dim\": 6, "
            "\"num_local_experts\": 4, \"num_experts_per_tok\": 1, \"sliding_window\": 3, "
            "\"block_size\": 64, \"full_attn_alpha_factor\": 1.5, \"full_attn_beta_factor\": 2, "
            "\"linear_attn_alpha_factor\": 2.5, \"linear_attn_beta_factor\": 3.0, "
            "\"mlp_alpha_factor\": 3.5, \"mlp_beta_factor\": 0.5, \"layer_types\": "
            "[\"linear_attention\", \"linear_attention\", \"linear_attention\", "
            "\"full_attention\"]",
      DECODER_SETTINGS
      "norm: {eps: 1e-6}, head_width: 6, rope: {base: 1e6}, residual: normed, multipliers: "
      "{attention_stream: 1.5, attention_out: 2.0, linear_stream: 2.5, linear_out: 3.0, "
      "ffn_stream: "
      "3.5, ffn_out: 0.5}, layers: [{count: 3, linear: true, sparse: true}, {window: 3, sparse: "
      "true}], linear_attention: {key_heads: 2, value_heads: 2, key_width: 6, value_width: 6, "
      "conv_width: 0, decay: fixed, norm: width, gate: sigmoid}, mixture: {n_experts: 4, top_k: 1, "
      "hidden: 12}" },
    { LATENT "\"model_type\": \"minicpm3\", \"q_lora_rank\": null, \"scale_depth\": 0.7, "
             "\"dim_model_base\": 3, \"rope_interleave\": false",
      LATENT_SETTINGS
      "norm: {eps: 1e-5}, latent: {key_rank: 6, rope_width: 2, value_width: 3}, rope: {}, "
      "embedding_scale: 12.0, residual_scale: 0.35, logit_divisor: 2.6666666666666665" },
    { LATENT "\"model_type\": \"minicpm3\", \"q_lora_rank\": 4, \"scale_depth\": null, "
             "\"dim_model_base\": null, \"scale_emb\": 1, \"mlp_bias\": true",
      LATENT_SETTINGS
      "norm: {eps: 1e-5}, latent: {key_rank: 6, query_rank: 4, rope_width: 2, value_width: 3}, "
      "rope: {}, ffn_bias: true" },
    { "\"model_type\": \"minicpm3\", \"vocab_size\": 16, \"hidden_size\": 8, "
      "\"intermediate_size\": 12, \"num_hidden_layers\": 4, \"num_attention_heads\": 2, "
      "\"max_position_embeddings\": 32, \"tie_word_embeddings\": false, \"kv_lora_rank\": 6, "
      "\"qk_nope_head_dim\": 4, \"qk_rope_head_dim\": 2, \"q_lora_rank\": null",
      LATENT_SETTINGS
      "norm: {eps: 1e-5}, latent: {key_rank: 6, rope_width: 2, value_width: 4}, rope: {}, "
      "embedding_scale: 12.0, residual_scale: 0.7, logit_divisor: 0.03125" },
    { LATENT "\"model_type\": \"youtu\", \"q_lora_rank\": null", LATENT_SETTINGS
      "norm: {eps: 1e-6}, latent: {key_rank: 6, rope_width: 2, value_width: 3}, rope: {}" },
    { SIZES
      "\"model_type\": \"falcon_h1\", \"mamba_n_heads\": 4, \"mamba_d_ssm\": 24, "
      "\"mamba_d_state\": 6, \"mamba_rms_norm\": true, \"ssm_multipliers\": [0.5, 0.25, 2.0, 4.0, "
      "8.0], \"mlp_multipliers\": [2.0, 0.5], \"key_multiplier\": 0.5, "
      "\"lm_head_multiplier\": 0.5, \"ssm_in_multiplier\": 0.25",
      DECODER_SETTINGS
      "rope: {}, attention_scale: 0.25, logit_divisor: 2.0, layers: [{side_by_side: true}], "
      "state_space: {heads: 4, head_width: 6, state_width: 6, norm_first: true}, multipliers: "
      "{linear_in: 0.25, gates: 0.5, values: 0.25, keys: 2.0, queries: 4.0, steps: 8.0, ffn_gate: "
      "2.0, ffn_out: 0.5}" },
    { SIZES "\"model_type\": \"lfm2\", \"full_attn_idxs\": [1, 3], \"conv_bias\": true, "
            "\"block_auto_adjust_ff_dim\": false",
      DECODER_SETTINGS "rope: {base: 1000000.0}, qk_norm: head, layers: [{conv: true}, {}], "
                       "short_conv: {bias: true}" },
    { SIZES
      "\"model_type\": \"lfm2_moe\", \"layer_types\": [\"conv\", \"full_attention\", \"conv\", "
      "\"full_attention\"], \"conv_L_cache\": 4, \"num_experts\": 4, "
      "\"num_experts_per_tok\": 2, \"moe_intermediate_size\": 6, \"num_dense_layers\": 1, "
      "\"routed_scaling_factor\": 1.5",
      DECODER_SETTINGS "rope: {base: 1000000.0}, qk_norm: head, layers: [{conv: true}, {sparse: "
                       "true}, {conv: true, sparse: true}, {sparse: true}], short_conv: {width: "
                       "4}, mixture: {score: sigmoid, n_experts: 4, top_k: 2, hidden: 6, sum_eps: "
                       "1e-6, factor: 1.5, balance_rate: 0.001}" },
    { "\"model_type\": \"mamba2\", \"vocab_size\": 16, \"hidden_size\": 8, "
      "\"num_hidden_layers\": 4, \"num_heads\": 4, \"head_dim\": 4, \"state_size\": 6, "
      "\"n_groups\": "
      "2, \"use_conv_bias\": false, \"max_position_embeddings\": 32, \"time_step_limit\": [0.0, "
      "0.5]",
      "sample_key: input_ids, prediction_key: logits, vocab_size: 16, sequence_length: 32, n_embd: "
      "8, n_layer: 4, layers: [{linear: true, no_ffn: true}], state_space: {heads: 4, head_width: "
      "4, state_width: 6, n_groups: 2, conv_bias: false, most_step: 0.5}" },
    { MAMBA "\"model_type\": \"mamba\", \"expand\": 3, \"use_bias\": true, "
            "\"tie_word_embeddings\": false",
      MAMBA_SETTINGS "selective_scan: {width: 24, bias: true}" },
    { MAMBA
      "\"model_type\": \"falcon_mamba\", \"expand\": 16, \"intermediate_size\": 12, "
      "\"state_size\": 5, \"time_step_rank\": 3, \"conv_kernel\": 3, \"use_conv_bias\": false, "
      "\"mixer_rms_eps\": 1e-3, \"tie_word_embeddings\": true",
      MAMBA_SETTINGS "use_weight_tying: true, selective_scan: {width: 12, state_width: 5, "
                     "step_rank: 3, conv_width: 3, conv_bias: false, norms: plain, eps: 1e-3}" },
    { SIZES "\"model_type\": \"jamba\", \"attn_layer_period\": 3, \"attn_layer_offset\": 1, "
            "\"expert_layer_period\": 4, \"expert_layer_offset\": 2, \"num_experts\": 4, "
            "\"num_experts_per_tok\": 3, \"mamba_d_state\": 5",
      DECODER_SETTINGS "norm: {eps: 1e-6}, layers: [{linear: true}, {}, {linear: true, sparse: "
                       "true}, {linear: true}], selective_scan: {width: 16, state_width: 5, norms: "
                       "weight}, mixture: {n_experts: 4, top_k: 3, hidden: 12, normalize: false}" },
    { SIZES "\"model_type\": \"jamba\", \"attn_layer_period\": 2, \"attn_layer_offset\": 0, "
            "\"num_experts\": 1, \"mamba_dt_rank\": \"auto\", \"mamba_expand\": 1, "
            "\"mamba_d_conv\": 2, \"mamba_conv_bias\": false, \"mamba_proj_bias\": true",
      DECODER_SETTINGS "norm: {eps: 1e-6}, layers: [{}, {linear: true}], selective_scan: {width: "
                       "8, conv_width: 2, conv_bias: false, bias: true, norms: weight}" },
    { SIZES "\"model_type\": \"nemotron_h\", \"head_dim\": 4, \"mamba_num_heads\": 3, "
            "\"mamba_head_dim\": 5, \"ssm_state_size\": 6, \"n_groups\": 1, "
            "\"hybrid_override_pattern\": \"M-*-\"",
      DECODER_SETTINGS
      "gated: false, activation: relu_squared, layers: [{linear: true, no_ffn: true}, {no_mixer: "
      "true}, {no_ffn: true}, {no_mixer: true}], state_space: {heads: 3, head_width: 5, "
      "state_width: 6, least_step: 0.001}" },
    { SIZES
      "\"model_type\": \"nemotron_h\", \"head_dim\": 4, \"mamba_num_heads\": 3, "
      "\"mamba_head_dim\": 5, \"ssm_state_size\": 6, \"n_groups\": 1, \"time_step_min\": 0.0, "
      "\"hybrid_override_pattern\": \"MM*E\", \"n_routed_experts\": 4, "
      "\"n_shared_experts\": 1, \"num_experts_per_tok\": 2, \"moe_intermediate_size\": 6, "
      "\"moe_shared_expert_intermediate_size\": 10, \"moe_latent_size\": 5",
      DECODER_SETTINGS
      "gated: false, activation: relu_squared, layers: [{count: 2, linear: true, no_ffn: true}, "
      "{no_ffn: true}, {no_mixer: true, sparse: true}], state_space: {heads: 3, head_width: 5, "
      "state_width: 6}, mixture: {score: sigmoid, n_experts: 4, top_k: 2, hidden: 6, latent: 5, "
      "shared_hidden: 10, balance_rate: 0.001}" },
    { "\"model_type\": \"recurrent_gemma\", \"vocab_size\": 16, \"hidden_size\": 8, "
      "\"intermediate_size\": 25, \"num_hidden_layers\": 4, \"num_attention_heads\": 2, "
      "\"max_position_embeddings\": 32, \"attention_window_size\": 5, \"rope_theta\": 500.0",
      RECURRENT_SETTINGS
      "n_head_kv: 2, rope: {base: 500.0, width: 2}, use_weight_tying: true, logit_cap: 30.0, "
      "layers: [{count: 2, "
      "linear: true}, {window: 5}, {linear: true}], gated_recurrence: {width: 8, n_groups: 2}" },
    { "\"model_type\": \"recurrent_gemma\", \"vocab_size\": 16, \"hidden_size\": 8, "
      "\"intermediate_size\": 24, \"num_hidden_layers\": 4, \"num_attention_heads\": 2, "
      "\"num_key_value_heads\": 1, \"max_position_embeddings\": 32, \"lru_width\": 12, "
      "\"conv1d_width\": 3, \"block_types\": [\"attention\", \"recurrent\"], "
      "\"logits_soft_cap\": 2.5, \"attention_bias\": true, \"attention_dropout\": 0.1, "
      "\"tie_word_embeddings\": false, \"rope_parameters\": {\"rope_type\": \"default\", "
      "\"rope_theta\": 10000.0, \"partial_rotary_factor\": 1.0}",
      RECURRENT_SETTINGS
      "n_head_kv: 1, rope: {}, qkv_bias: true, attention_dropout: 0.1, logit_cap: 2.5, layers: "
      "[{window: 2048}, {linear: true}], gated_recurrence: {width: 12, n_groups: 2, conv_width: "
      "3}" },
    { SIZES "\"model_type\": \"opt\", \"ffn_dim\": 20, \"enable_bias\": true, "
            "\"_remove_final_layer_norm\": false, \"activation_function\": \"relu\"",
      OPT_SETTINGS },
    { SIZES "\"model_type\": \"opt\", \"ffn_dim\": 20, \"do_layer_norm_before\": false, "
            "\"word_embed_proj_dim\": 6",
      OPT_SETTINGS "residual: norm_of_sum, head_norm: false, embedding_width: 6" },
    { SIZES "\"model_type\": \"opt\", \"ffn_dim\": 20, \"_remove_final_layer_norm\": true, "
            "\"word_embed_proj_dim\": 8",
      OPT_SETTINGS "head_norm: false" },
    { SIZES "\"model_type\": \"cohere_compass_text\", \"logit_scale\": 0.5, \"rope_parameters\": "
            "{\"full_attention\": null, \"sliding_attention\": {\"rope_theta\": 500.0, "
            "\"mrope_section\": [1, 1, 0]}, \"rope_theta\": 7.0}, \"sliding_window\": 5, "
            "\"layer_types\": [\"sliding_attention\", \"full_attention\", \"sliding_attention\", "
            "\"full_attention\"]",
      DECODER_SETTINGS "norm: {type: layer, eps: 1e-5}, residual: one_norm, logit_divisor: 2.0, "
                       "rope: {base: 500.0}, "
                       "layers: [{window: 5}, {no_rope: true}]" },
    { SIZES "\"model_type\": \"bitnet\"", DECODER_SETTINGS
      "norm: {eps: 1e-5}, norm_inside: true, activation: relu_squared, rope: {base: 500000.0}" },
    { SIZES "\"model_type\": \"bitnet\", \"quantization_config\": {\"quant_method\": \"bitnet\", "
            "\"linear_class\": \"autobitlinear\", \"quantization_mode\": \"online\", "
            "\"modules_to_not_convert\": [\"lm_head\"]}",
      DECODER_SETTINGS "norm: {eps: 1e-5}, norm_inside: true, linear: ternary, activation: "
                       "relu_squared, rope: {base: 500000.0}" },
    { SIZES "\"model_type\": \"biogpt\", \"layer_norm_eps\": 1e-12, \"attention_dropout\": 0.5",
      "sample_key: input_ids, prediction_key: logits, vocab_size: 16, sequence_length: 32, n_embd: "
      "8, n_layer: 4, n_head_q: 2, n_head_kv: 2, ffn_hidden: 12, norm: {type: layer, bias: true, "
      "eps: 1e-5}, learned_positions: true, unused_positions: 2, qkv_bias: true, out_bias: true, "
      "ffn_bias: true, gated: false, activation: gelu, embedding_scale: 2.8284271247461903" },
    { "\"model_type\": \"ctrl\", \"vocab_size\": 16, \"n_embd\": 8, \"n_layer\": 4, \"n_head\": 2, "
      "\"dff\": 12, \"n_positions\": 32, \"hidden_act\": \"gelu\"",
      "sample_key: input_ids, prediction_key: logits, vocab_size: 16, sequence_length: 32, n_embd: "
      "8, n_layer: 4, n_head_q: 2, n_head_kv: 2, ffn_hidden: 12, norm: {type: layer, bias: true, "
      "eps: 1e-6}, sinusoidal_base: 10000.0, use_weight_tying: true, qkv_bias: true, out_bias: "
      "true, ffn_bias: true, head_bias: true, gated: false, activation: relu, "
      "embedding_scale: 2.8284271247461903" },
    { "\"model_type\": \"xglm\", \"vocab_size\": 16, \"d_model\": 8, \"num_layers\": 4, "
      "\"attention_heads\": 2, \"ffn_dim\": 12, \"max_position_embeddings\": 32, "
      "\"activation_function\": \"relu\", \"layer_norm_eps\": 1e-12",
      "sample_key: input_ids, prediction_key: logits, vocab_size: 16, sequence_length: 32, n_embd: "
      "8, n_layer: 4, n_head_q: 2, n_head_kv: 2, ffn_hidden: 12, norm: {type: layer, bias: true, "
      "eps: 1e-5}, sinusoidal_base: 215443.46900318822, unused_positions: 2, use_weight_tying: "
      "true, "
      "qkv_bias: true, out_bias: true, ffn_bias: true, gated: false, activation: relu, "
      "embedding_scale: 2.8284271247461903" },
    { "\"model_type\": \"bloom\", \"vocab_size\": 16, \"n_embed\": 12, \"n_layer\": 4, "
      "\"num_attention_heads\": 3, \"seq_length\": 32, \"tie_word_embeddings\": false, "
      "\"layer_norm_epsilon\": 1e-3",
      "sample_key: input_ids, prediction_key: logits, vocab_size: 16, sequence_length: 32, n_embd: "
      "12, n_layer: 4, n_head_q: 3, n_head_kv: 3, ffn_hidden: 48, norm: {type: layer, bias: true, "
      "eps: 1e-3}, "
      "embedding_norm: true, alibi: 8.0, qkv_bias: true, out_bias: true, ffn_bias: true, gated: "
      "false, activation: gelu_tanh" },
    { "\"model_type\": \"mpt\", \"architectures\": [\"MPTForCausalLM\"], \"vocab_size\": 16, "
      "\"d_model\": 12, \"n_layers\": 4, \"n_heads\": 3, \"max_seq_len\": 32, "
      "\"layer_norm_epsilon\": 1e-3, \"logit_scale\": null, \"attn_config\": {\"clip_qkv\": 6, "
      "\"softmax_scale\": 0.25}",
      "sample_key: input_ids, prediction_key: logits, vocab_size: 16, sequence_length: 32, n_embd: "
      "12, n_layer: 4, n_head_q: 3, n_head_kv: 3, ffn_hidden: 48, norm: {type: layer, eps: 1e-3}, "
      "alibi: 8.0, "
      "qkv_clip: 6.0, attention_scale: 0.25, gated: false, activation: gelu, use_weight_tying: "
      "true" },
    { SIZES "\"model_type\": \"olmo\"",
      DECODER_SETTINGS "norm: {type: layer, eps: 1e-5, weight: false}, rope: {}" },
    { SIZES "\"model_type\": \"olmo\", \"clip_qkv\": 0.2",
      DECODER_SETTINGS "norm: {type: layer, eps: 1e-5, weight: false}, rope: {}, qkv_clip: 0.2" },
};

static Error *decoder_from_json(Arena *a, const char *members, HfModel *out)
{
    Yaml *root;
    TRY(yaml_parse(a, str_of(arena_printf(a, "{%s}", members)), "config.json", &root));
    return hf_config_parse(a, root, "config.json", out);
}

/* And are written as a class. */
TEST(families_are_rows_of_the_settings_of_a_decoder)
{
    Arena *a = arena_new();
    Text text = { 0 };
    for (size_t i = 0; i < sizeof pairs / sizeof *pairs; i++) {
        Model *m = NULL;
        HfModel hf;
        const HfFamily *written;
        assert_no_error(decoder_from_json(a, pairs[i].json, &hf));
        assert_false(hf.is_part); /* whatever names its options have */
        assert_no_error(decoder_model(a, pairs[i].yaml, &m));
        const char *difference = decoder_difference(a, decoder_of(m), hf.decoder);
        if (difference) fail_msg("%s: %s", hf.family->model_type, difference);
        const Moe *x = decoder_of(m)->moe, *y = hf.decoder->moe;
        if (x && x->aux_loss != 0 && x->aux_loss != y->aux_loss) /* a row may leave it out */
            fail_msg("%s: aux_loss: %g and %g", hf.family->model_type, x->aux_loss, y->aux_loss);
        assert_no_error(hf_config_write(a, decoder_of(m), F32, NULL, &written, &text));
    }
    text_free(&text);
    arena_free(a);
}

/* What transformers would leave out is no option of the class. */
TEST(bent_scores_are_not_written_as_gemma_3)
{
    Arena *a = arena_new();
    HfModel hf;
    Text text = { 0 };
    const HfFamily *written;
    assert_no_error(decoder_from_json(a, pairs[sizeof pairs / sizeof *pairs - 1].json, &hf));
    Decoder d = *hf.decoder;
    d.attention_cap = 5;
    assert_error_has(hf_config_write(a, &d, F32, NULL, &written, &text), "no standard class");
    text_free(&text);
    arena_free(a);
}

/* Those of MPT's authors have other slopes where the file says so; its class has 8 in any case. */
TEST(slopes_that_the_class_of_mpt_does_not_compute_are_read_and_not_written)
{
    Arena *a = arena_new();
    HfModel hf;
    Text text = { 0 };
    const HfFamily *written;
    assert_no_error(decoder_from_json(
        a,
        "\"model_type\": \"mpt\", \"vocab_size\": 16, \"d_model\": 8, \"n_layers\": 1, "
        "\"n_heads\": 2, \"attn_config\": {\"alibi_bias_max\": 16}",
        &hf));
    assert_close(hf.decoder->alibi, 16, 0);
    assert_error_has(hf_config_write(a, hf.decoder, F32, hf.family, &written, &text),
                     "the closest is MptForCausalLM, but for slopes of scores by distance (alibi)");
    text_free(&text);
    arena_free(a);
}

/* transformers does not load such a class without one. */
TEST(a_class_with_windows_is_written_with_one_where_no_layer_has_it)
{
    static const char *const types[] = { "olmo3", "gemma2" };
    Arena *a = arena_new();
    Text text = { 0 };
    for (int i = 0; i < 2; i++) {
        HfModel hf;
        const HfFamily *written;
        const char *json = arena_printf(a,
                                        SIZES "\"model_type\": \"%s\", \"layer_types\": "
                                              "[\"full_attention\", \"full_attention\", "
                                              "\"full_attention\", \"full_attention\"]",
                                        types[i]);
        assert_no_error(decoder_from_json(a, json, &hf));
        assert_no_error(hf_config_write(a, hf.decoder, F32, hf.family, &written, &text));
        assert_string_equal(written->model_type, types[i]);
        assert_contains(arena_string(a, text.ptr), "\"sliding_window\": 4096");
    }
    text_free(&text);
    arena_free(a);
}

static const char *class_of(Arena *a, const char *settings)
{
    Model *m = NULL;
    const HfFamily *f;
    Text text = { 0 };
    assert_no_error(decoder_model(a, settings, &m));
    Error *e = hf_config_write(a, decoder_of(m), F32, NULL, &f, &text);
    const char *said = e ? arena_string(a, error_text(e)) : f->model_type;
    error_free(e);
    text_free(&text);
    return said;
}

TEST(the_class_of_a_decoder_has_each_of_its_options)
{
    Arena *a = arena_new();
    assert_string_equal(class_of(a, DECODER_SETTINGS "rope: {}"), "llama");
    assert_string_equal(class_of(a, DECODER_SETTINGS "rope: {width: 2}"), "phi3");
    /* 98 * (2 / 98) is less than 2 */
    assert_string_equal(
        class_of(a, "sample_key: input_ids, prediction_key: logits, vocab_size: 16, "
                    "sequence_length: 32, n_embd: 98, n_layer: 1, n_head_q: 1, n_head_kv: 1, "
                    "ffn_hidden: 12, norm: {type: layer, bias: true}, rope: {width: 2}"),
        "stablelm");
    assert_contains(class_of(a, DECODER_SETTINGS
                             "gated: false, norm_behind: true, layers: [{linear: true, no_ffn: "
                             "true}, {no_mixer: true}, {no_ffn: true}, {no_mixer: true}], "
                             "state_space: {heads: 3, head_width: 5, state_width: 6}"),
                    "the closest is NemotronHForCausalLM, but for norm after attention");
    assert_contains(class_of(a, MAMBA_SETTINGS "selective_scan: {width: 12, norms: weight}"),
                    "the closest is FalconMambaForCausalLM, but for norms within selective layers: "
                    "no weight");
    assert_string_equal(
        class_of(a, "sample_key: input_ids, prediction_key: logits, vocab_size: 16, "
                    "sequence_length: 32, n_embd: 8, n_layer: 2, ffn_hidden: 12, norm: {eps: 1e-6, "
                    "from_one: true}, activation: gelu_tanh, embedding_scale: 2.828125, out_bias: "
                    "true, ffn_bias: true, logit_cap: 30.0, layers: [{linear: true}], "
                    "gated_recurrence: {width: 10, n_groups: 2}"),
        "recurrent_gemma");
    assert_contains(class_of(a, OPT_SETTINGS "residual: norm_of_sum"),
                    "the closest is OPTForCausalLM, but for norm in front of the head: a layer "
                    "norm instead of none");
    assert_contains(class_of(a, DECODER_SETTINGS "head_norm: false"),
                    "the closest is LlamaForCausalLM, but for norm in front of the head: none");
    assert_contains(class_of(a, DECODER_SETTINGS "rope: {}, head_transform: {bias: true}"),
                    "the closest is ModernBertDecoderForCausalLM, but for ");
    assert_contains(class_of(a, DECODER_SETTINGS "rope: {}, layers: [{no_mixer_norm: true}, {}]"),
                    "the closest is LlamaForCausalLM, but for layer 0: norm in front of attention: "
                    "is missing");
    assert_contains(class_of(a, DECODER_SETTINGS "rope: {}, embedding_width: 6"),
                    "the closest is LlamaForCausalLM, but for width of embeddings (0: of the "
                    "stream): 6 instead of 0");
    assert_contains(class_of(a, RECURRENT_SETTINGS
                             "n_head_kv: 1, rope: {}, logit_cap: 30.0, layers: [{window: 2048}, "
                             "{linear: true}], gated_recurrence: {width: 12, n_groups: 4}"),
                    "the closest is RecurrentGemmaForCausalLM, but for groups of recurrent "
                    "features: 4 instead of 2");
    assert_contains(class_of(a, DECODER_SETTINGS "norm: {eps: 1e-6}, layers: [{linear: true}, {}, "
                                                 "{}, {}], selective_scan: {width: 16, norms: "
                                                 "weight}"),
                    "the closest is JambaForCausalLM, but for layer ");
    assert_contains(class_of(a, DECODER_SETTINGS "norm: {eps: 1e-6}, layers: [{linear: true}, {}], "
                                                 "selective_scan: {width: 12, norms: weight}"),
                    "but for selective width: 12 instead of 8");
    assert_string_equal(class_of(a, DECODER_SETTINGS
                                 "rope: {}, layers: [{sparse: true}], mixture: {n_experts: "
                                 "4, top_k: 2, hidden: 6, shared_hidden: 6}"),
                        "granitemoeshared");
    assert_contains(class_of(a, DECODER_SETTINGS
                             "rope: {}, layers: [{sparse: true}], mixture: {n_experts: "
                             "4, top_k: 2, hidden: 6, shared_hidden: 6, score: sigmoid}"),
                    "no standard class");
    arena_free(a);
}

/* Unlike those of others, 0 says that there are none. */
TEST(small_models_of_gemma_4_have_embeddings_of_each_layer_unless_they_say_none)
{
    static const struct {
        const char *members;
        int64_t width;
    } row[] = { { "", 256 },
                { ", \"hidden_size_per_layer_input\": 6", 6 },
                { ", \"hidden_size_per_layer_input\": 0", 0 },
                { ", \"hidden_size_per_layer_input\": null", 0 } };
    Arena *a = arena_new();
    for (size_t i = 0; i < sizeof row / sizeof *row; i++) {
        HfModel hf;
        assert_no_error(decoder_from_json(a,
                                          arena_printf(a,
                                                       SIZES "\"model_type\": \"gemma4_text\", "
                                                             "\"head_dim\": 4%s",
                                                       row[i].members),
                                          &hf));
        const PerLayerEmbedding *p = hf.decoder->per_layer;
        assert_int_equal(p ? p->width : 0, row[i].width);
        if (p) assert_int_equal(p->vocab_size, 262144);
    }
    arena_free(a);
}

TEST(what_gemma_3n_is_silent_about_is_as_its_class_has_it)
{
    Arena *a = arena_new();
    HfModel hf;
    assert_no_error(decoder_from_json(
        a,
        "\"model_type\": \"gemma3n_text\", \"hidden_size\": 16, \"num_hidden_layers\": 27, "
        "\"intermediate_size\": 12, \"rope_parameters\": {\"full_attention\": {\"rope_type\": "
        "\"default\"}}",
        &hf));
    const Decoder *d = hf.decoder;
    assert_int_equal(d->vocab_size, 262400);
    assert_int_equal(d->sequence_length, 32768);
    assert_int_equal(d->head_width, 256);
    assert_int_equal(d->n_head_q, 8);
    assert_int_equal(d->n_head_kv, 2);
    assert_int_equal(d->per_layer->width, 256);
    assert_int_equal(d->per_layer->vocab_size, 262144);
    assert_int_equal(d->streams->n, 4);
    assert_int_equal(d->streams->active, 0);
    assert_true(d->streams->bound == 120 && d->streams->scales && d->is_tied);
    assert_true(d->logit_cap == 30 && d->attention_scale == 1);
    assert_int_equal(d->laurel_rank, 64);
    for (int64_t i = 0; i < d->n_layer; i++) {
        const DecoderLayer *l = &d->layer[i];
        assert_int_equal(l->window, (i + 1) % 5 ? 512 : 0);
        assert_true(l->rope->base == (l->window ? 1e4 : 1e6));
        assert_true(l->sparsity == (i < 10 ? 0.95 : 0));
        assert_int_equal(l->shared_kv, i >= 12);
    }
    arena_free(a);
}

/* Of Gemma 3n, where shorter models have no sparse layers if the file is silent. */
TEST(feed_forward_layers_have_widths_of_a_list)
{
    static const char start[] =
        "\"model_type\": \"gemma3n_text\", \"vocab_size\": 16, \"hidden_size\": 16, "
        "\"num_hidden_layers\": 3, \"num_kv_shared_layers\": 1, \"intermediate_size\": ";
    static const struct {
        const char *widths, *error;
    } wrong[] = { { "[]", "intermediate_size: a list of 0 is not known; it must have a number" },
                  { "[4, 0, 4]", "intermediate_size: a list of 3 is not known; each is a whole" },
                  { "[4, 4.5, 4]", "intermediate_size: a list of 3 is not known; each is a whole" },
                  { "[4, 4]", "intermediate_size: it must have a number for each layer" } };
    Arena *a = arena_new();
    Text text = { 0 };
    const HfFamily *written;
    HfModel hf;
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++)
        assert_error_has(decoder_from_json(a, arena_printf(a, "%s%s", start, wrong[i].widths), &hf),
                         wrong[i].error);
    assert_no_error(decoder_from_json(a, arena_printf(a, "%s[4, 6, 4]", start), &hf));
    assert_int_equal(decoder_hidden_of(hf.decoder, &hf.decoder->layer[0]), 4);
    assert_int_equal(decoder_hidden_of(hf.decoder, &hf.decoder->layer[1]), 6);
    assert_true(hf.decoder->layer[0].sparsity == 0);
    assert_no_error(hf_config_write(a, hf.decoder, F32, NULL, &written, &text));
    assert_string_equal(written->model_type, "gemma3n_text");
    assert_non_null(strstr(text.ptr, "\"intermediate_size\": [4, 6, 4]"));
    text_free(&text);
    arena_free(a);
}

/* Sizes of single layers, as transformers 5 writes them; of layers with a window no class has them.
 */
TEST(layers_of_gemma_4_have_heads_of_their_own_by_number)
{
    Arena *a = arena_new();
    HfModel hf;
    Text text = { 0 };
    const HfFamily *written;
    assert_no_error(decoder_from_json(
        a,
        SIZES "\"model_type\": \"gemma4_text\", \"head_dim\": 4, \"sliding_window\": 5, "
              "\"hidden_size_per_layer_input\": null, \"per_layer_config\": {\"0\": "
              "{\"num_key_value_heads\": 2}, \"3\": {\"head_dim\": 6}}, \"rope_parameters\": "
              "{\"full_attention\": {\"rope_type\": \"proportional\", \"rope_theta\": 5000.0, "
              "\"factor\": 2.0}, \"sliding_attention\": {\"rope_theta\": 500.0}}",
        &hf));
    const DecoderLayer *layer = hf.decoder->layer;
    assert_int_equal(layer[0].n_head_kv, 2);
    assert_int_equal(layer[1].n_head_kv, 0);
    assert_int_equal(layer[3].head_width, 6);
    assert_int_equal(layer[3].rope->kind, ROPE_LINEAR);
    assert_int_equal(layer[3].rope->width, 0);
    assert_close(layer[0].rope->base, 500, 0);
    assert_error_has(hf_config_write(a, hf.decoder, F32, hf.family, &written, &text),
                     "key and value heads");
    text_free(&text);
    arena_free(a);
}

TEST(what_the_original_class_lacks_is_not_written_as_it)
{
    static const char *const row[][2] = {
        { "head_width: 6", "width of a head: 6 instead of 4" },
        { "residual_scale: 0.5", "scale of what layers add" },
        { "logit_divisor: 2.0", "divisor of logits" },
        { "scale_by_layer: true", "scale of scores by the layer" },
        { "residual: two_norms", "residual: two_norms instead of serial" },
        { "residual: normed", "residual: normed instead of serial" },
        { "attention_gate: head", "gate of attention: head instead of none" },
        { "layers: [{}, {n_head_q: 3}]", "blocks: one has heads of its own" },
        { "attention_sinks: true", "attention sinks" },
        { "alibi: 8.0", "slopes of scores by distance" },
        { "embedding_norm: true", "norm of embeddings" },
        { "norm_inside: true", "norm within layers" },
        { "qkv_clip: 2.0", "bound of queries, keys and values" },
        { "layers: [{}, {no_mixer_norm: true}]",
          "layer 1: norm in front of attention: is missing" },
        { "layers: [{}, {ffn_hidden: 20}]", "layer 1: feed-forward width: 20 instead of 12" },
        { "layers: [{}, {sparsity: 0.5}]", "layer 1: sparsity" },
        { "layers: [{}, {shared_kv: true}]", "layer 1: keys and values of another block" },
        { "head_transform: {}", "transform in front of the head" },
        { "layers: [{}, {no_ffn: true}]", "blocks: one is not attention and a feed-forward" },
        { "layers: [{}, {conv: true}], short_conv: {}", "blocks: one is not attention" },
        { "layers: [{rope: {width: 2}}]", "positions: there is not one rotary transform" },
    };
    Arena *a = arena_new();
    const HfFamily *f;
    Text text = { 0 };
    for (size_t i = 0; i < sizeof row / sizeof *row; i++) {
        Model *m = NULL;
        assert_no_error(decoder_model(
            a, arena_printf(a, DECODER_SETTINGS "norm: {type: layer}, rope: {}, %s", row[i][0]),
            &m));
        assert_error_has(hf_custom_config_write(a, decoder_of(m), F32, &f, &text), row[i][1]);
    }
    text_free(&text);
    arena_free(a);
}
