/* hf_family.c - the rows of families and of the names of their tensors. To add a family:
 * docs/models.md. */
#include "models/hf_family.h"
#include <string.h>

static const HfName llama_names[] = {
    { "transformer.wte.*", "model.embed_tokens.*", HF_SAME },
    { "transformer.h.%.attention_norm.*", "model.layers.%.input_layernorm.*", HF_SAME },
    { "transformer.h.%.ffn_norm.*", "model.layers.%.post_attention_layernorm.*", HF_SAME },
    { "transformer.h.%.attn.q_attn.*", "model.layers.%.self_attn.q_proj.*", HF_SAME },
    { "transformer.h.%.attn.k_attn.*", "model.layers.%.self_attn.k_proj.*", HF_SAME },
    { "transformer.h.%.attn.v_attn.*", "model.layers.%.self_attn.v_proj.*", HF_SAME },
    { "transformer.h.%.attn.c_proj.*", "model.layers.%.self_attn.o_proj.*", HF_SAME },
    { "transformer.h.%.attn.q_norm.*", "model.layers.%.self_attn.q_norm.*", HF_SAME },
    { "transformer.h.%.attn.k_norm.*", "model.layers.%.self_attn.k_norm.*", HF_SAME },
    { "transformer.h.%.mlp.W.*", "model.layers.%.mlp.gate_proj.*", HF_SAME },
    { "transformer.h.%.mlp.V.*", "model.layers.%.mlp.up_proj.*", HF_SAME },
    { "transformer.h.%.mlp.W_2.*", "model.layers.%.mlp.down_proj.*", HF_SAME },
    { "transformer.h.%.mlp.router.*", "model.layers.%.mlp.gate.*", HF_SAME },
    { "transformer.h.%.mlp.experts.W.*", "model.layers.%.mlp.experts.#.gate_proj.*", HF_EXPERTS },
    { "transformer.h.%.mlp.experts.V.*", "model.layers.%.mlp.experts.#.up_proj.*", HF_EXPERTS },
    { "transformer.h.%.mlp.experts.W_2.*", "model.layers.%.mlp.experts.#.down_proj.*", HF_EXPERTS },
    { "transformer.lm_head_norm.*", "model.norm.*", HF_SAME },
    { "transformer.lm_head.*", "lm_head.*", HF_SAME },
    { 0 },
};

static const HfName sandwich_names[] = {
    { "transformer.h.%.attention_post_norm.*", "model.layers.%.post_attention_layernorm.*",
      HF_SAME },
    { "transformer.h.%.ffn_norm.*", "model.layers.%.pre_feedforward_layernorm.*", HF_SAME },
    { "transformer.h.%.ffn_post_norm.*", "model.layers.%.post_feedforward_layernorm.*", HF_SAME },
    { 0 },
};

static const HfName mixtral_names[] = {
    { "transformer.h.%.mlp.router.balance",
      "model.layers.%.block_sparse_moe.e_score_correction_bias", HF_SAME },
    { "transformer.h.%.mlp.router.*", "model.layers.%.block_sparse_moe.gate.*", HF_SAME },
    { "transformer.h.%.mlp.experts.W.*", "model.layers.%.block_sparse_moe.experts.#.w1.*",
      HF_EXPERTS },
    { "transformer.h.%.mlp.experts.V.*", "model.layers.%.block_sparse_moe.experts.#.w3.*",
      HF_EXPERTS },
    { "transformer.h.%.mlp.experts.W_2.*", "model.layers.%.block_sparse_moe.experts.#.w2.*",
      HF_EXPERTS },
    { 0 },
};

static const HfName plain_names[] = {
    { "transformer.h.%.mlp.c_fc.*", "model.layers.%.mlp.up_proj.*", HF_SAME },
    { "transformer.h.%.mlp.c_proj.*", "model.layers.%.mlp.down_proj.*", HF_SAME },
    { 0 },
};

static const HfName fused_names[] = {
    { "transformer.h.%.attn.q_attn.*", "model.layers.%.self_attn.qkv_proj.*", HF_QUERIES },
    { "transformer.h.%.attn.k_attn.*", "model.layers.%.self_attn.qkv_proj.*", HF_KEYS },
    { "transformer.h.%.attn.v_attn.*", "model.layers.%.self_attn.qkv_proj.*", HF_VALUES },
    { "transformer.h.%.mlp.W.*", "model.layers.%.mlp.gate_up_proj.*", HF_FIRST_HALF },
    { "transformer.h.%.mlp.V.*", "model.layers.%.mlp.gate_up_proj.*", HF_SECOND_HALF },
    { 0 },
};

static const HfName starcoder_names[] = {
    { "transformer.h.%.mlp.c_fc.*", "model.layers.%.mlp.c_fc.*", HF_SAME },
    { "transformer.h.%.mlp.c_proj.*", "model.layers.%.mlp.c_proj.*", HF_SAME },
    { 0 },
};

static const HfName neox_names[] = {
    { "transformer.wte.*", "gpt_neox.embed_in.*", HF_SAME },
    { "transformer.h.%.attention_norm.*", "gpt_neox.layers.%.input_layernorm.*", HF_SAME },
    { "transformer.h.%.ffn_norm.*", "gpt_neox.layers.%.post_attention_layernorm.*", HF_SAME },
    { "transformer.h.%.attn.q_attn.*", "gpt_neox.layers.%.attention.query_key_value.*",
      HF_HEAD_QUERIES },
    { "transformer.h.%.attn.k_attn.*", "gpt_neox.layers.%.attention.query_key_value.*",
      HF_HEAD_KEYS },
    { "transformer.h.%.attn.v_attn.*", "gpt_neox.layers.%.attention.query_key_value.*",
      HF_HEAD_VALUES },
    { "transformer.h.%.attn.c_proj.*", "gpt_neox.layers.%.attention.dense.*", HF_SAME },
    { "transformer.h.%.mlp.c_fc.*", "gpt_neox.layers.%.mlp.dense_h_to_4h.*", HF_SAME },
    { "transformer.h.%.mlp.c_proj.*", "gpt_neox.layers.%.mlp.dense_4h_to_h.*", HF_SAME },
    { "transformer.lm_head_norm.*", "gpt_neox.final_layer_norm.*", HF_SAME },
    { "transformer.lm_head.*", "embed_out.*", HF_SAME },
    { 0 },
};

static const HfName glm_names[] = {
    { "transformer.h.%.mlp.W.*", "model.layers.%.mlp.gate_up_proj.*", HF_FIRST_HALF },
    { "transformer.h.%.mlp.V.*", "model.layers.%.mlp.gate_up_proj.*", HF_SECOND_HALF },
    { "transformer.h.%.attention_post_norm.*", "model.layers.%.post_self_attn_layernorm.*",
      HF_SAME },
    { "transformer.h.%.ffn_post_norm.*", "model.layers.%.post_mlp_layernorm.*", HF_SAME },
    { 0 },
};

/* clang-format off */
#define SIGMOID_ROUTER \
    { "transformer.h.%.mlp.router.balance", "model.layers.%.mlp.gate.e_score_correction_bias", HF_SAME }, \
    { "transformer.h.%.mlp.shared.W.*", "model.layers.%.mlp.shared_experts.gate_proj.*", HF_SAME }, \
    { "transformer.h.%.mlp.shared.V.*", "model.layers.%.mlp.shared_experts.up_proj.*", HF_SAME }, \
    { "transformer.h.%.mlp.shared.W_2.*", "model.layers.%.mlp.shared_experts.down_proj.*", HF_SAME }
/* clang-format on */

/* clang-format off */
#define NEXTN \
    { "transformer.h.%.mtp.token.*", "model.layers.%.eh_proj.*", HF_FIRST_COLUMNS }, \
    { "transformer.h.%.mtp.stream.*", "model.layers.%.eh_proj.*", HF_SECOND_COLUMNS }, \
    { "transformer.h.%.mtp.token_norm.*", "model.layers.%.enorm.*", HF_SAME }, \
    { "transformer.h.%.mtp.stream_norm.*", "model.layers.%.hnorm.*", HF_SAME }, \
    { "transformer.h.%.mtp.ahead_norm.*", "model.layers.%.shared_head.norm.*", HF_SAME }
/* clang-format on */

const HfShared hf_shared[] = { { "model.embed_tokens.weight", "embed_tokens.weight" },
                               { "lm_head.weight", "shared_head.head.weight" },
                               { 0 } };

static const HfName sigmoid_names[] = { SIGMOID_ROUTER, NEXTN, { 0 } };

static const HfName latent_names[] = {
    { "transformer.h.%.attn.q_attn.*", "model.layers.%.self_attn.q_proj.*", HF_LATENT_QUERIES },
    { "transformer.h.%.attn.q_latent.*", "model.layers.%.self_attn.q_a_proj.*", HF_SAME },
    { "transformer.h.%.attn.q_latent_norm.*", "model.layers.%.self_attn.q_a_layernorm.*", HF_SAME },
    { "transformer.h.%.attn.q_up.*", "model.layers.%.self_attn.q_b_proj.*", HF_LATENT_QUERIES },
    { "transformer.h.%.attn.kv_latent.*", "model.layers.%.self_attn.kv_a_proj_with_mqa.*",
      HF_LATENT_VECTOR },
    { "transformer.h.%.attn.k_rope.*", "model.layers.%.self_attn.kv_a_proj_with_mqa.*",
      HF_LATENT_ROPE },
    { "transformer.h.%.attn.kv_latent_norm.*", "model.layers.%.self_attn.kv_a_layernorm.*",
      HF_SAME },
    { "transformer.h.%.attn.k_attn.*", "model.layers.%.self_attn.kv_b_proj.*", HF_LATENT_KEYS },
    { "transformer.h.%.attn.v_attn.*", "model.layers.%.self_attn.kv_b_proj.*", HF_LATENT_VALUES },
    SIGMOID_ROUTER,
    NEXTN,
    { 0 },
};

static const HfName afmoe_names[] = {
    { "transformer.h.%.attention_post_norm.*", "model.layers.%.post_attention_layernorm.*",
      HF_SAME },
    { "transformer.h.%.ffn_norm.*", "model.layers.%.pre_mlp_layernorm.*", HF_SAME },
    { "transformer.h.%.ffn_post_norm.*", "model.layers.%.post_mlp_layernorm.*", HF_SAME },
    { "transformer.h.%.attn.g_attn.*", "model.layers.%.self_attn.gate_proj.*", HF_SAME },
    { "transformer.h.%.mlp.router.balance", "model.layers.%.mlp.expert_bias", HF_SAME },
    { "transformer.h.%.mlp.router.*", "model.layers.%.mlp.router.gate.*", HF_SAME },
    { "transformer.h.%.mlp.shared.W.*", "model.layers.%.mlp.shared_experts.gate_proj.*", HF_SAME },
    { "transformer.h.%.mlp.shared.V.*", "model.layers.%.mlp.shared_experts.up_proj.*", HF_SAME },
    { "transformer.h.%.mlp.shared.W_2.*", "model.layers.%.mlp.shared_experts.down_proj.*",
      HF_SAME },
    { 0 },
};

/* clang-format off */
#define SHARED_EXPERT \
    { "transformer.h.%.mlp.shared.W.*", "model.layers.%.mlp.shared_expert.gate_proj.*", HF_SAME }, \
    { "transformer.h.%.mlp.shared.V.*", "model.layers.%.mlp.shared_expert.up_proj.*", HF_SAME }, \
    { "transformer.h.%.mlp.shared.W_2.*", "model.layers.%.mlp.shared_expert.down_proj.*", HF_SAME }, \
    { "transformer.h.%.mlp.shared.gate.*", "model.layers.%.mlp.shared_expert_gate.*", HF_SAME }
#define LINEAR_ATTENTION \
    { "transformer.h.%.attn.q_attn.*", "model.layers.%.self_attn.q_proj.*", HF_GATED_QUERIES }, \
    { "transformer.h.%.attn.g_attn.*", "model.layers.%.self_attn.q_proj.*", HF_FEATURE_GATES }, \
    { "transformer.h.%.linear_attn.q_conv.*", "model.layers.%.linear_attn.conv1d.*", HF_ALL_QUERIES }, \
    { "transformer.h.%.linear_attn.k_conv.*", "model.layers.%.linear_attn.conv1d.*", HF_ALL_KEYS }, \
    { "transformer.h.%.linear_attn.v_conv.*", "model.layers.%.linear_attn.conv1d.*", HF_ALL_VALUES }, \
    { "transformer.h.%.linear_attn.c_proj.*", "model.layers.%.linear_attn.out_proj.*", HF_SAME }, \
    { "transformer.h.%.delta_gates.speed", "model.layers.%.linear_attn.A_log", HF_SAME }, \
    { "transformer.h.%.delta_gates.bias", "model.layers.%.linear_attn.dt_bias", HF_SAME }, \
    { "transformer.h.%.delta_norm.*", "model.layers.%.linear_attn.norm.*", HF_SAME }
/* clang-format on */

static const HfName shared_names[] = { SHARED_EXPERT, { 0 } };

static const HfName qwen3_next_names[] = {
    LINEAR_ATTENTION,
    SHARED_EXPERT,
    { "transformer.h.%.linear_attn.q_attn.*", "model.layers.%.linear_attn.in_proj_qkvz.*",
      HF_LINEAR_QUERIES },
    { "transformer.h.%.linear_attn.k_attn.*", "model.layers.%.linear_attn.in_proj_qkvz.*",
      HF_LINEAR_KEYS },
    { "transformer.h.%.linear_attn.v_attn.*", "model.layers.%.linear_attn.in_proj_qkvz.*",
      HF_LINEAR_VALUES },
    { "transformer.h.%.linear_attn.g_attn.*", "model.layers.%.linear_attn.in_proj_qkvz.*",
      HF_LINEAR_GATES },
    { "transformer.h.%.linear_attn.b_attn.*", "model.layers.%.linear_attn.in_proj_ba.*",
      HF_LINEAR_RATES },
    { "transformer.h.%.linear_attn.a_attn.*", "model.layers.%.linear_attn.in_proj_ba.*",
      HF_LINEAR_DECAYS },
    { 0 },
};

static const HfName qwen3_5_names[] = {
    LINEAR_ATTENTION,
    { "transformer.h.%.linear_attn.q_attn.*", "model.layers.%.linear_attn.in_proj_qkv.*",
      HF_ALL_QUERIES },
    { "transformer.h.%.linear_attn.k_attn.*", "model.layers.%.linear_attn.in_proj_qkv.*",
      HF_ALL_KEYS },
    { "transformer.h.%.linear_attn.v_attn.*", "model.layers.%.linear_attn.in_proj_qkv.*",
      HF_ALL_VALUES },
    { "transformer.h.%.linear_attn.g_attn.*", "model.layers.%.linear_attn.in_proj_z.*", HF_SAME },
    { "transformer.h.%.linear_attn.b_attn.*", "model.layers.%.linear_attn.in_proj_b.*", HF_SAME },
    { "transformer.h.%.linear_attn.a_attn.*", "model.layers.%.linear_attn.in_proj_a.*", HF_SAME },
    { 0 },
};

/* clang-format off */
#define STATE_SPACE \
    { "transformer.h.%.linear_attn.g_attn.*", "model.layers.%.mamba.in_proj.*", HF_SPACE_GATES }, \
    { "transformer.h.%.linear_attn.v_attn.*", "model.layers.%.mamba.in_proj.*", HF_SPACE_VALUES }, \
    { "transformer.h.%.linear_attn.k_attn.*", "model.layers.%.mamba.in_proj.*", HF_SPACE_KEYS }, \
    { "transformer.h.%.linear_attn.q_attn.*", "model.layers.%.mamba.in_proj.*", HF_SPACE_QUERIES }, \
    { "transformer.h.%.linear_attn.a_attn.*", "model.layers.%.mamba.in_proj.*", HF_SPACE_STEPS }, \
    { "transformer.h.%.linear_attn.v_conv.*", "model.layers.%.mamba.conv1d.*", HF_SPACE_VALUES }, \
    { "transformer.h.%.linear_attn.k_conv.*", "model.layers.%.mamba.conv1d.*", HF_SPACE_KEYS }, \
    { "transformer.h.%.linear_attn.q_conv.*", "model.layers.%.mamba.conv1d.*", HF_SPACE_QUERIES }, \
    { "transformer.h.%.linear_attn.c_proj.*", "model.layers.%.mamba.out_proj.*", HF_SAME }, \
    { "transformer.h.%.delta_gates.speed", "model.layers.%.mamba.A_log", HF_SAME }, \
    { "transformer.h.%.delta_gates.bias", "model.layers.%.mamba.dt_bias", HF_SAME }, \
    { "transformer.h.%.delta_gates.skip", "model.layers.%.mamba.D", HF_SAME }, \
    { "transformer.h.%.delta_norm.*", "model.layers.%.mamba.norm.*", HF_SAME }
/* clang-format on */

static const HfName bamba_names[] = {
    STATE_SPACE,
    { "transformer.h.%.ffn_norm.*", "model.layers.%.pre_ff_layernorm.*", HF_SAME },
    { "transformer.h.%.mlp.W.*", "model.layers.%.feed_forward.gate_proj.*", HF_SAME },
    { "transformer.h.%.mlp.V.*", "model.layers.%.feed_forward.up_proj.*", HF_SAME },
    { "transformer.h.%.mlp.W_2.*", "model.layers.%.feed_forward.down_proj.*", HF_SAME },
    { "transformer.lm_head_norm.*", "model.final_layernorm.*", HF_SAME },
    { 0 },
};

static const HfName granite_hybrid_names[] = {
    STATE_SPACE,
    { "transformer.h.%.mlp.W.*", "model.layers.%.shared_mlp.input_linear.*", HF_FIRST_HALF },
    { "transformer.h.%.mlp.V.*", "model.layers.%.shared_mlp.input_linear.*", HF_SECOND_HALF },
    { "transformer.h.%.mlp.W_2.*", "model.layers.%.shared_mlp.output_linear.*", HF_SAME },
    { "transformer.h.%.mlp.shared.W.*", "model.layers.%.shared_mlp.input_linear.*", HF_FIRST_HALF },
    { "transformer.h.%.mlp.shared.V.*", "model.layers.%.shared_mlp.input_linear.*",
      HF_SECOND_HALF },
    { "transformer.h.%.mlp.shared.W_2.*", "model.layers.%.shared_mlp.output_linear.*", HF_SAME },
    { "transformer.h.%.mlp.router.*", "model.layers.%.block_sparse_moe.router.layer.*", HF_SAME },
    { "transformer.h.%.mlp.experts.W.*", "model.layers.%.block_sparse_moe.input_linear.*",
      HF_STACKED_FIRST_HALF },
    { "transformer.h.%.mlp.experts.V.*", "model.layers.%.block_sparse_moe.input_linear.*",
      HF_STACKED_SECOND_HALF },
    { "transformer.h.%.mlp.experts.W_2.*", "model.layers.%.block_sparse_moe.output_linear.*",
      HF_STACKED_ROWS },
    { 0 },
};

static const HfName gpt_oss_names[] = {
    { "transformer.h.%.attn.sinks", "model.layers.%.self_attn.sinks", HF_SAME },
    { "transformer.h.%.mlp.router.*", "model.layers.%.mlp.router.*", HF_SAME },
    { "transformer.h.%.mlp.experts.W.weight", "model.layers.%.mlp.experts.gate_up_proj",
      HF_STACKED_EVEN },
    { "transformer.h.%.mlp.experts.V.weight", "model.layers.%.mlp.experts.gate_up_proj",
      HF_STACKED_ODD },
    { "transformer.h.%.mlp.experts.W_2.weight", "model.layers.%.mlp.experts.down_proj",
      HF_STACKED },
    { "transformer.h.%.mlp.experts.W.bias", "model.layers.%.mlp.experts.gate_up_proj_bias",
      HF_STACKED_EVEN },
    { "transformer.h.%.mlp.experts.V.bias", "model.layers.%.mlp.experts.gate_up_proj_bias",
      HF_STACKED_ODD },
    { "transformer.h.%.mlp.experts.W_2.bias", "model.layers.%.mlp.experts.down_proj_bias",
      HF_SAME },
    { 0 },
};

static const HfName apertus_names[] = {
    { "transformer.h.%.attention_norm.*", "model.layers.%.attention_layernorm.*", HF_SAME },
    { "transformer.h.%.ffn_norm.*", "model.layers.%.feedforward_layernorm.*", HF_SAME },
    { "transformer.h.%.mlp.c_fc.*", "model.layers.%.mlp.up_proj.*", HF_SAME },
    { "transformer.h.%.mlp.c_proj.*", "model.layers.%.mlp.down_proj.*", HF_SAME },
    { "transformer.h.%.mlp.act.alpha_p", "model.layers.%.mlp.act_fn.alpha_p", HF_SAME },
    { "transformer.h.%.mlp.act.alpha_n", "model.layers.%.mlp.act_fn.alpha_n", HF_SAME },
    { 0 },
};

static const HfName gpt2_names[] = {
    { "transformer.wte.*", "transformer.wte.*", HF_SAME },
    { "transformer.wpe.*", "transformer.wpe.*", HF_SAME },
    { "transformer.h.%.attention_norm.*", "transformer.h.%.ln_1.*", HF_SAME },
    { "transformer.h.%.ffn_norm.*", "transformer.h.%.ln_2.*", HF_SAME },
    { "transformer.h.%.attn.q_attn.*", "transformer.h.%.attn.c_attn.*", HF_FIRST_THIRD },
    { "transformer.h.%.attn.k_attn.*", "transformer.h.%.attn.c_attn.*", HF_SECOND_THIRD },
    { "transformer.h.%.attn.v_attn.*", "transformer.h.%.attn.c_attn.*", HF_LAST_THIRD },
    { "transformer.h.%.attn.c_proj.*", "transformer.h.%.attn.c_proj.*", HF_TRANSPOSED },
    { "transformer.h.%.mlp.c_fc.*", "transformer.h.%.mlp.c_fc.*", HF_TRANSPOSED },
    { "transformer.h.%.mlp.c_proj.*", "transformer.h.%.mlp.c_proj.*", HF_TRANSPOSED },
    { "transformer.lm_head_norm.*", "transformer.ln_f.*", HF_SAME },
    { "transformer.lm_head.*", "lm_head.*", HF_SAME },
    { 0 },
};

static const HfName granitemoe_names[] = {
    { "transformer.h.%.mlp.router.*", "model.layers.%.block_sparse_moe.router.layer.*", HF_SAME },
    { "transformer.h.%.mlp.experts.W.*", "model.layers.%.block_sparse_moe.input_linear.*",
      HF_STACKED_FIRST_HALF },
    { "transformer.h.%.mlp.experts.V.*", "model.layers.%.block_sparse_moe.input_linear.*",
      HF_STACKED_SECOND_HALF },
    { "transformer.h.%.mlp.experts.W_2.*", "model.layers.%.block_sparse_moe.output_linear.*",
      HF_STACKED_ROWS },
    { 0 },
};

static const HfName hunyuan_names[] = {
    { "transformer.h.%.attn.q_norm.*", "model.layers.%.self_attn.query_layernorm.*", HF_SAME },
    { "transformer.h.%.attn.k_norm.*", "model.layers.%.self_attn.key_layernorm.*", HF_SAME },
    { 0 },
};

static const HfName hunyuan_moe_names[] = {
    { "transformer.h.%.attn.q_norm.*", "model.layers.%.self_attn.query_layernorm.*", HF_SAME },
    { "transformer.h.%.attn.k_norm.*", "model.layers.%.self_attn.key_layernorm.*", HF_SAME },
    { "transformer.h.%.mlp.router.*", "model.layers.%.mlp.gate.wg.*", HF_SAME },
    { "transformer.h.%.mlp.shared.W.*", "model.layers.%.mlp.shared_mlp.gate_proj.*", HF_SAME },
    { "transformer.h.%.mlp.shared.V.*", "model.layers.%.mlp.shared_mlp.up_proj.*", HF_SAME },
    { "transformer.h.%.mlp.shared.W_2.*", "model.layers.%.mlp.shared_mlp.down_proj.*", HF_SAME },
    { 0 },
};

static const HfName ernie_moe_names[] = {
    { "transformer.h.%.mlp.router.balance",
      "model.layers.%.mlp.moe_statics.e_score_correction_bias", HF_ROW },
    { "transformer.h.%.mlp.shared.W.*", "model.layers.%.mlp.shared_experts.gate_proj.*", HF_SAME },
    { "transformer.h.%.mlp.shared.V.*", "model.layers.%.mlp.shared_experts.up_proj.*", HF_SAME },
    { "transformer.h.%.mlp.shared.W_2.*", "model.layers.%.mlp.shared_experts.down_proj.*",
      HF_SAME },
    { 0 },
};

static const HfName falcon_names[] = {
    { "transformer.wte.*", "transformer.word_embeddings.*", HF_SAME },
    { "transformer.h.%.attention_norm.*", "transformer.h.%.ln_attn.*", HF_OF_TWO_NORMS },
    { "transformer.h.%.ffn_norm.*", "transformer.h.%.ln_mlp.*", HF_OF_TWO_NORMS },
    { "transformer.h.%.attention_norm.*", "transformer.h.%.input_layernorm.*", HF_SAME },
    { "transformer.h.%.ffn_norm.*", "transformer.h.%.post_attention_layernorm.*", HF_SAME },
    { "transformer.h.%.attn.q_attn.*", "transformer.h.%.self_attention.query_key_value.*",
      HF_GROUP_QUERIES },
    { "transformer.h.%.attn.k_attn.*", "transformer.h.%.self_attention.query_key_value.*",
      HF_GROUP_KEYS },
    { "transformer.h.%.attn.v_attn.*", "transformer.h.%.self_attention.query_key_value.*",
      HF_GROUP_VALUES },
    { "transformer.h.%.attn.c_proj.*", "transformer.h.%.self_attention.dense.*", HF_SAME },
    { "transformer.h.%.mlp.c_fc.*", "transformer.h.%.mlp.dense_h_to_4h.*", HF_SAME },
    { "transformer.h.%.mlp.c_proj.*", "transformer.h.%.mlp.dense_4h_to_h.*", HF_SAME },
    { "transformer.lm_head_norm.*", "transformer.ln_f.*", HF_SAME },
    { "transformer.lm_head.*", "lm_head.*", HF_SAME },
    { 0 },
};

static const HfName phi_names[] = {
    { "transformer.h.%.attn.c_proj.*", "model.layers.%.self_attn.dense.*", HF_SAME },
    { "transformer.h.%.mlp.c_fc.*", "model.layers.%.mlp.fc1.*", HF_SAME },
    { "transformer.h.%.mlp.c_proj.*", "model.layers.%.mlp.fc2.*", HF_SAME },
    { "transformer.lm_head_norm.*", "model.final_layernorm.*", HF_SAME },
    { 0 },
};

static const HfName gptj_names[] = {
    { "transformer.h.%.attention_norm.*", "transformer.h.%.ln_1.*", HF_SAME },
    { "transformer.h.%.attn.q_attn.*", "transformer.h.%.attn.q_proj.*", HF_SAME },
    { "transformer.h.%.attn.k_attn.*", "transformer.h.%.attn.k_proj.*", HF_SAME },
    { "transformer.h.%.attn.v_attn.*", "transformer.h.%.attn.v_proj.*", HF_SAME },
    { "transformer.h.%.attn.c_proj.*", "transformer.h.%.attn.out_proj.*", HF_SAME },
    { "transformer.h.%.mlp.c_fc.*", "transformer.h.%.mlp.fc_in.*", HF_SAME },
    { "transformer.h.%.mlp.c_proj.*", "transformer.h.%.mlp.fc_out.*", HF_SAME },
    { 0 },
};

/* clang-format off */
#define LAYER_NORM (HF_LAYER_NORM | HF_NORM_BIAS)
#define GLM (HF_BIASED | HF_QKV_ALONE | HF_INTERLEAVED)
#define COHERE (HF_LAYER_NORM | HF_PARALLEL | HF_ONE_NORM | HF_INTERLEAVED)
#define GEMMA (HF_FROM_ONE | HF_SCALED_EMBEDDING)
#define GEMMA2 (GEMMA | HF_SANDWICH | HF_SOFT_CAPS | HF_DIVIDED)
const HfFamily hf_families[] = {
    { "llama", "LlamaForCausalLM", "LlamaDecoderLayer", NULL, llama_names, HF_DIVIDED, HF_ATTENTION_BIAS | HF_MLP_BIAS, HF_NO_WINDOW,
      .theta = 10000, .eps = 1e-6, .max_positions = 2048, .activation = "silu" },
    { "mistral", "MistralForCausalLM", "MistralDecoderLayer", NULL, llama_names, 0, 0, HF_WINDOW_EACH,
      .theta = 10000, .eps = 1e-6, .max_positions = 131072, .window = 4096, .activation = "silu" },
    { "qwen2", "Qwen2ForCausalLM", "Qwen2DecoderLayer", NULL, llama_names, HF_QKV_BIAS, HF_USE_SLIDING_WINDOW, HF_WINDOW_UPPER,
      .theta = 10000, .eps = 1e-6, .max_positions = 32768, .window = 4096, .activation = "silu" },
    { "qwen3", "Qwen3ForCausalLM", "Qwen3DecoderLayer", NULL, llama_names, HF_QK_NORM, HF_ATTENTION_BIAS | HF_USE_SLIDING_WINDOW, HF_WINDOW_UPPER,
      .theta = 10000, .eps = 1e-6, .max_positions = 32768, .window = 4096, .head_width = 128, .activation = "silu" },
    { "olmo2", "Olmo2ForCausalLM", "Olmo2DecoderLayer", sandwich_names, llama_names, HF_POST_NORM | HF_QK_NORM_WIDTH, HF_ATTENTION_BIAS, HF_NO_WINDOW,
      .theta = 10000, .eps = 1e-5, .max_positions = 2048, .activation = "silu" },
    { "gemma", "GemmaForCausalLM", "GemmaDecoderLayer", NULL, llama_names, GEMMA, HF_ATTENTION_BIAS, HF_NO_WINDOW,
      .theta = 10000, .eps = 1e-6, .max_positions = 8192, .head_width = 256, .activation = "gelu_pytorch_tanh", .is_tied = true },
    { "gemma2", "Gemma2ForCausalLM", "Gemma2DecoderLayer", sandwich_names, llama_names, GEMMA2, HF_ATTENTION_BIAS, HF_WINDOW_ALTERNATING,
      .theta = 10000, .eps = 1e-6, .max_positions = 8192, .head_width = 256, .window = 4096,
      .attention_cap = 50, .logit_cap = 30, .activation = "gelu_pytorch_tanh", .is_tied = true },
    { "gemma3_text", "Gemma3ForCausalLM", "Gemma3DecoderLayer", sandwich_names, llama_names, GEMMA2 | HF_QK_NORM, HF_ATTENTION_BIAS, HF_WINDOW_PATTERN,
      .vocab_size = 262208, .n_heads = 8, .n_key_heads = 4, .theta = 1000000, .eps = 1e-6, .max_positions = 131072, .head_width = 256,
      .window = 4096, .pattern = 6, .local_theta = 10000, .activation = "gelu_pytorch_tanh", .is_tied = true },
    { "gpt2", "GPT2LMHeadModel", "GPT2Block", NULL, gpt2_names, HF_GPT2 | LAYER_NORM | HF_NO_GROUPS | HF_SQUARE, HF_GPT2_KEYS, HF_NO_WINDOW,
      .eps = 1e-5, .eps_key = "layer_norm_epsilon", .max_positions = 1024, .activation = "gelu_new", .is_tied = true,
      .dropout_key = "resid_pdrop", .embedding_dropout_key = "embd_pdrop", .dropout = 0.1 },
    { "mixtral", "MixtralForCausalLM", "MixtralDecoderLayer", mixtral_names, llama_names, HF_SPARSE | HF_NORMALIZED | HF_ALL_SPARSE, 0, HF_WINDOW_EACH,
      .theta = 1000000, .eps = 1e-5, .max_positions = 131072, .activation = "silu" },
    { "qwen3_moe", "Qwen3MoeForCausalLM", "Qwen3MoeDecoderLayer", NULL, llama_names, HF_SPARSE | HF_QK_NORM, HF_ATTENTION_BIAS | HF_USE_SLIDING_WINDOW, HF_WINDOW_EACH,
      .theta = 10000, .eps = 1e-6, .max_positions = 32768, .window = 4096, .activation = "silu" },
    { "olmo3", "Olmo3ForCausalLM", "Olmo3DecoderLayer", sandwich_names, llama_names, HF_POST_NORM | HF_QK_NORM_WIDTH, HF_ATTENTION_BIAS, HF_WINDOW_PATTERN,
      .theta = 500000, .eps = 1e-5, .max_positions = 2048, .window = 4096, .pattern = 4, .activation = "silu" },
    { "olmoe", "OlmoeForCausalLM", "OlmoeDecoderLayer", NULL, llama_names, HF_SPARSE | HF_ALL_SPARSE | HF_QK_NORM_WIDTH, HF_ATTENTION_BIAS, HF_NO_WINDOW,
      .theta = 10000, .eps = 1e-5, .max_positions = 4096, .activation = "silu" },
    { "smollm3", "SmolLM3ForCausalLM", "SmolLM3DecoderLayer", NULL, llama_names, 0, HF_ATTENTION_BIAS | HF_MLP_BIAS | HF_NO_ROPE_LAYERS | HF_USE_SLIDING_WINDOW, HF_WINDOW_NO_ROPE,
      .theta = 2000000, .eps = 1e-6, .max_positions = 32768, .activation = "silu", .is_tied = true },
    { "arcee", "ArceeForCausalLM", "ArceeDecoderLayer", plain_names, llama_names, HF_PLAIN | HF_DIVIDED, HF_ATTENTION_BIAS | HF_MLP_BIAS, HF_NO_WINDOW,
      .theta = 10000, .eps = 1e-5, .max_positions = 4096, .activation = "relu2" },
    { "granite", "GraniteForCausalLM", "GraniteDecoderLayer", NULL, llama_names, 0, HF_ATTENTION_BIAS | HF_MLP_BIAS | HF_MULTIPLIERS, HF_NO_WINDOW,
      .theta = 10000, .eps = 1e-6, .max_positions = 2048, .activation = "silu" },
    { "phi3", "Phi3ForCausalLM", "Phi3DecoderLayer", fused_names, llama_names, HF_PHI3, 0, HF_WINDOW_EACH,
      .theta = 10000, .eps = 1e-5, .max_positions = 4096, .rotary_share = 1, .activation = "silu", .dropout_key = "resid_pdrop" },
    { "gpt_neox", "GPTNeoXForCausalLM", "GPTNeoXLayer", NULL, neox_names, LAYER_NORM | HF_BIASED | HF_FFN_BIAS | HF_PLAIN | HF_PARALLEL | HF_NO_GROUPS | HF_SQUARE, HF_ATTENTION_BIAS | HF_PARALLEL_RESIDUAL, HF_NO_WINDOW,
      .vocab_size = 50432, .n_heads = 64, .theta = 10000, .eps = 1e-5, .eps_key = "layer_norm_eps", .theta_key = "rotary_emb_base", .share_key = "rotary_pct",
      .max_positions = 2048, .rotary_share = 0.25, .activation = "gelu",
      .dropout_key = "hidden_dropout", .embedding_dropout_key = "hidden_dropout" },
    { "stablelm", "StableLmForCausalLM", "StableLmDecoderLayer", NULL, llama_names, LAYER_NORM | HF_NO_DROPOUT | HF_ONE_NORM | HF_SQUARE, HF_USE_QKV_BIAS | HF_PARALLEL_RESIDUAL, HF_NO_WINDOW,
      .theta = 10000, .eps = 1e-5, .eps_key = "layer_norm_eps", .max_positions = 4096, .rotary_share = 0.25, .activation = "silu",
      .dropout_key = "hidden_dropout" },
    { "starcoder2", "Starcoder2ForCausalLM", "Starcoder2DecoderLayer", starcoder_names, llama_names, LAYER_NORM | HF_BIASED | HF_PLAIN, HF_USE_BIAS, HF_WINDOW_EACH,
      .theta = 10000, .eps = 1e-5, .eps_key = "norm_epsilon", .max_positions = 4096, .activation = "gelu_pytorch_tanh", .is_tied = true,
      .dropout_key = "residual_dropout", .embedding_dropout_key = "embedding_dropout" },
    { "nemotron", "NemotronForCausalLM", "NemotronDecoderLayer", plain_names, llama_names, LAYER_NORM | HF_FROM_ONE | HF_PLAIN, HF_ATTENTION_BIAS | HF_MLP_BIAS, HF_NO_WINDOW,
      .theta = 10000, .eps = 1e-5, .eps_key = "norm_eps", .max_positions = 4096, .rotary_share = 0.5, .activation = "relu2" },
    { "cohere", "CohereForCausalLM", "CohereDecoderLayer", NULL, llama_names, COHERE, HF_ATTENTION_BIAS | HF_LOGIT_SCALE, HF_NO_WINDOW,
      .theta = 500000, .eps = 1e-5, .eps_key = "layer_norm_eps", .max_positions = 8192, .activation = "silu", .is_tied = true },
    { "cohere2", "Cohere2ForCausalLM", "Cohere2DecoderLayer", NULL, llama_names, COHERE | HF_SQUARE, HF_ATTENTION_BIAS | HF_LOGIT_SCALE, HF_WINDOW_ROPE,
      .theta = 10000, .eps = 1e-5, .eps_key = "layer_norm_eps", .max_positions = 8192, .window = 4096, .pattern = 4, .activation = "silu", .is_tied = true },
    { "glm", "GlmForCausalLM", "GlmDecoderLayer", glm_names, llama_names, GLM, HF_ATTENTION_BIAS, HF_NO_WINDOW,
      .theta = 10000, .eps = 1.5625e-7, .max_positions = 131072, .n_key_heads = 2, .head_width = 128, .rotary_share = 0.5, .activation = "silu" },
    { "glm4", "Glm4ForCausalLM", "Glm4DecoderLayer", glm_names, llama_names, GLM | HF_SANDWICH, HF_ATTENTION_BIAS, HF_NO_WINDOW,
      .theta = 10000, .eps = 1.5625e-7, .max_positions = 131072, .n_key_heads = 2, .head_width = 128, .rotary_share = 0.5, .activation = "silu" },
    { "glm4_moe", "Glm4MoeForCausalLM", "Glm4MoeDecoderLayer", sigmoid_names, llama_names, HF_SPARSE | HF_SIGMOID_ROUTER | HF_QKV_ALONE, HF_ATTENTION_BIAS | HF_USE_QK_NORM | HF_NEXTN, HF_NO_WINDOW,
      .theta = 10000, .eps = 1e-5, .max_positions = 131072, .n_key_heads = 8, .rotary_share = 0.5, .activation = "silu" },
    { "qwen2_moe", "Qwen2MoeForCausalLM", "Qwen2MoeDecoderLayer", shared_names, llama_names, HF_SPARSE | HF_SHARED_EXPERT | HF_BIASED, HF_USE_QKV_BIAS | HF_USE_SLIDING_WINDOW, HF_WINDOW_LOWER,
      .theta = 10000, .eps = 1e-6, .max_positions = 32768, .window = 4096, .n_key_heads = 16, .activation = "silu" },
    { "qwen3_next", "Qwen3NextForCausalLM", "Qwen3NextDecoderLayer", qwen3_next_names, llama_names, HF_SPARSE | HF_SHARED_EXPERT | HF_FROM_ONE | HF_QK_NORM, HF_LINEAR, HF_NO_WINDOW,
      .vocab_size = 151936, .theta = 10000, .eps = 1e-6, .max_positions = 32768, .n_heads = 16, .n_key_heads = 2, .head_width = 256, .rotary_share = 0.25, .activation = "silu" },
    { "qwen3_5_text", "Qwen3_5ForCausalLM", "Qwen3_5DecoderLayer", qwen3_5_names, llama_names, HF_FROM_ONE | HF_QK_NORM, HF_LINEAR, HF_NO_WINDOW,
      .vocab_size = 248320, .theta = 10000, .eps = 1e-6, .max_positions = 32768, .n_heads = 16, .n_key_heads = 4, .head_width = 256, .rotary_share = 0.25, .activation = "silu" },
    { "granitemoehybrid", "GraniteMoeHybridForCausalLM", "GraniteMoeHybridDecoderLayer", granite_hybrid_names, llama_names, HF_SPARSE | HF_NORMALIZED | HF_ALL_SPARSE | HF_DIVIDED, HF_ATTENTION_BIAS | HF_MULTIPLIERS | HF_STATE_SPACE | HF_POSITION_TYPE | HF_SHARED_ALONE, HF_NO_WINDOW,
      .vocab_size = 32000, .theta = 10000, .eps = 1e-6, .max_positions = 2048, .n_heads = 32, .activation = "silu" },
    { "bamba", "BambaForCausalLM", "BambaDecoderLayer", bamba_names, llama_names, 0, HF_ATTENTION_BIAS | HF_MLP_BIAS | HF_STATE_SPACE | HF_ATTENTION_LAYERS, HF_NO_WINDOW,
      .vocab_size = 128000, .theta = 10000, .eps = 1e-5, .max_positions = 262144, .n_heads = 32, .n_key_heads = 8, .rotary_share = 0.5, .activation = "silu" },
    { "afmoe", "AfmoeForCausalLM", "AfmoeDecoderLayer", afmoe_names, llama_names, HF_SPARSE | HF_SIGMOID_ROUTER | HF_AFMOE | HF_NORMALIZED | HF_SANDWICH | HF_QK_NORM, HF_ATTENTION_BIAS, HF_WINDOW_ROPE,
      .theta = 10000, .eps = 1e-5, .max_positions = 16384, .head_width = 128, .window = 1024, .pattern = 4, .activation = "silu" },
    { "ernie4_5", "Ernie4_5ForCausalLM", "Ernie4_5DecoderLayer", NULL, llama_names, HF_INTERLEAVED, HF_USE_BIAS, HF_NO_WINDOW,
      .theta = 10000, .eps = 1e-5, .max_positions = 131072, .n_key_heads = 2, .head_width = 128, .activation = "silu", .is_tied = true },
    { "seed_oss", "SeedOssForCausalLM", "SeedOssDecoderLayer", NULL, llama_names, HF_BIASED | HF_QKV_ALONE, HF_ATTENTION_BIAS | HF_OUT_BIAS | HF_MLP_BIAS, HF_NO_WINDOW,
      .theta = 10000, .eps = 1e-6, .max_positions = 524288, .head_width = 128, .activation = "silu", .dropout_key = "residual_dropout", .dropout = 0.1 },
    { "olmo", "OlmoForCausalLM", "OlmoDecoderLayer", NULL, llama_names, HF_LAYER_NORM | HF_NO_NORM_WEIGHT | HF_DIVIDED, HF_ATTENTION_BIAS, HF_NO_WINDOW,
      .theta = 10000, .eps = 1e-5, .max_positions = 2048, .activation = "silu" },
    { "deepseek_v2", "DeepseekV2ForCausalLM", "DeepseekV2DecoderLayer", latent_names, llama_names, HF_LATENT | HF_INTERLEAVED | HF_SPARSE | HF_SIGMOID_ROUTER, HF_ATTENTION_BIAS | HF_TOPK_METHOD, HF_NO_WINDOW,
      .theta = 10000, .eps = 1e-6, .max_positions = 2048, .activation = "silu" },
    { "deepseek_v3", "DeepseekV3ForCausalLM", "DeepseekV3DecoderLayer", latent_names, llama_names, HF_LATENT | HF_INTERLEAVED | HF_SPARSE | HF_SIGMOID_ROUTER, HF_ATTENTION_BIAS | HF_NEXTN, HF_NO_WINDOW,
      .theta = 10000, .eps = 1e-6, .max_positions = 4096, .activation = "silu" },
    { "glm4_moe_lite", "Glm4MoeLiteForCausalLM", "Glm4MoeLiteDecoderLayer", latent_names, llama_names, HF_LATENT | HF_INTERLEAVED | HF_SPARSE | HF_SIGMOID_ROUTER, HF_ATTENTION_BIAS | HF_MLP_LAYER_TYPES | HF_NEXTN, HF_NO_WINDOW,
      .theta = 10000, .eps = 1e-5, .max_positions = 202752, .activation = "silu" },
    { "gpt_oss", "GptOssForCausalLM", "GptOssDecoderLayer", gpt_oss_names, llama_names, HF_SPARSE | HF_ALL_SPARSE | HF_NORMALIZED | HF_BIASED, HF_ATTENTION_BIAS | HF_GPT_OSS | HF_SCALED_ROPE, HF_WINDOW_ALTERNATING,
      .theta = 150000, .eps = 1e-5, .max_positions = 131072, .n_key_heads = 8, .head_width = 64, .window = 128, .activation = "silu" },
    { "apertus", "ApertusForCausalLM", "ApertusDecoderLayer", apertus_names, llama_names, HF_QK_NORM | HF_PLAIN, HF_ATTENTION_BIAS | HF_XIELU | HF_SCALED_ROPE, HF_NO_WINDOW,
      .theta = 12000000, .eps = 1e-5, .max_positions = 65536, .activation = "xielu" },
    { "exaone4", "Exaone4ForCausalLM", "Exaone4DecoderLayer", sandwich_names, llama_names, HF_POST_NORM | HF_QK_NORM, 0, HF_WINDOW_HYBRID,
      .theta = 10000, .eps = 1e-5, .max_positions = 2048, .window = 4096, .pattern = 4, .activation = "silu" },
    { "youtu", "YoutuForCausalLM", "YoutuDecoderLayer", latent_names, llama_names, HF_LATENT | HF_INTERLEAVED, HF_ATTENTION_BIAS, HF_NO_WINDOW,
      .theta = 10000, .eps = 1e-6, .max_positions = 131072, .activation = "silu", .is_tied = true },
    { "phi", "PhiForCausalLM", "PhiDecoderLayer", phi_names, llama_names, LAYER_NORM | HF_PLAIN | HF_PARALLEL | HF_ONE_NORM, HF_ALL_BIASES | HF_HEAD_BIAS, HF_NO_WINDOW,
      .vocab_size = 51200, .theta = 10000, .eps = 1e-5, .eps_key = "layer_norm_eps", .max_positions = 2048, .rotary_share = 0.5, .activation = "gelu_new",
      .dropout_key = "resid_pdrop", .embedding_dropout_key = "embd_pdrop" },
    { "gptj", "GPTJForCausalLM", "GPTJBlock", gptj_names, gpt2_names, LAYER_NORM | HF_PLAIN | HF_PARALLEL | HF_ONE_NORM | HF_FFN_BIAS | HF_NO_GROUPS | HF_SQUARE | HF_INTERLEAVED, HF_GPT2_KEYS | HF_ROTARY_DIM | HF_HEAD_BIAS, HF_NO_WINDOW,
      .theta = 10000, .eps = 1e-5, .eps_key = "layer_norm_epsilon", .max_positions = 2048, .rotary_share = 1, .activation = "gelu_new",
      .dropout_key = "resid_pdrop", .embedding_dropout_key = "embd_pdrop" },
    { "granitemoe", "GraniteMoeForCausalLM", "GraniteMoeDecoderLayer", granitemoe_names, llama_names, HF_SPARSE | HF_NORMALIZED | HF_ALL_SPARSE, HF_ATTENTION_BIAS | HF_MULTIPLIERS, HF_NO_WINDOW,
      .theta = 10000, .eps = 1e-6, .max_positions = 2048, .activation = "silu" },
    { "dots1", "Dots1ForCausalLM", "Dots1DecoderLayer", sigmoid_names, llama_names, HF_SPARSE | HF_SIGMOID_ROUTER | HF_QK_NORM, HF_ATTENTION_BIAS, HF_WINDOW_UPPER,
      .theta = 10000, .eps = 1e-6, .max_positions = 2048, .window = 4096, .pattern = 62, .n_key_heads = 32, .activation = "silu" },
    { "hunyuan_v1_dense", "HunYuanDenseV1ForCausalLM", "HunYuanDenseV1DecoderLayer", hunyuan_names, llama_names, HF_QK_NORM, HF_ATTENTION_BIAS | HF_NORM_AFTER_ROPE, HF_NO_WINDOW,
      .theta = 10000, .eps = 1e-5, .max_positions = 2048, .activation = "silu" },
    { "minimax_m2", "MiniMaxM2ForCausalLM", "MiniMaxM2DecoderLayer", mixtral_names, llama_names, HF_SPARSE | HF_NORMALIZED | HF_ALL_SPARSE | HF_QK_NORM_WIDTH, HF_SIGMOIDS | HF_ROTARY_DIM, HF_NO_WINDOW,
      .theta = 5000000, .eps = 1e-6, .max_positions = 196608, .n_key_heads = 8, .head_width = 128, .rotary_share = 1, .activation = "silu" },
    { "hunyuan_v1_moe", "HunYuanMoEV1ForCausalLM", "HunYuanMoEV1DecoderLayer", hunyuan_moe_names, llama_names, HF_SPARSE | HF_NORMALIZED | HF_ALL_SPARSE | HF_QK_NORM, HF_ATTENTION_BIAS | HF_NORM_AFTER_ROPE | HF_HUNYUAN_MOE, HF_NO_WINDOW,
      .theta = 10000, .eps = 1e-5, .max_positions = 2048, .activation = "silu" },
    { "ernie4_5_moe", "Ernie4_5_MoeForCausalLM", "Ernie4_5_MoeDecoderLayer", ernie_moe_names, llama_names, HF_SPARSE | HF_NORMALIZED | HF_INTERLEAVED, HF_ERNIE_MOE, HF_NO_WINDOW,
      .theta = 500000, .eps = 1e-5, .max_positions = 131072, .n_key_heads = 4, .activation = "silu", .is_tied = true },
    { "falcon", "FalconForCausalLM", "FalconDecoderLayer", NULL, falcon_names, LAYER_NORM | HF_PLAIN | HF_SQUARE | HF_NO_DROPOUT, HF_USE_BIAS | HF_FALCON, HF_NO_WINDOW,
      .vocab_size = 65024, .n_heads = 71, .theta = 10000, .eps = 1e-5, .eps_key = "layer_norm_epsilon", .max_positions = 2048, .activation = "gelu", .is_tied = true,
      .dropout_key = "hidden_dropout" },
    { 0 },
};
#undef STATE_SPACE
#undef LINEAR_ATTENTION
#undef SHARED_EXPERT
#undef NEXTN
#undef SIGMOID_ROUTER
#undef GLM
#undef GEMMA2
#undef GEMMA
#undef COHERE
#undef LAYER_NORM
/* clang-format on */

const HfFamily *hf_family_find(const char *model_type)
{
    for (const HfFamily *f = hf_families; f->model_type; f++)
        if (!strcmp(f->model_type, model_type)) return f;
    return NULL;
}
