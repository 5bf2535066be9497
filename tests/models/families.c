/* families.c - tiny models of Hugging Face's families, each with its norms, windows, caps and
 * experts. */
#include "models/families.h"
#include "models/hf/config.h"
#include "test.h"
#include <string.h>

#define SIZES                                                                                      \
    "\"vocab_size\": 16, \"hidden_size\": 16, \"intermediate_size\": 12, \"num_hidden_layers\": "  \
    "4, \"num_attention_heads\": 4, \"max_position_embeddings\": 32, \"rms_norm_eps\": 1e-6, "
#define MEMBERS SIZES "\"num_key_value_heads\": 2, "
#define GEMMA                                                                                      \
    MEMBERS "\"head_dim\": 4, \"query_pre_attn_scalar\": 9, \"sliding_window\": 3, "               \
            "\"hidden_activation\": \"gelu_pytorch_tanh\", "
#define ROPE(kind)                                                                                 \
    "\"rope_scaling\": {\"rope_type\": \"" kind "\", \"factor\": 4.0, \"low_freq_factor\": 1.0, "  \
    "\"high_freq_factor\": 4.0, \"original_max_position_embeddings\": 8}, "

/* Four heads with keys and values of their own, from a vector; of six features two turn. */
#define LATENT                                                                                     \
    SIZES "\"num_key_value_heads\": 4, \"kv_lora_rank\": 6, \"qk_nope_head_dim\": 4, "             \
          "\"qk_rope_head_dim\": 2, "
#define ROUTED                                                                                     \
    "\"n_routed_experts\": 6, \"n_shared_experts\": 1, \"num_experts_per_tok\": 2, "               \
    "\"moe_intermediate_size\": 6, \"routed_scaling_factor\": 1.5, \"n_group\": 2, "               \
    "\"topk_group\": 1, "

/* Two heads of keys, four of values; two of the others' eight features turn. */
#define LINEAR                                                                                     \
    MEMBERS "\"head_dim\": 8, \"linear_num_key_heads\": 2, \"linear_num_value_heads\": 4, "        \
            "\"linear_key_head_dim\": 6, \"linear_value_head_dim\": 4, "                           \
            "\"linear_conv_kernel_dim\": 3, "

/* Two groups of two heads. */
#define SPACE                                                                                      \
    MEMBERS                                                                                        \
    "\"model_type\": \"granitemoehybrid\", \"mamba_n_heads\": 4, \"mamba_n_groups\": 2, "          \
    "\"mamba_d_state\": 6, \"mamba_d_conv\": 3, \"shared_intermediate_size\": 10, "                \
    "\"layer_types\": [\"mamba\", \"mamba\", \"attention\", \"mamba\"], "                          \
    "\"embedding_multiplier\": 3.0, \"attention_multiplier\": 0.3, \"residual_multiplier\": 0.5, " \
    "\"logits_scaling\": 2.0, "

/* Two groups of two heads, beside attention. */
#define FALCON_H1                                                                                  \
    MEMBERS "\"model_type\": \"falcon_h1\", \"mamba_n_heads\": 4, \"mamba_d_ssm\": 24, "           \
            "\"mamba_n_groups\": 2, \"mamba_d_state\": 6, \"embedding_multiplier\": 3.0, "         \
            "\"lm_head_multiplier\": 0.5, \"key_multiplier\": 0.7, \"attention_in_multiplier\": "  \
            "0.8, \"attention_out_multiplier\": 0.9, \"ssm_in_multiplier\": 1.1, "                 \
            "\"ssm_out_multiplier\": 1.2, \"ssm_multipliers\": [0.9, 0.8, 1.3, 1.4, 0.6], "        \
            "\"mlp_multipliers\": [1.2, 0.8], "

/* Two groups of two heads, blocks of one layer. */
#define NEMOTRON                                                                                   \
    MEMBERS "\"model_type\": \"nemotron_h\", \"head_dim\": 4, \"mamba_num_heads\": 4, "            \
            "\"mamba_head_dim\": 6, \"ssm_state_size\": 6, \"n_groups\": 2, \"conv_kernel\": 3, "

#define MAMBA                                                                                      \
    "\"vocab_size\": 16, \"hidden_size\": 16, \"num_hidden_layers\": 4, \"state_size\": 5, "       \
    "\"time_step_rank\": 3, \"max_position_embeddings\": 32, "

static const char *const families[] = {
    "\"model_type\": \"gpt2\", \"vocab_size\": 16, \"n_embd\": 16, \"n_layer\": 4, \"n_head\": 4, "
    "\"n_positions\": 32, \"resid_pdrop\": 0.0, \"embd_pdrop\": 0.0, \"attn_pdrop\": 0.0, "
    "\"scale_attn_by_inverse_layer_idx\": true",
    MEMBERS ROPE("llama3") "\"model_type\": \"llama\", \"attention_bias\": true, \"mlp_bias\": "
                           "true, \"tie_word_embeddings\": true",
    MEMBERS "\"model_type\": \"mistral\", \"sliding_window\": 5",
    MEMBERS "\"model_type\": \"qwen2\", \"use_sliding_window\": true, \"sliding_window\": 3, "
            "\"max_window_layers\": 2",
    MEMBERS "\"model_type\": \"qwen3\", \"head_dim\": 6",
    MEMBERS "\"model_type\": \"olmo2\"",
    MEMBERS "\"model_type\": \"olmo3\", \"sliding_window\": 3",
    MEMBERS "\"model_type\": \"olmoe\", \"num_experts\": 4, \"num_experts_per_tok\": 2, "
            "\"router_aux_loss_coef\": 0.02",
    MEMBERS "\"model_type\": \"smollm3\", \"no_rope_layer_interval\": 2, \"use_sliding_window\": "
            "true, \"sliding_window\": 3",
    MEMBERS
    "\"model_type\": \"granite\", \"embedding_multiplier\": 3.0, \"attention_multiplier\": 0.3, "
    "\"residual_multiplier\": 0.5, \"logits_scaling\": 2.0",
    MEMBERS "\"model_type\": \"phi3\", \"sliding_window\": 5, "
            "\"original_max_position_embeddings\": 4, \"rope_scaling\": {\"type\": \"longrope\", "
            "\"short_factor\": [1.0, 2.0], \"long_factor\": [1.5, 4.0]}",
    MEMBERS "\"model_type\": \"arcee\", \"mlp_bias\": true",
    MEMBERS "\"model_type\": \"gpt_neox\", \"rotary_pct\": 0.5, \"hidden_act\": \"gelu\"",
    SIZES
    "\"model_type\": \"gpt_neox_japanese\", \"intermediate_multiple_size\": 2, \"rotary_pct\": 0.5",
    MEMBERS "\"model_type\": \"diffllama\", \"attention_bias\": true",
    MEMBERS "\"model_type\": \"stablelm\", \"partial_rotary_factor\": 0.5, \"use_qkv_bias\": true",
    MEMBERS "\"model_type\": \"stablelm\", \"partial_rotary_factor\": 0.5, "
            "\"use_parallel_residual\": true",
    MEMBERS "\"model_type\": \"stablelm\", \"partial_rotary_factor\": 0.5, "
            "\"use_parallel_residual\": true, \"qk_layernorm\": true",
    MEMBERS "\"model_type\": \"starcoder2\", \"sliding_window\": 5",
    MEMBERS "\"model_type\": \"nemotron\"",
    MEMBERS "\"model_type\": \"cohere\", \"use_qk_norm\": true",
    MEMBERS "\"model_type\": \"glm\", \"head_dim\": 4",
    MEMBERS "\"model_type\": \"glm4\", \"head_dim\": 8",
    MEMBERS
    "\"model_type\": \"glm4_moe\", \"head_dim\": 8, \"use_qk_norm\": true, "
    "\"attention_bias\": true, \"n_routed_experts\": 4, \"n_shared_experts\": 2, "
    "\"num_experts_per_tok\": 3, \"moe_intermediate_size\": 6, \"first_k_dense_replace\": 1, "
    "\"norm_topk_prob\": true, \"routed_scaling_factor\": 1.5",
    MEMBERS "\"model_type\": \"qwen2_moe\", \"num_experts\": 4, \"num_experts_per_tok\": 2, "
            "\"moe_intermediate_size\": 6, \"shared_expert_intermediate_size\": 10, "
            "\"mlp_only_layers\": [1], \"router_aux_loss_coef\": 0.02",
    MEMBERS
    "\"model_type\": \"afmoe\", \"head_dim\": 4, \"num_experts\": 4, \"num_shared_experts\": "
    "1, \"num_experts_per_tok\": 3, \"moe_intermediate_size\": 6, \"num_dense_layers\": 1, "
    "\"route_scale\": 1.5, \"mup_enabled\": true, \"sliding_window\": 3, "
    "\"global_attn_every_n_layers\": 2",
    MEMBERS "\"model_type\": \"ernie4_5\", \"head_dim\": 6, \"use_bias\": true",
    MEMBERS "\"model_type\": \"seed_oss\", \"head_dim\": 4, \"attention_out_bias\": true, "
            "\"residual_dropout\": 0.0, \"attention_dropout\": 0.0",
    MEMBERS "\"model_type\": \"olmo\", \"clip_qkv\": 0.1",
    MEMBERS "\"model_type\": \"cohere2\", \"sliding_window\": 3, \"sliding_window_pattern\": 2",
    MEMBERS "\"model_type\": \"gemma\", \"head_dim\": 4",
    GEMMA "\"model_type\": \"gemma2\", \"attn_logit_softcapping\": 5.0, "
          "\"final_logit_softcapping\": 3.0",
    GEMMA "\"model_type\": \"gemma3_text\", \"sliding_window_pattern\": 2, "
          "\"rope_local_base_freq\": 100.0",
    MEMBERS "\"model_type\": \"mixtral\", \"num_local_experts\": 4, \"num_experts_per_tok\": 2, "
            "\"sliding_window\": null, \"router_aux_loss_coef\": 0.02",
    MEMBERS "\"model_type\": \"qwen3_moe\", \"head_dim\": 6, \"num_experts\": 4, "
            "\"num_experts_per_tok\": 2, \"moe_intermediate_size\": 6, \"norm_topk_prob\": true, "
            "\"decoder_sparse_step\": 1, \"mlp_only_layers\": [1], \"router_aux_loss_coef\": 0.02",
    LINEAR "\"model_type\": \"qwen3_next\", \"full_attention_interval\": 2, \"num_experts\": 4, "
           "\"num_experts_per_tok\": 2, \"moe_intermediate_size\": 6, \"norm_topk_prob\": true, "
           "\"shared_expert_intermediate_size\": 10, \"router_aux_loss_coef\": 0.02",
    LINEAR "\"model_type\": \"qwen3_5_text\", \"layer_types\": [\"linear_attention\", "
           "\"full_attention\", \"full_attention\", \"linear_attention\"]",
    MEMBERS "\"model_type\": \"bamba\", \"mamba_n_heads\": 4, \"mamba_n_groups\": 2, "
            "\"mamba_d_state\": 6, \"attn_layer_indices\": [2], \"mlp_bias\": true",
    SPACE "\"num_local_experts\": 4, \"num_experts_per_tok\": 2, \"router_aux_loss_coef\": 0.02, "
          "\"position_embedding_type\": \"rope\"",
    SPACE "\"num_local_experts\": 0, \"mamba_proj_bias\": true, \"mamba_conv_bias\": false, "
          "\"time_step_limit\": [0.01, 0.5]",
    FALCON_H1
    "\"mamba_rms_norm\": true, \"mamba_norm_before_gate\": true, \"attention_bias\": true",
    FALCON_H1 "\"mamba_proj_bias\": true, \"projectors_bias\": true",
    MEMBERS "\"model_type\": \"lfm2\", \"layer_types\": [\"conv\", \"full_attention\", \"conv\", "
            "\"full_attention\"], \"conv_bias\": true, \"block_multiple_of\": 4",
    MEMBERS
    "\"model_type\": \"lfm2_moe\", \"layer_types\": [\"conv\", \"conv\", \"full_attention\", "
    "\"conv\"], \"num_dense_layers\": 1, \"num_experts\": 4, \"num_experts_per_tok\": 2, "
    "\"moe_intermediate_size\": 6, \"routed_scaling_factor\": 1.5",
    "\"model_type\": \"mamba2\", \"vocab_size\": 16, \"hidden_size\": 16, \"num_hidden_layers\": "
    "4, "
    "\"num_heads\": 4, \"head_dim\": 8, \"state_size\": 6, \"n_groups\": 2, \"use_bias\": true, "
    "\"max_position_embeddings\": 32",
    MAMBA "\"model_type\": \"mamba\", \"use_bias\": true",
    MAMBA "\"model_type\": \"falcon_mamba\", \"conv_kernel\": 3, \"mixer_rms_eps\": 1e-5, "
          "\"tie_word_embeddings\": false",
    MEMBERS "\"model_type\": \"jamba\", \"attn_layer_period\": 3, \"attn_layer_offset\": 1, "
            "\"expert_layer_period\": 2, \"expert_layer_offset\": 0, \"num_experts\": 4, "
            "\"num_experts_per_tok\": 2, \"mamba_d_state\": 5, \"mamba_dt_rank\": 3, "
            "\"mamba_proj_bias\": true",
    NEMOTRON "\"layers_block_type\": [\"linear_attention\", \"mlp\", \"full_attention\", "
             "\"mlp\"], \"mlp_bias\": true",
    NEMOTRON "\"hybrid_override_pattern\": \"ME*-\", \"n_routed_experts\": 4, "
             "\"n_shared_experts\": 1, \"num_experts_per_tok\": 2, \"moe_intermediate_size\": 6, "
             "\"moe_shared_expert_intermediate_size\": 10, \"routed_scaling_factor\": 1.5",
    NEMOTRON "\"hybrid_override_pattern\": \"ME*-\", \"n_routed_experts\": 4, "
             "\"n_shared_experts\": 1, \"num_experts_per_tok\": 2, \"moe_intermediate_size\": 6, "
             "\"moe_shared_expert_intermediate_size\": 10, \"moe_latent_size\": 5",
    MEMBERS "\"model_type\": \"exaone4\", \"head_dim\": 4, \"sliding_window\": 3, "
            "\"sliding_window_pattern\": 2",
    MEMBERS
    "\"model_type\": \"apertus\", \"attention_bias\": true, " ROPE("llama3") "\"mlp_bias\": false",
    MEMBERS "\"model_type\": \"gpt_oss\", \"head_dim\": 4, \"sliding_window\": 3, "
            "\"num_local_experts\": 4, \"num_experts_per_tok\": 2, \"router_aux_loss_coef\": 0.02, "
            "\"rope_scaling\": {\"rope_type\": \"yarn\", \"factor\": 4.0, \"truncate\": false, "
            "\"original_max_position_embeddings\": 8}",
    LATENT ROUTED "\"model_type\": \"deepseek_v2\", \"q_lora_rank\": null, \"v_head_dim\": 4, "
                  "\"first_k_dense_replace\": 1, \"topk_method\": \"group_limited_greedy\"",
    LATENT ROUTED
    "\"model_type\": \"deepseek_v3\", \"q_lora_rank\": 10, \"v_head_dim\": 8, "
    "\"attention_bias\": true, \"first_k_dense_replace\": 1, \"norm_topk_prob\": true, "
    "\"rope_scaling\": {\"rope_type\": \"yarn\", \"factor\": 4.0, \"mscale\": 1.0, "
    "\"mscale_all_dim\": 1.0, \"original_max_position_embeddings\": 8}",
    LATENT ROUTED "\"model_type\": \"deepseek_v32\", \"q_lora_rank\": 6, \"v_head_dim\": 6, "
                  "\"first_k_dense_replace\": 1, \"index_n_heads\": 5, \"index_head_dim\": 4, "
                  "\"index_topk\": 3",
    LATENT "\"model_type\": \"hy_v4\", \"q_lora_rank\": 6, \"v_head_dim\": 6, "
           "\"n_routed_experts\": 4, \"num_experts_per_tok\": 2, \"moe_intermediate_size\": 6, "
           "\"index_n_heads\": 5, \"index_head_dim\": 4, \"index_topk\": 3, \"hc_mult\": 3, "
           "\"hc_magnitude\": 1.5, \"swiglu_limit\": 0.5, \"indexer_types\": [\"full\", "
           "\"shared\", \"full\", \"full\"]",
    LATENT "\"model_type\": \"axk2\", \"q_lora_rank\": 6, \"v_head_dim\": 6, "
           "\"n_routed_experts\": 4, \"num_experts_per_tok\": 2, \"moe_intermediate_size\": 6, "
           "\"first_k_dense_replace\": 1, \"index_n_heads\": 5, \"index_head_dim\": 4, "
           "\"index_topk\": 3, \"gated_norm_rank\": 5",
    SIZES
    "\"model_type\": \"deepseek_v4\", \"num_key_value_heads\": 1, \"head_dim\": 8, "
    "\"partial_rotary_factor\": 0.5, \"q_lora_rank\": 6, \"o_groups\": 2, \"o_lora_rank\": 5, "
    "\"n_routed_experts\": 6, \"num_experts_per_tok\": 2, \"moe_intermediate_size\": 6, "
    "\"index_n_heads\": 5, \"index_head_dim\": 6, \"index_topk\": 2, \"sliding_window\": 6, "
    "\"compress_rates\": {\"compressed_sparse_attention\": 4, \"heavily_compressed_attention\": "
    "7}, \"layer_types\": [\"compressed_sparse_attention\", \"heavily_compressed_attention\", "
    "\"sliding_attention\", \"compressed_sparse_attention\"], \"mlp_layer_types\": [\"hash_moe\", "
    "\"moe\", \"hash_moe\", \"moe\"], \"hc_mult\": 3, \"hc_sinkhorn_iters\": 3, \"swiglu_limit\": "
    "0.5, \"rope_parameters\": {\"rope_type\": \"yarn\", \"factor\": 4.0, "
    "\"original_max_position_embeddings\": 8}",
    LATENT ROUTED "\"model_type\": \"glm_moe_dsa\", \"q_lora_rank\": 6, \"v_head_dim\": 6, "
                  "\"first_k_dense_replace\": 1, \"index_n_heads\": 5, \"index_head_dim\": 4, "
                  "\"index_topk\": 3, \"index_topk_pattern\": \"FSFS\"",
    LATENT ROUTED "\"model_type\": \"glm4_moe_lite\", \"q_lora_rank\": 5, \"v_head_dim\": 6, "
                  "\"norm_topk_prob\": false, \"mlp_layer_types\": [\"dense\", \"sparse\", "
                  "\"dense\", \"sparse\"]",
    MEMBERS "\"model_type\": \"granitemoe\", \"num_local_experts\": 4, \"num_experts_per_tok\": 2, "
            "\"residual_multiplier\": 0.5",
    MEMBERS
    "\"model_type\": \"granitemoeshared\", \"num_local_experts\": 4, "
    "\"num_experts_per_tok\": 2, \"shared_intermediate_size\": 10, \"residual_multiplier\": "
    "0.5",
    MEMBERS "\"model_type\": \"granite_swa\", \"sliding_window\": 3, \"layer_rope_theta\": [0, "
            "500.0, 10000.0, 0]",
    MEMBERS "\"model_type\": \"granitemoe_swa\", \"num_local_experts\": 4, "
            "\"num_experts_per_tok\": 2, \"shared_intermediate_size\": 10, \"sliding_window\": 3",
    MEMBERS "\"model_type\": \"hyperclovax\", \"logits_scaling\": 0.5, \"residual_multiplier\": "
            "0.5",
    SIZES "\"model_type\": \"persimmon\", \"tie_word_embeddings\": false",
    MEMBERS "\"model_type\": \"mellum\", \"head_dim\": 4, \"num_experts\": 4, "
            "\"num_experts_per_tok\": 2, \"moe_intermediate_size\": 6, \"sliding_window\": 3, "
            "\"layer_types\": [\"full_attention\", \"sliding_attention\", \"sliding_attention\", "
            "\"full_attention\"], \"mlp_layer_types\": [\"dense\", \"sparse\", \"sparse\", "
            "\"sparse\"], \"rope_parameters\": {\"full_attention\": {\"rope_theta\": 500.0}, "
            "\"sliding_attention\": {\"rope_theta\": 20.0}}",
    MEMBERS
    "\"model_type\": \"dots1\", \"n_routed_experts\": 4, \"n_shared_experts\": 1, "
    "\"num_experts_per_tok\": 2, \"moe_intermediate_size\": 6, \"first_k_dense_replace\": 1, "
    "\"norm_topk_prob\": true, \"sliding_window\": 3, \"max_window_layers\": 2",
    MEMBERS "\"model_type\": \"hunyuan_v1_dense\", \"head_dim\": 4, \"rope_scaling\": {\"type\": "
            "\"dynamic\", \"alpha\": 9.0}",
    MEMBERS "\"model_type\": \"minimax_m2\", \"head_dim\": 4, \"num_local_experts\": 4, "
            "\"num_experts_per_tok\": 2, \"rotary_dim\": 2",
    MEMBERS
    "\"model_type\": \"hunyuan_v1_moe\", \"head_dim\": 4, \"num_experts\": 4, \"moe_topk\": [2, "
    "2, 2, 2]",
    MEMBERS
    "\"model_type\": \"ernie4_5_moe\", \"moe_num_experts\": 4, \"moe_k\": 2, "
    "\"moe_num_shared_experts\": 1, \"moe_intermediate_size\": 6, \"moe_layer_interval\": 2",
    SIZES "\"model_type\": \"falcon\", \"tie_word_embeddings\": true",
    SIZES "\"model_type\": \"falcon\", \"new_decoder_architecture\": true, \"num_kv_heads\": 2, "
          "\"ffn_hidden_size\": 12",
    SIZES "\"model_type\": \"falcon\", \"alibi\": true, \"bias\": true, \"multi_query\": false, "
          "\"parallel_attn\": false, \"ffn_hidden_size\": 12",
    MEMBERS "\"model_type\": \"phi\", \"hidden_act\": \"gelu_new\"",
    MEMBERS "\"model_type\": \"phi\", \"qk_layernorm\": true, \"hidden_act\": \"quick_gelu\"",
    "\"model_type\": \"gptj\", \"vocab_size\": 16, \"n_embd\": 16, \"n_layer\": 4, \"n_head\": 4, "
    "\"n_positions\": 32, \"rotary_dim\": 2",
    "\"model_type\": \"codegen\", \"vocab_size\": 16, \"n_embd\": 32, \"n_layer\": 4, \"n_head\": "
    "8, \"n_positions\": 32, \"rotary_dim\": 2",
    LINEAR "\"model_type\": \"qwen3_5_moe_text\", \"layer_types\": [\"linear_attention\", "
           "\"full_attention\", \"full_attention\", \"linear_attention\"], \"num_experts\": 4, "
           "\"num_experts_per_tok\": 2, \"moe_intermediate_size\": 6, "
           "\"shared_expert_intermediate_size\": 10",
    MEMBERS "\"model_type\": \"helium\", \"head_dim\": 4, \"attention_bias\": true",
    MEMBERS "\"model_type\": \"cwm\", \"head_dim\": 4, \"sliding_window\": 3, " ROPE(
        "llama3") "\"mlp_bias\": false",
    MEMBERS
    "\"model_type\": \"ministral\", \"sliding_window\": 3, \"layer_types\": "
    "[\"full_attention\", \"sliding_attention\", \"full_attention\", \"sliding_attention\"]",
    MEMBERS "\"model_type\": \"ministral3\", \"head_dim\": 4, \"rope_parameters\": "
            "{\"rope_type\": \"yarn\", \"rope_theta\": 10000.0, \"factor\": 4.0, "
            "\"original_max_position_embeddings\": 4, \"llama_4_scaling_beta\": 0.5}",
    GEMMA "\"model_type\": \"vaultgemma\", \"attn_logit_softcapping\": 5.0",
    MEMBERS "\"model_type\": \"jais2\"",
    MEMBERS "\"model_type\": \"solar_open\", \"head_dim\": 4, \"n_routed_experts\": 4, "
            "\"n_shared_experts\": 1, \"num_experts_per_tok\": 3, \"moe_intermediate_size\": 6, "
            "\"routed_scaling_factor\": 1.5, \"partial_rotary_factor\": 0.5",
    MEMBERS "\"model_type\": \"exaone_moe\", \"head_dim\": 4, \"num_experts\": 4, "
            "\"num_shared_experts\": 1, \"num_experts_per_tok\": 2, \"moe_intermediate_size\": 6, "
            "\"routed_scaling_factor\": 1.5, \"sliding_window\": 3, \"sliding_window_pattern\": 2",
    MEMBERS "\"model_type\": \"flex_olmo\", \"num_experts\": 4, \"num_experts_per_tok\": 2, "
            "\"router_aux_loss_coef\": 0.02",
    "\"model_type\": \"exaone\", \"vocab_size\": 16, \"hidden_size\": 16, \"num_layers\": 4, "
    "\"num_attention_heads\": 4, \"num_key_value_heads\": 2, \"intermediate_size\": 24, "
    "\"max_position_embeddings\": 32, \"layer_norm_epsilon\": 1e-4, "
    "\"activation_function\": \"gelu\"",
    MEMBERS "\"model_type\": \"iquestcoder\", \"head_dim\": 6",
    MEMBERS "\"model_type\": \"internlm3\", \"qkv_bias\": true, \"bias\": true, \"head_dim\": 6",
    "\"model_type\": \"gpt_neo\", \"vocab_size\": 16, \"hidden_size\": 16, \"num_layers\": 4, "
    "\"num_heads\": 4, "
    "\"max_position_embeddings\": 32, \"window_size\": 3, \"attention_types\": [[[\"global\", "
    "\"local\"], 2]]",
    "\"model_type\": \"gpt_bigcode\", \"vocab_size\": 16, \"n_embd\": 16, \"n_layer\": 4, "
    "\"n_head\": 4, \"n_positions\": 32, \"resid_pdrop\": 0.0, \"embd_pdrop\": 0.0, "
    "\"attn_pdrop\": 0.0",
    "\"model_type\": \"opt\", \"vocab_size\": 16, \"hidden_size\": 16, \"ffn_dim\": 24, "
    "\"num_hidden_layers\": 4, \"num_attention_heads\": 4, \"max_position_embeddings\": 32, "
    "\"dropout\": 0.0",
    "\"model_type\": \"opt\", \"vocab_size\": 16, \"hidden_size\": 16, \"ffn_dim\": 24, "
    "\"num_hidden_layers\": 4, \"num_attention_heads\": 4, \"max_position_embeddings\": 32, "
    "\"dropout\": 0.0, \"word_embed_proj_dim\": 10, \"do_layer_norm_before\": false",
    "\"model_type\": \"biogpt\", \"vocab_size\": 16, \"hidden_size\": 16, \"intermediate_size\": "
    "24, "
    "\"num_hidden_layers\": 4, \"num_attention_heads\": 4, \"max_position_embeddings\": 32, "
    "\"hidden_dropout_prob\": 0.0, \"attention_probs_dropout_prob\": 0.0",
    "\"model_type\": \"ctrl\", \"vocab_size\": 16, \"n_embd\": 16, \"dff\": 24, \"n_layer\": 4, "
    "\"n_head\": 4, \"n_positions\": 32, \"resid_pdrop\": 0.0, \"embd_pdrop\": 0.0",
    "\"model_type\": \"xglm\", \"vocab_size\": 16, \"d_model\": 16, \"ffn_dim\": 24, "
    "\"num_layers\": 4, \"attention_heads\": 4, \"max_position_embeddings\": 32, "
    "\"dropout\": 0.0, \"attention_dropout\": 0.0, \"pad_token_id\": 1",
    "\"model_type\": \"bloom\", \"vocab_size\": 16, \"hidden_size\": 24, \"n_layer\": 4, "
    "\"n_head\": 6, \"seq_length\": 32",
    "\"model_type\": \"mpt\", \"vocab_size\": 16, \"d_model\": 16, \"n_layers\": 4, \"n_heads\": "
    "4, \"max_seq_len\": 32, \"attn_config\": {\"clip_qkv\": 0.5, \"softmax_scale\": 0.7}",
    LATENT "\"model_type\": \"minicpm3\", \"q_lora_rank\": 10, \"scale_emb\": 3.0, "
           "\"dim_model_base\": 8",
    LATENT "\"model_type\": \"youtu\", \"q_lora_rank\": null, \"v_head_dim\": 3",
    "\"model_type\": \"modernbert-decoder\", \"vocab_size\": 16, \"hidden_size\": 16, "
    "\"intermediate_size\": 24, \"num_hidden_layers\": 4, \"num_attention_heads\": 4, "
    "\"max_position_embeddings\": 32, \"local_attention\": 6, \"norm_bias\": true, "
    "\"mlp_bias\": true, \"classifier_bias\": true, \"tie_word_embeddings\": false",
    "\"model_type\": \"openai-gpt\", \"vocab_size\": 16, \"n_embd\": 16, \"n_layer\": 4, "
    "\"n_head\": 4, \"n_positions\": 32, \"resid_pdrop\": 0.0, \"embd_pdrop\": 0.0, "
    "\"attn_pdrop\": 0.0",
    MEMBERS "\"model_type\": \"aria_text\", \"moe_num_experts\": 4, \"moe_topk\": 4, "
            "\"moe_num_shared_experts\": 1",
    MEMBERS "\"model_type\": \"llama4_text\", \"head_dim\": 4, \"attention_chunk_size\": 3, "
            "\"intermediate_size_mlp\": 20, \"interleave_moe_layer_step\": 2, "
            "\"num_local_experts\": 4, \"floor_scale\": 3, \"attn_scale\": 0.5",
    MEMBERS "\"model_type\": \"gemma4_text\", \"head_dim\": 4, \"global_head_dim\": 8, "
            "\"num_global_key_value_heads\": 4, \"attention_k_eq_v\": true, \"sliding_window\": 3, "
            "\"hidden_size_per_layer_input\": 0, \"final_logit_softcapping\": 5.0, "
            "\"layer_types\": [\"sliding_attention\", \"full_attention\", "
            "\"sliding_attention\", \"full_attention\"]",
    MEMBERS "\"model_type\": \"gemma4_text\", \"head_dim\": 4, \"global_head_dim\": 8, "
            "\"sliding_window\": 3, \"hidden_size_per_layer_input\": 0, \"enable_moe_block\": "
            "true, \"num_experts\": 4, \"top_k_experts\": 2, \"moe_intermediate_size\": 6",
    MEMBERS "\"model_type\": \"gemma4_text\", \"head_dim\": 4, \"global_head_dim\": 8, "
            "\"sliding_window\": 3, \"hidden_size_per_layer_input\": 6, "
            "\"vocab_size_per_layer_input\": 18, \"num_kv_shared_layers\": 2, "
            "\"use_double_wide_mlp\": true, \"layer_types\": [\"sliding_attention\", "
            "\"full_attention\", \"sliding_attention\", \"full_attention\"]",
    MEMBERS "\"model_type\": \"gemma4_unified_text\", \"head_dim\": 4, \"global_head_dim\": 8, "
            "\"num_global_key_value_heads\": 4, \"attention_k_eq_v\": true, \"sliding_window\": 3, "
            "\"final_logit_softcapping\": 5.0, \"layer_types\": [\"full_attention\", "
            "\"sliding_attention\", \"sliding_attention\", \"full_attention\"]",
    MEMBERS "\"model_type\": \"gemma3n_text\", \"head_dim\": 4, \"sliding_window\": 3, "
            "\"hidden_size_per_layer_input\": 6, \"vocab_size_per_layer_input\": 13, "
            "\"num_kv_shared_layers\": 2, \"altup_num_inputs\": 3, \"altup_active_idx\": 1, "
            "\"altup_coef_clip\": 0.5, \"laurel_rank\": 5, \"activation_sparsity_pattern\": "
            "[0.4, 0.0, 0.6, 0.0], \"layer_types\": [\"sliding_attention\", "
            "\"full_attention\", \"sliding_attention\", \"full_attention\"]",
    MEMBERS "\"model_type\": \"recurrent_gemma\", \"lru_width\": 24, \"conv1d_width\": 3, "
            "\"attention_window_size\": 3, \"logits_soft_cap\": 5.0, \"block_types\": "
            "[\"recurrent\", \"attention\"], \"attention_bias\": true",
    MEMBERS "\"model_type\": \"phimoe\", \"num_local_experts\": 4, \"router_jitter_noise\": "
            "0.3, \"attention_bias\": true, \"lm_head_bias\": true, \"router_aux_loss_coef\": 0.02",
    "\"model_type\": \"dbrx\", \"vocab_size\": 16, \"d_model\": 16, \"n_layers\": 4, \"n_heads\": "
    "4, \"max_seq_len\": 32, \"attn_config\": {\"clip_qkv\": 0.5, \"kv_n_heads\": 2}, "
    "\"ffn_config\": {\"ffn_hidden_size\": 6, \"moe_num_experts\": 4, \"moe_top_k\": 2}",
    MEMBERS "\"model_type\": \"nanochat\", \"attention_bias\": true",
    SIZES "\"num_key_value_heads\": 2, \"model_type\": \"cohere2_moe\", \"head_dim\": 4, "
          "\"num_experts\": 4, \"num_shared_experts\": 1, \"sliding_window\": 3, "
          "\"sliding_window_pattern\": 3, \"first_k_dense_replace\": 1, "
          "\"prefix_dense_intermediate_size\": 20, \"logit_scale\": 0.5",
    MEMBERS
    "\"model_type\": \"cohere_compass_text\", \"sliding_window\": 3, \"layer_types\": "
    "[\"sliding_attention\", \"full_attention\", \"sliding_attention\", \"full_attention\"], "
    "\"rope_parameters\": {\"full_attention\": null, \"sliding_attention\": {\"rope_theta\": "
    "500.0}}",
    MEMBERS "\"model_type\": \"bitnet\", \"attention_bias\": true",
    LATENT ROUTED "\"model_type\": \"axk1\", \"q_lora_rank\": 5, \"v_head_dim\": 6, "
                  "\"first_k_dense_replace\": 1, \"attention_bias\": true",
    MEMBERS
    "\"model_type\": \"laguna\", \"head_dim\": 4, \"num_experts\": 4, "
    "\"num_experts_per_tok\": 2, \"moe_intermediate_size\": 6, "
    "\"shared_expert_intermediate_size\": 10, \"moe_router_logit_softcapping\": 0.5, "
    "\"num_attention_heads_per_layer\": [4, 8, 4, 8], \"sliding_window\": 3, \"layer_types\": "
    "[\"full_attention\", \"sliding_attention\", \"sliding_attention\", \"full_attention\"]",
    MEMBERS "\"model_type\": \"flint\", \"head_dim\": 4, \"num_experts\": 4, "
            "\"num_experts_per_tok\": 2, \"moe_intermediate_size\": 6, "
            "\"shared_expert_intermediate_size\": 10, \"sliding_window\": 3, \"layer_types\": "
            "[\"full_attention\", \"sliding_attention\", \"sliding_attention\", "
            "\"full_attention\"]",
    MEMBERS "\"model_type\": \"hy_v3\", \"head_dim\": 4, \"num_experts\": 4, "
            "\"num_shared_experts\": 2, \"num_experts_per_tok\": 2, \"moe_intermediate_size\": 6, "
            "\"attention_bias\": true",
    MEMBERS "\"model_type\": \"llama4_text\", \"head_dim\": 4, \"attention_chunk_size\": 5, "
            "\"num_local_experts\": 4, \"num_experts_per_tok\": 2, \"use_qk_norm\": false, "
            "\"attn_temperature_tuning\": false, \"attention_bias\": true",
    MEMBERS "\"model_type\": \"kolibri1\", \"head_dim\": 4, \"num_local_experts\": 4, "
            "\"num_experts_per_tok\": 2, \"moe_intermediate_size\": 6, "
            "\"shared_expert_intermediate_size\": 8, \"sliding_window\": 3, \"layer_types\": "
            "[\"sliding_attention\", \"full_attention\", \"sliding_attention\", "
            "\"full_attention\"]",
    MEMBERS ROUTED "\"model_type\": \"sarvam_moe\", \"head_dim\": 4, \"attention_bias\": true, "
                   "\"first_k_dense_replace\": 1",
    LATENT ROUTED "\"model_type\": \"sarvam_mla\", \"v_head_dim\": 6, "
                  "\"first_k_dense_replace\": 1",
    MEMBERS "\"model_type\": \"lfm3\", \"head_dim\": 8, \"sliding_window\": 3, \"layer_types\": "
            "[\"conv\", \"sliding_attention\", \"full_attention\", \"conv\"]",
    SIZES "\"num_key_value_heads\": 1, \"model_type\": \"mimo_v2_flash\", \"head_dim\": 6, "
          "\"v_head_dim\": 4, \"sliding_window\": 3, \"n_routed_experts\": 4, "
          "\"num_experts_per_tok\": 2, \"moe_intermediate_size\": 6, \"attention_bias\": true, "
          "\"layer_types\": [\"full_attention\", \"sliding_attention\", \"full_attention\", "
          "\"sliding_attention\"]",
    MEMBERS "\"model_type\": \"minimax\", \"num_local_experts\": 4, \"num_experts_per_tok\": 2, "
            "\"sliding_window\": 3, \"full_attn_alpha_factor\": 1.5, \"full_attn_beta_factor\": "
            "0.5, \"linear_attn_alpha_factor\": 0.75, \"linear_attn_beta_factor\": 1.25, "
            "\"mlp_alpha_factor\": 0.5, \"mlp_beta_factor\": 1.5",
    LINEAR "\"model_type\": \"olmo_hybrid\", \"rope_theta\": null, \"attention_bias\": true",
    LATENT ROUTED "\"model_type\": \"kimi_linear\", \"v_head_dim\": 6, \"num_experts\": 4, "
                  "\"first_k_dense_replace\": 1, \"attention_bias\": true, "
                  "\"linear_attn_config\": {\"num_heads\": 4, \"head_dim\": 6, "
                  "\"short_conv_kernel_size\": 3, \"kda_layers\": [1, 2, 4], "
                  "\"full_attn_layers\": [3]}",
    LATENT "\"model_type\": \"bailing_hybrid\", \"v_head_dim\": 6, \"head_dim\": 6, "
           "\"num_experts\": 4, \"num_experts_per_token\": 2, \"moe_intermediate_size\": 6, "
           "\"num_expert_group\": 2, \"topk_group\": 1, \"first_k_dense_replace\": 1, "
           "\"attention_bias\": true, \"short_conv_kernel_size\": 3, \"layer_group_size\": 3",
    LATENT "\"model_type\": \"mistral4\", \"q_lora_rank\": 5, \"v_head_dim\": 6, "
           "\"n_routed_experts\": 4, \"num_experts_per_tok\": 2, \"moe_intermediate_size\": 6, "
           "\"first_k_dense_replace\": 1, \"rope_parameters\": {\"rope_type\": \"yarn\", "
           "\"rope_theta\": 500.0, \"factor\": 4.0, \"original_max_position_embeddings\": 4, "
           "\"mscale\": 1.0, \"mscale_all_dim\": 1.0, \"llama_4_scaling_beta\": 0.5}",
    LATENT "\"model_type\": \"longcat_flash\", \"q_lora_rank\": 5, \"head_dim\": 2, "
           "\"v_head_dim\": 6, \"num_layers\": 2, \"n_routed_experts\": 4, \"zero_expert_num\": 3, "
           "\"moe_topk\": 3, \"expert_ffn_hidden_size\": 6, \"attention_bias\": true",
};

int n_tiny_families(void)
{
    return (int)(sizeof families / sizeof *families);
}

const Decoder *tiny_family(Arena *a, int i)
{
    const char *members = families[i];
    Yaml *root;
    HfModel hf;
    assert_no_error(yaml_parse(a, str_of(arena_printf(a, "{%s}", members)), "config.json", &root));
    assert_no_error(hf_config_parse(a, root, "config.json", &hf));
    Decoder *d = NEW(a, Decoder);
    *d = *hf.decoder;
    d->sample_key = "input_ids";
    d->prediction_key = "logits";
    return d;
}

Decoder tiny_family_of(Arena *a, const char *block_class)
{
    int i = 0;
    while (strcmp(tiny_family(a, i)->block_class, block_class) != 0) i++;
    return *tiny_family(a, i);
}
