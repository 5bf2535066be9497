/* names.c - the names of tensors of families that have no file of their own, where they lie
 * otherwise than in others. */
#include "models/hf/names.h"

const HfName hf_llama_names[] = {
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

/* clang-format off */
#define SANDWICH \
    { "transformer.h.%.attention_post_norm.*", "model.layers.%.post_attention_layernorm.*", HF_SAME }, \
    { "transformer.h.%.ffn_norm.*", "model.layers.%.pre_feedforward_layernorm.*", HF_SAME }, \
    { "transformer.h.%.ffn_post_norm.*", "model.layers.%.post_feedforward_layernorm.*", HF_SAME }
#define PER_LAYER \
    { "transformer.wte_per_layer.*", "model.embed_tokens_per_layer.*", HF_SAME }, \
    { "transformer.per_layer_proj.*", "model.per_layer_model_projection.*", HF_SAME }, \
    { "transformer.per_layer_norm.*", "model.per_layer_projection_norm.*", HF_SAME }, \
    { "transformer.h.%.per_layer_gate.*", "model.layers.%.per_layer_input_gate.*", HF_SAME }, \
    { "transformer.h.%.per_layer_out.*", "model.layers.%.per_layer_projection.*", HF_SAME }, \
    { "transformer.h.%.per_layer_post_norm.*", "model.layers.%.post_per_layer_input_norm.*", HF_SAME }
/* clang-format on */

const HfName hf_sandwich_names[] = { SANDWICH, { 0 } };

const HfName hf_gemma4_names[] = {
    SANDWICH,
    { "transformer.h.%.block_scale", "model.layers.%.layer_scalar", HF_SAME },
    PER_LAYER,
    { "transformer.h.%.dense_norm.*", "model.layers.%.post_feedforward_layernorm_1.*", HF_SAME },
    { "transformer.h.%.experts_norm.*", "model.layers.%.pre_feedforward_layernorm_2.*", HF_SAME },
    { "transformer.h.%.mixture_norm.*", "model.layers.%.post_feedforward_layernorm_2.*", HF_SAME },
    { "transformer.h.%.router_norm.weight", "model.layers.%.router.scale", HF_SAME },
    { "transformer.h.%.mlp.router.scale", "model.layers.%.router.per_expert_scale", HF_SAME },
    { "transformer.h.%.mlp.router.*", "model.layers.%.router.proj.*", HF_SAME },
    { "transformer.h.%.mlp.experts.W.weight", "model.layers.%.experts.gate_up_proj",
      HF_STACKED_FIRST_HALF },
    { "transformer.h.%.mlp.experts.V.weight", "model.layers.%.experts.gate_up_proj",
      HF_STACKED_SECOND_HALF },
    { "transformer.h.%.mlp.experts.W_2.weight", "model.layers.%.experts.down_proj",
      HF_STACKED_ROWS },
    { 0 },
};

const HfName hf_gemma3n_names[] = {
    SANDWICH,
    PER_LAYER,
    { "transformer.altup_in.#.*", "model.altup_projections.#.*", HF_SAME },
    { "transformer.altup_out.#.*", "model.altup_unembed_projections.#.*", HF_SAME },
    { "transformer.h.%.altup_router.*", "model.layers.%.altup.modality_router.*", HF_SAME },
    { "transformer.h.%.altup_norm.*", "model.layers.%.altup.router_norm.*", HF_SAME },
    { "transformer.h.%.altup_predict.*", "model.layers.%.altup.prediction_coefs.*", HF_SAME },
    { "transformer.h.%.altup_correct.*", "model.layers.%.altup.correction_coefs.*", HF_SAME },
    { "transformer.h.%.altup_scale", "model.layers.%.altup.correct_output_scale", HF_SAME },
    { "transformer.h.%.laurel_left.*", "model.layers.%.laurel.linear_left.*", HF_SAME },
    { "transformer.h.%.laurel_right.*", "model.layers.%.laurel.linear_right.*", HF_SAME },
    { "transformer.h.%.laurel_norm.*", "model.layers.%.laurel.post_laurel_norm.*", HF_SAME },
    { 0 },
};

const HfName hf_cohere_names[] = {
    { "transformer.h.%.attn.q_norm.*", "model.layers.%.self_attn.q_norm.*", HF_HEAD_ROWS },
    { "transformer.h.%.attn.k_norm.*", "model.layers.%.self_attn.k_norm.*", HF_HEAD_ROWS },
    { 0 },
};

const HfName hf_stablelm_names[] = {
    { "transformer.h.%.attn.q_norm.*", "model.layers.%.self_attn.q_layernorm.norms.#.*",
      HF_HEAD_TENSORS },
    { "transformer.h.%.attn.k_norm.*", "model.layers.%.self_attn.k_layernorm.norms.#.*",
      HF_HEAD_TENSORS },
    { 0 },
};

/* clang-format off */
#define EXPERTS_BY_NUMBER \
    { "transformer.h.%.mlp.experts.W.*", "model.layers.%.block_sparse_moe.experts.#.w1.*", HF_EXPERTS }, \
    { "transformer.h.%.mlp.experts.V.*", "model.layers.%.block_sparse_moe.experts.#.w3.*", HF_EXPERTS }, \
    { "transformer.h.%.mlp.experts.W_2.*", "model.layers.%.block_sparse_moe.experts.#.w2.*", HF_EXPERTS }
/* clang-format on */

const HfName hf_mixtral_names[] = {
    { "transformer.h.%.mlp.router.balance",
      "model.layers.%.block_sparse_moe.e_score_correction_bias", HF_SAME },
    { "transformer.h.%.mlp.router.*", "model.layers.%.block_sparse_moe.gate.*", HF_SAME },
    EXPERTS_BY_NUMBER,
    { 0 },
};

const HfName hf_plain_names[] = {
    { "transformer.h.%.mlp.c_fc.*", "model.layers.%.mlp.up_proj.*", HF_SAME },
    { "transformer.h.%.mlp.c_proj.*", "model.layers.%.mlp.down_proj.*", HF_SAME },
    { 0 },
};

const HfName hf_bitnet_names[] = {
    { "transformer.h.%.heads_norm.*", "model.layers.%.self_attn.attn_sub_norm.*", HF_SAME },
    { "transformer.h.%.hidden_norm.*", "model.layers.%.mlp.ffn_sub_norm.*", HF_SAME },
    { 0 },
};

const HfName hf_fused_names[] = {
    { "transformer.h.%.attn.q_attn.*", "model.layers.%.self_attn.qkv_proj.*", HF_QUERIES },
    { "transformer.h.%.attn.k_attn.*", "model.layers.%.self_attn.qkv_proj.*", HF_KEYS },
    { "transformer.h.%.attn.v_attn.*", "model.layers.%.self_attn.qkv_proj.*", HF_VALUES },
    { "transformer.h.%.mlp.W.*", "model.layers.%.mlp.gate_up_proj.*", HF_FIRST_HALF },
    { "transformer.h.%.mlp.V.*", "model.layers.%.mlp.gate_up_proj.*", HF_SECOND_HALF },
    { 0 },
};

const HfName hf_starcoder_names[] = {
    { "transformer.h.%.mlp.c_fc.*", "model.layers.%.mlp.c_fc.*", HF_SAME },
    { "transformer.h.%.mlp.c_proj.*", "model.layers.%.mlp.c_proj.*", HF_SAME },
    { 0 },
};

/* clang-format off */
#define NEOX(model) \
    { "transformer.wte.*", model ".embed_in.*", HF_SAME }, \
    { "transformer.h.%.attention_norm.*", model ".layers.%.input_layernorm.*", HF_SAME }, \
    { "transformer.h.%.ffn_norm.*", model ".layers.%.post_attention_layernorm.*", HF_SAME }, \
    { "transformer.h.%.attn.q_attn.*", model ".layers.%.attention.query_key_value.*", HF_HEAD_QUERIES }, \
    { "transformer.h.%.attn.k_attn.*", model ".layers.%.attention.query_key_value.*", HF_HEAD_KEYS }, \
    { "transformer.h.%.attn.v_attn.*", model ".layers.%.attention.query_key_value.*", HF_HEAD_VALUES }, \
    { "transformer.h.%.attn.c_proj.*", model ".layers.%.attention.dense.*", HF_SAME }, \
    { "transformer.h.%.mlp.c_fc.*", model ".layers.%.mlp.dense_h_to_4h.*", HF_SAME }, \
    { "transformer.h.%.mlp.c_proj.*", model ".layers.%.mlp.dense_4h_to_h.*", HF_SAME }, \
    { "transformer.lm_head_norm.*", model ".final_layer_norm.*", HF_SAME }, \
    { "transformer.lm_head.*", "embed_out.*", HF_SAME }
/* clang-format on */

const HfName hf_neox_names[] = { NEOX("gpt_neox"), { 0 } };

const HfName hf_neox_japanese_names[] = {
    { "transformer.h.%.attn.c_proj.bias", "gpt_neox_japanese.layers.%.attention.dense_bias",
      HF_SAME },
    NEOX("gpt_neox_japanese"),
    { 0 },
};
#undef NEOX

const HfName hf_glm_names[] = {
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

const HfName hf_sigmoid_names[] = { SIGMOID_ROUTER, NEXTN, { 0 } };

/* clang-format off */
#define LATENT_ATTENTION_OF(attn) \
    { "transformer.h.%.attn.q_attn.*", "model.layers.%." attn ".q_proj.*", HF_LATENT_QUERIES }, \
    { "transformer.h.%.attn.q_latent.*", "model.layers.%." attn ".q_a_proj.*", HF_SAME }, \
    { "transformer.h.%.attn.q_latent_norm.*", "model.layers.%." attn ".q_a_layernorm.*", HF_SAME }, \
    { "transformer.h.%.attn.q_up.*", "model.layers.%." attn ".q_b_proj.*", HF_LATENT_QUERIES }, \
    { "transformer.h.%.attn.kv_latent.*", "model.layers.%." attn ".kv_a_proj_with_mqa.*", HF_LATENT_VECTOR }, \
    { "transformer.h.%.attn.k_rope.*", "model.layers.%." attn ".kv_a_proj_with_mqa.*", HF_LATENT_ROPE }, \
    { "transformer.h.%.attn.kv_latent_norm.*", "model.layers.%." attn ".kv_a_layernorm.*", HF_SAME }, \
    { "transformer.h.%.attn.k_attn.*", "model.layers.%." attn ".kv_b_proj.*", HF_LATENT_KEYS }, \
    { "transformer.h.%.attn.v_attn.*", "model.layers.%." attn ".kv_b_proj.*", HF_LATENT_VALUES }
#define LATENT_ATTENTION LATENT_ATTENTION_OF("self_attn")
/* clang-format on */

const HfName hf_latent_names[] = {
    LATENT_ATTENTION,
    { "transformer.h.%.ffn_post_norm.*", "model.layers.%.post_mlp_layernorm.*", HF_SAME },
    SIGMOID_ROUTER,
    NEXTN,
    { 0 },
};

/* clang-format off */
#define STACKED_EXPERTS \
    { "transformer.h.%.mlp.experts.W.weight", "model.layers.%.mlp.experts.gate_up_proj", HF_STACKED_FIRST_HALF }, \
    { "transformer.h.%.mlp.experts.V.weight", "model.layers.%.mlp.experts.gate_up_proj", HF_STACKED_SECOND_HALF }, \
    { "transformer.h.%.mlp.experts.W_2.weight", "model.layers.%.mlp.experts.down_proj", HF_STACKED_ROWS }
/* clang-format on */

const HfName hf_mistral4_names[] = {
    STACKED_EXPERTS,
    LATENT_ATTENTION,
    SIGMOID_ROUTER,
    { 0 },
};

/* clang-format off */
#define INDEXER(layout) \
    { "transformer.h.%.attn.index_q.*", "model.layers.%.self_attn.indexer.wq_b.*", layout }, \
    { "transformer.h.%.attn.index_k.*", "model.layers.%.self_attn.indexer.wk.*", layout }, \
    { "transformer.h.%.attn.index_norm.*", "model.layers.%.self_attn.indexer.k_norm.*", layout }, \
    { "transformer.h.%.attn.index_weights.*", "model.layers.%.self_attn.indexer.weights_proj.*", HF_SAME }, \
    LATENT_ATTENTION, SIGMOID_ROUTER, NEXTN
/* clang-format on */

const HfName hf_deepseek_v32_names[] = { INDEXER(HF_SAME), { 0 } };

const HfName hf_axk2_names[] = {
    { "transformer.h.%.attention_norm.*", "model.layers.%.input_layernorm.norm.*", HF_SAME },
    { "transformer.h.%.mixer_gate_down.*", "model.layers.%.input_layernorm.W_down.*", HF_SAME },
    { "transformer.h.%.mixer_gate_up.*", "model.layers.%.input_layernorm.W_up.*", HF_SAME },
    { "transformer.h.%.ffn_norm.*", "model.layers.%.post_attention_layernorm.norm.*",
      HF_OF_MIXTURES },
    { "transformer.h.%.mixture_gate_down.*", "model.layers.%.post_attention_layernorm.W_down.*",
      HF_SAME },
    { "transformer.h.%.mixture_gate_up.*", "model.layers.%.post_attention_layernorm.W_up.*",
      HF_SAME },
    { "transformer.h.%.attn.q_up.*", "model.layers.%.self_attn.q_b_proj.*",
      HF_LATENT_GATED_QUERIES },
    { "transformer.h.%.attn.g_attn.*", "model.layers.%.self_attn.q_b_proj.*", HF_LATENT_GATES },
    INDEXER(HF_SAME),
    { 0 },
};

const HfName hf_hy_v4_names[] = {
    { "transformer.h.%.hyper_mixer.weight", "model.layers.%.hc_pre.hc_attn_layer.hc_fn", HF_SAME },
    { "transformer.h.%.hyper_mixer.base", "model.layers.%.hc_pre.hc_attn_layer.hc_base", HF_SAME },
    { "transformer.h.%.hyper_mixer.scale", "model.layers.%.hc_pre.hc_attn_layer.hc_scale",
      HF_SAME },
    { "transformer.h.%.hyper_ffn.weight", "model.layers.%.hc_pre.hc_mlp_layer.hc_fn", HF_SAME },
    { "transformer.h.%.hyper_ffn.base", "model.layers.%.hc_pre.hc_mlp_layer.hc_base", HF_SAME },
    { "transformer.h.%.hyper_ffn.scale", "model.layers.%.hc_pre.hc_mlp_layer.hc_scale", HF_SAME },
    { "transformer.hyper_head.weight", "model.hc_pre.hc_head.hc_head_fn", HF_SAME },
    { "transformer.hyper_head.base", "model.hc_pre.hc_head.hc_head_base", HF_SAME },
    { "transformer.hyper_head.scale", "model.hc_pre.hc_head.hc_head_scale", HF_SAME },
    { "transformer.h.%.attn.sinks", "model.layers.%.self_attn.learnable_sink_param", HF_SAME },
    { "transformer.h.%.attn.g_attn.*", "model.layers.%.self_attn.linear_gate.*", HF_SAME },
    STACKED_EXPERTS,
    INDEXER(HF_INDEX_BEHIND),
    { 0 },
};

const HfName hf_glm_moe_dsa_names[] = { INDEXER(HF_INDEX), { 0 } };

const HfName hf_hy_v3_names[] = {
    { "transformer.h.%.mlp.router.balance", "model.layers.%.mlp.expert_bias", HF_SAME },
    { "transformer.h.%.mlp.router.*", "model.layers.%.mlp.router.gate.*", HF_SAME },
    { "transformer.h.%.mlp.shared.W.*", "model.layers.%.mlp.shared_mlp.gate_proj.*", HF_SAME },
    { "transformer.h.%.mlp.shared.V.*", "model.layers.%.mlp.shared_mlp.up_proj.*", HF_SAME },
    { "transformer.h.%.mlp.shared.W_2.*", "model.layers.%.mlp.shared_mlp.down_proj.*", HF_SAME },
    { 0 },
};

const HfName hf_afmoe_names[] = {
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

const HfName hf_shared_names[] = { SHARED_EXPERT, { 0 } };

const HfName hf_flint_names[] = {
    { "transformer.h.%.attn.sinks", "model.layers.%.self_attn.softmax_offset", HF_SAME },
    SHARED_EXPERT,
    { 0 },
};

const HfName hf_qwen3_next_names[] = {
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

const HfName hf_qwen3_5_names[] = {
    LINEAR_ATTENTION,
    SHARED_EXPERT,
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
#define STATE_SPACE(module) \
    { "transformer.h.%.linear_attn.g_attn.*", module ".in_proj.*", HF_SPACE_GATES }, \
    { "transformer.h.%.linear_attn.v_attn.*", module ".in_proj.*", HF_SPACE_VALUES }, \
    { "transformer.h.%.linear_attn.k_attn.*", module ".in_proj.*", HF_SPACE_KEYS }, \
    { "transformer.h.%.linear_attn.q_attn.*", module ".in_proj.*", HF_SPACE_QUERIES }, \
    { "transformer.h.%.linear_attn.a_attn.*", module ".in_proj.*", HF_SPACE_STEPS }, \
    { "transformer.h.%.linear_attn.v_conv.*", module ".conv1d.*", HF_SPACE_VALUES }, \
    { "transformer.h.%.linear_attn.k_conv.*", module ".conv1d.*", HF_SPACE_KEYS }, \
    { "transformer.h.%.linear_attn.q_conv.*", module ".conv1d.*", HF_SPACE_QUERIES }, \
    { "transformer.h.%.linear_attn.c_proj.*", module ".out_proj.*", HF_SAME }, \
    { "transformer.h.%.delta_gates.speed", module ".A_log", HF_SAME }, \
    { "transformer.h.%.delta_gates.bias", module ".dt_bias", HF_SAME }, \
    { "transformer.h.%.delta_gates.skip", module ".D", HF_SAME }, \
    { "transformer.h.%.delta_norm.*", module ".norm.*", HF_SAME }
/* clang-format on */

const HfName hf_bamba_names[] = {
    STATE_SPACE("model.layers.%.mamba"),
    { "transformer.h.%.ffn_norm.*", "model.layers.%.pre_ff_layernorm.*", HF_SAME },
    { "transformer.h.%.mlp.W.*", "model.layers.%.feed_forward.gate_proj.*", HF_SAME },
    { "transformer.h.%.mlp.V.*", "model.layers.%.feed_forward.up_proj.*", HF_SAME },
    { "transformer.h.%.mlp.W_2.*", "model.layers.%.feed_forward.down_proj.*", HF_SAME },
    { "transformer.lm_head_norm.*", "model.final_layernorm.*", HF_SAME },
    { 0 },
};

/* clang-format off */
#define BACKBONE \
    STATE_SPACE("backbone.layers.%.mixer"), \
    { "transformer.wte.*", "backbone.embeddings.*", HF_SAME }, \
    { "transformer.h.%.attention_norm.*", "backbone.layers.%.norm.*", HF_SAME }, \
    { "transformer.lm_head_norm.*", "backbone.norm_f.*", HF_SAME }, \
    { "transformer.lm_head.*", "lm_head.*", HF_SAME }
/* clang-format on */

const HfName hf_mamba2_names[] = { BACKBONE, { 0 } };

const HfName hf_nemotron_h_names[] = {
    BACKBONE,
    { "transformer.h.%.ffn_norm.*", "backbone.layers.%.norm.*", HF_SAME },
    { "transformer.h.%.attn.q_attn.*", "backbone.layers.%.mixer.q_proj.*", HF_SAME },
    { "transformer.h.%.attn.k_attn.*", "backbone.layers.%.mixer.k_proj.*", HF_SAME },
    { "transformer.h.%.attn.v_attn.*", "backbone.layers.%.mixer.v_proj.*", HF_SAME },
    { "transformer.h.%.attn.c_proj.*", "backbone.layers.%.mixer.o_proj.*", HF_SAME },
    { "transformer.h.%.mlp.c_fc.*", "backbone.layers.%.mixer.up_proj.*", HF_SAME },
    { "transformer.h.%.mlp.c_proj.*", "backbone.layers.%.mixer.down_proj.*", HF_SAME },
    { "transformer.h.%.mlp.router.balance", "backbone.layers.%.mixer.gate.e_score_correction_bias",
      HF_SAME },
    { "transformer.h.%.mlp.router.*", "backbone.layers.%.mixer.gate.*", HF_SAME },
    { "transformer.h.%.mlp.latent_in.*", "backbone.layers.%.mixer.fc1_latent_proj.*", HF_SAME },
    { "transformer.h.%.mlp.latent_out.*", "backbone.layers.%.mixer.fc2_latent_proj.*", HF_SAME },
    { "transformer.h.%.mlp.experts.c_fc.*", "backbone.layers.%.mixer.experts.#.up_proj.*",
      HF_EXPERTS },
    { "transformer.h.%.mlp.experts.c_proj.*", "backbone.layers.%.mixer.experts.#.down_proj.*",
      HF_EXPERTS },
    { "transformer.h.%.mlp.shared.c_fc.*", "backbone.layers.%.mixer.shared_experts.up_proj.*",
      HF_SAME },
    { "transformer.h.%.mlp.shared.c_proj.*", "backbone.layers.%.mixer.shared_experts.down_proj.*",
      HF_SAME },
    { 0 },
};

/* clang-format off */
#define SELECTIVE(module) \
    { "transformer.h.%.linear_attn.v_attn.*", module ".in_proj.*", HF_FIRST_HALF }, \
    { "transformer.h.%.linear_attn.g_attn.*", module ".in_proj.*", HF_SECOND_HALF }, \
    { "transformer.h.%.linear_attn.v_conv.weight", module ".conv1d.weight", HF_CONV }, \
    { "transformer.h.%.linear_attn.v_conv.bias", module ".conv1d.bias", HF_SAME }, \
    { "transformer.h.%.linear_attn.x_proj.weight", module ".x_proj.weight", HF_SAME }, \
    { "transformer.h.%.linear_attn.step_proj.weight", module ".dt_proj.weight", HF_SAME }, \
    { "transformer.h.%.linear_attn.c_proj.*", module ".out_proj.*", HF_SAME }, \
    { "transformer.h.%.delta_gates.speed", module ".A_log", HF_SAME }, \
    { "transformer.h.%.delta_gates.bias", module ".dt_proj.bias", HF_SAME }, \
    { "transformer.h.%.delta_gates.skip", module ".D", HF_SAME }
/* clang-format on */

const HfName hf_mamba_names[] = {
    SELECTIVE("backbone.layers.%.mixer"),
    { "transformer.wte.*", "backbone.embeddings.*", HF_SAME },
    { "transformer.h.%.attention_norm.*", "backbone.layers.%.norm.*", HF_SAME },
    { "transformer.lm_head_norm.*", "backbone.norm_f.*", HF_SAME },
    { "transformer.lm_head.*", "lm_head.*", HF_SAME },
    { 0 },
};

const HfName hf_jamba_names[] = {
    SELECTIVE("model.layers.%.mamba"),
    { "transformer.h.%.delta_norm.step.*", "model.layers.%.mamba.dt_layernorm.*", HF_SAME },
    { "transformer.h.%.delta_norm.in.*", "model.layers.%.mamba.b_layernorm.*", HF_SAME },
    { "transformer.h.%.delta_norm.out.*", "model.layers.%.mamba.c_layernorm.*", HF_SAME },
    { "transformer.h.%.ffn_norm.*", "model.layers.%.pre_ff_layernorm.*", HF_SAME },
    { "transformer.h.%.mlp.W.*", "model.layers.%.feed_forward.gate_proj.*", HF_SAME },
    { "transformer.h.%.mlp.V.*", "model.layers.%.feed_forward.up_proj.*", HF_SAME },
    { "transformer.h.%.mlp.W_2.*", "model.layers.%.feed_forward.down_proj.*", HF_SAME },
    { "transformer.h.%.mlp.router.*", "model.layers.%.feed_forward.router.*", HF_SAME },
    { "transformer.h.%.mlp.experts.W.*", "model.layers.%.feed_forward.experts.#.gate_proj.*",
      HF_EXPERTS },
    { "transformer.h.%.mlp.experts.V.*", "model.layers.%.feed_forward.experts.#.up_proj.*",
      HF_EXPERTS },
    { "transformer.h.%.mlp.experts.W_2.*", "model.layers.%.feed_forward.experts.#.down_proj.*",
      HF_EXPERTS },
    { "transformer.lm_head_norm.*", "model.final_layernorm.*", HF_SAME },
    { 0 },
};

/* clang-format off */
#define SHORT_CONV \
    { "transformer.h.%.attention_norm.*", "model.layers.%.operator_norm.*", HF_SAME }, \
    { "transformer.h.%.ffn_norm.*", "model.layers.%.ffn_norm.*", HF_SAME }, \
    { "transformer.h.%.short_conv.front_gate.*", "model.layers.%.conv.in_proj.*", HF_CONV_FRONT }, \
    { "transformer.h.%.short_conv.back_gate.*", "model.layers.%.conv.in_proj.*", HF_CONV_BACK }, \
    { "transformer.h.%.short_conv.value.*", "model.layers.%.conv.in_proj.*", HF_CONV_VALUES }, \
    { "transformer.h.%.short_conv.value_conv.weight", "model.layers.%.conv.conv.weight", HF_CONV }, \
    { "transformer.h.%.short_conv.value_conv.bias", "model.layers.%.conv.conv.bias", HF_SAME }, \
    { "transformer.h.%.short_conv.c_proj.*", "model.layers.%.conv.out_proj.*", HF_SAME }, \
    { "transformer.h.%.mlp.W.*", "model.layers.%.feed_forward.w1.*", HF_SAME }, \
    { "transformer.h.%.mlp.V.*", "model.layers.%.feed_forward.w3.*", HF_SAME }, \
    { "transformer.h.%.mlp.W_2.*", "model.layers.%.feed_forward.w2.*", HF_SAME }, \
    { "transformer.lm_head_norm.*", "model.embedding_norm.*", HF_SAME }
/* clang-format on */

const HfName hf_lfm2_names[] = {
    SHORT_CONV,
    { "transformer.h.%.attn.q_norm.*", "model.layers.%.self_attn.q_layernorm.*", HF_SAME },
    { "transformer.h.%.attn.k_norm.*", "model.layers.%.self_attn.k_layernorm.*", HF_SAME },
    { "transformer.h.%.attn.c_proj.*", "model.layers.%.self_attn.out_proj.*", HF_SAME },
    { "transformer.h.%.mlp.router.balance", "model.layers.%.feed_forward.expert_bias", HF_SAME },
    { "transformer.h.%.mlp.router.*", "model.layers.%.feed_forward.gate.*", HF_SAME },
    { "transformer.h.%.mlp.experts.W.*", "model.layers.%.feed_forward.experts.#.w1.*", HF_EXPERTS },
    { "transformer.h.%.mlp.experts.V.*", "model.layers.%.feed_forward.experts.#.w3.*", HF_EXPERTS },
    { "transformer.h.%.mlp.experts.W_2.*", "model.layers.%.feed_forward.experts.#.w2.*",
      HF_EXPERTS },
    { 0 },
};

const HfName hf_lfm3_names[] = {
    SHORT_CONV,
    { "transformer.h.%.attn.g_attn.*", "model.layers.%.self_attn.gate_proj.*", HF_SAME },
    { "transformer.h.%.attention_post_norm.*", "model.layers.%.post_operator_norm.*", HF_SAME },
    { "transformer.h.%.ffn_post_norm.*", "model.layers.%.post_ffn_norm.*", HF_SAME },
    { 0 },
};

const HfName hf_granite_hybrid_names[] = {
    STATE_SPACE("model.layers.%.mamba"),
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

const HfName hf_gpt_oss_names[] = {
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

const HfName hf_apertus_names[] = {
    { "transformer.h.%.attention_norm.*", "model.layers.%.attention_layernorm.*", HF_SAME },
    { "transformer.h.%.ffn_norm.*", "model.layers.%.feedforward_layernorm.*", HF_SAME },
    { "transformer.h.%.mlp.c_fc.*", "model.layers.%.mlp.up_proj.*", HF_SAME },
    { "transformer.h.%.mlp.c_proj.*", "model.layers.%.mlp.down_proj.*", HF_SAME },
    { "transformer.h.%.mlp.act.alpha_p", "model.layers.%.mlp.act_fn.alpha_p", HF_SAME },
    { "transformer.h.%.mlp.act.alpha_n", "model.layers.%.mlp.act_fn.alpha_n", HF_SAME },
    { 0 },
};

const HfName hf_gpt2_names[] = {
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

const HfName hf_granitemoe_names[] = {
    { "transformer.h.%.mlp.router.*", "model.layers.%.block_sparse_moe.router.layer.*", HF_SAME },
    { "transformer.h.%.mlp.experts.W.*", "model.layers.%.block_sparse_moe.input_linear.*",
      HF_STACKED_FIRST_HALF },
    { "transformer.h.%.mlp.experts.V.*", "model.layers.%.block_sparse_moe.input_linear.*",
      HF_STACKED_SECOND_HALF },
    { "transformer.h.%.mlp.experts.W_2.*", "model.layers.%.block_sparse_moe.output_linear.*",
      HF_STACKED_ROWS },
    { 0 },
};

/* clang-format off */
#define SINKS { "transformer.h.%.attn.sinks", "model.layers.%.self_attn.sinks", HF_SAME }
/* clang-format on */

const HfName hf_granite_swa_names[] = { SINKS, { 0 } };

const HfName hf_granitemoe_swa_names[] = {
    SINKS,
    { "transformer.h.%.mlp.shared.W.*", "model.layers.%.shared_mlp.input_linear.*", HF_FIRST_HALF },
    { "transformer.h.%.mlp.shared.V.*", "model.layers.%.shared_mlp.input_linear.*",
      HF_SECOND_HALF },
    { "transformer.h.%.mlp.shared.W_2.*", "model.layers.%.shared_mlp.output_linear.*", HF_SAME },
    { "transformer.h.%.mlp.router.*", "model.layers.%.block_sparse_moe.router.*", HF_SAME },
    { "transformer.h.%.mlp.experts.W.weight",
      "model.layers.%.block_sparse_moe.experts.gate_up_proj", HF_STACKED_FIRST_HALF },
    { "transformer.h.%.mlp.experts.V.weight",
      "model.layers.%.block_sparse_moe.experts.gate_up_proj", HF_STACKED_SECOND_HALF },
    { "transformer.h.%.mlp.experts.W_2.weight", "model.layers.%.block_sparse_moe.experts.down_proj",
      HF_STACKED_ROWS },
    { 0 },
};

const HfName hf_hyperclovax_names[] = {
    { "transformer.h.%.attention_post_norm.*", "model.layers.%.post_norm1.*", HF_SAME },
    { "transformer.h.%.ffn_post_norm.*", "model.layers.%.post_norm2.*", HF_SAME },
    { 0 },
};

const HfName hf_nanochat_names[] = {
    { "transformer.h.%.mlp.c_fc.*", "model.layers.%.mlp.fc1.*", HF_SAME },
    { "transformer.h.%.mlp.c_proj.*", "model.layers.%.mlp.fc2.*", HF_SAME },
    { 0 },
};

const HfName hf_persimmon_names[] = {
    { "transformer.h.%.attn.q_attn.*", "model.layers.%.self_attn.query_key_value.*",
      HF_HEAD_QUERIES },
    { "transformer.h.%.attn.k_attn.*", "model.layers.%.self_attn.query_key_value.*", HF_HEAD_KEYS },
    { "transformer.h.%.attn.v_attn.*", "model.layers.%.self_attn.query_key_value.*",
      HF_HEAD_VALUES },
    { "transformer.h.%.attn.c_proj.*", "model.layers.%.self_attn.dense.*", HF_SAME },
    { "transformer.h.%.attn.q_norm.*", "model.layers.%.self_attn.q_layernorm.*", HF_SAME },
    { "transformer.h.%.attn.k_norm.*", "model.layers.%.self_attn.k_layernorm.*", HF_SAME },
    { "transformer.h.%.mlp.c_fc.*", "model.layers.%.mlp.dense_h_to_4h.*", HF_SAME },
    { "transformer.h.%.mlp.c_proj.*", "model.layers.%.mlp.dense_4h_to_h.*", HF_SAME },
    { "transformer.lm_head_norm.*", "model.final_layernorm.*", HF_SAME },
    { 0 },
};

const HfName hf_hunyuan_names[] = {
    { "transformer.h.%.attn.q_norm.*", "model.layers.%.self_attn.query_layernorm.*", HF_SAME },
    { "transformer.h.%.attn.k_norm.*", "model.layers.%.self_attn.key_layernorm.*", HF_SAME },
    { 0 },
};

const HfName hf_hunyuan_moe_names[] = {
    { "transformer.h.%.attn.q_norm.*", "model.layers.%.self_attn.query_layernorm.*", HF_SAME },
    { "transformer.h.%.attn.k_norm.*", "model.layers.%.self_attn.key_layernorm.*", HF_SAME },
    { "transformer.h.%.mlp.router.*", "model.layers.%.mlp.gate.wg.*", HF_SAME },
    { "transformer.h.%.mlp.shared.W.*", "model.layers.%.mlp.shared_mlp.gate_proj.*", HF_SAME },
    { "transformer.h.%.mlp.shared.V.*", "model.layers.%.mlp.shared_mlp.up_proj.*", HF_SAME },
    { "transformer.h.%.mlp.shared.W_2.*", "model.layers.%.mlp.shared_mlp.down_proj.*", HF_SAME },
    { 0 },
};

const HfName hf_ernie_moe_names[] = {
    { "transformer.h.%.mlp.router.balance",
      "model.layers.%.mlp.moe_statics.e_score_correction_bias", HF_ROW },
    { "transformer.h.%.mlp.shared.W.*", "model.layers.%.mlp.shared_experts.gate_proj.*", HF_SAME },
    { "transformer.h.%.mlp.shared.V.*", "model.layers.%.mlp.shared_experts.up_proj.*", HF_SAME },
    { "transformer.h.%.mlp.shared.W_2.*", "model.layers.%.mlp.shared_experts.down_proj.*",
      HF_SAME },
    { 0 },
};

const HfName hf_falcon_names[] = {
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

const HfName hf_phi_names[] = {
    { "transformer.h.%.attn.c_proj.*", "model.layers.%.self_attn.dense.*", HF_SAME },
    { "transformer.h.%.attn.q_norm.*", "model.layers.%.self_attn.q_layernorm.*", HF_SAME },
    { "transformer.h.%.attn.k_norm.*", "model.layers.%.self_attn.k_layernorm.*", HF_SAME },
    { "transformer.h.%.mlp.c_fc.*", "model.layers.%.mlp.fc1.*", HF_SAME },
    { "transformer.h.%.mlp.c_proj.*", "model.layers.%.mlp.fc2.*", HF_SAME },
    { "transformer.lm_head_norm.*", "model.final_layernorm.*", HF_SAME },
    { 0 },
};

/* clang-format off */
#define OUT_OF_GPTJ \
    { "transformer.h.%.attn.c_proj.*", "transformer.h.%.attn.out_proj.*", HF_SAME }, \
    { "transformer.h.%.mlp.c_fc.*", "transformer.h.%.mlp.fc_in.*", HF_SAME }, \
    { "transformer.h.%.mlp.c_proj.*", "transformer.h.%.mlp.fc_out.*", HF_SAME }
/* clang-format on */

const HfName hf_gptj_names[] = {
    { "transformer.h.%.attention_norm.*", "transformer.h.%.ln_1.*", HF_SAME },
    { "transformer.h.%.attn.q_attn.*", "transformer.h.%.attn.q_proj.*", HF_SAME },
    { "transformer.h.%.attn.k_attn.*", "transformer.h.%.attn.k_proj.*", HF_SAME },
    { "transformer.h.%.attn.v_attn.*", "transformer.h.%.attn.v_proj.*", HF_SAME },
    OUT_OF_GPTJ,
    { 0 },
};

const HfName hf_codegen_names[] = {
    { "transformer.h.%.attn.q_attn.*", "transformer.h.%.attn.qkv_proj.*", HF_SHARD_QUERIES },
    { "transformer.h.%.attn.k_attn.*", "transformer.h.%.attn.qkv_proj.*", HF_SHARD_KEYS },
    { "transformer.h.%.attn.v_attn.*", "transformer.h.%.attn.qkv_proj.*", HF_SHARD_VALUES },
    OUT_OF_GPTJ,
    { 0 },
};

const HfName hf_exaone_moe_names[] = {
    { "transformer.h.%.mlp.router.balance", "model.layers.%.mlp.e_score_correction_bias", HF_SAME },
    SIGMOID_ROUTER,
    { 0 },
};

const HfName hf_kimi_names[] = {
    LATENT_ATTENTION,
    { "transformer.h.%.linear_attn.q_attn.*", "model.layers.%.self_attn.q_proj.*", HF_SAME },
    { "transformer.h.%.linear_attn.k_attn.*", "model.layers.%.self_attn.k_proj.*", HF_SAME },
    { "transformer.h.%.linear_attn.v_attn.*", "model.layers.%.self_attn.v_proj.*", HF_SAME },
    { "transformer.h.%.linear_attn.q_conv.*", "model.layers.%.self_attn.q_conv1d.*", HF_CONV },
    { "transformer.h.%.linear_attn.k_conv.*", "model.layers.%.self_attn.k_conv1d.*", HF_CONV },
    { "transformer.h.%.linear_attn.v_conv.*", "model.layers.%.self_attn.v_conv1d.*", HF_CONV },
    { "transformer.h.%.linear_attn.a_latent.*", "model.layers.%.self_attn.f_a_proj.*", HF_SAME },
    { "transformer.h.%.linear_attn.a_up.*", "model.layers.%.self_attn.f_b_proj.*", HF_SAME },
    { "transformer.h.%.linear_attn.b_attn.*", "model.layers.%.self_attn.b_proj.*", HF_SAME },
    { "transformer.h.%.linear_attn.g_latent.*", "model.layers.%.self_attn.g_a_proj.*", HF_SAME },
    { "transformer.h.%.linear_attn.g_up.*", "model.layers.%.self_attn.g_b_proj.*", HF_SAME },
    { "transformer.h.%.linear_attn.c_proj.*", "model.layers.%.self_attn.o_proj.*", HF_SAME },
    { "transformer.h.%.delta_gates.speed", "model.layers.%.self_attn.A_log", HF_OF_HEADS },
    { "transformer.h.%.delta_gates.bias", "model.layers.%.self_attn.dt_bias", HF_SAME },
    { "transformer.h.%.delta_norm.*", "model.layers.%.self_attn.o_norm.*", HF_SAME },
    { "transformer.h.%.mlp.router.balance",
      "model.layers.%.block_sparse_moe.gate.e_score_correction_bias", HF_SAME },
    { "transformer.h.%.mlp.router.*", "model.layers.%.block_sparse_moe.gate.*", HF_SAME },
    { "transformer.h.%.mlp.shared.W.*",
      "model.layers.%.block_sparse_moe.shared_experts.gate_proj.*", HF_SAME },
    { "transformer.h.%.mlp.shared.V.*", "model.layers.%.block_sparse_moe.shared_experts.up_proj.*",
      HF_SAME },
    { "transformer.h.%.mlp.shared.W_2.*",
      "model.layers.%.block_sparse_moe.shared_experts.down_proj.*", HF_SAME },
    EXPERTS_BY_NUMBER,
    { 0 },
};

const HfName hf_bailing_hybrid_names[] = {
    { "transformer.wte.*", "model.word_embeddings.*", HF_SAME },
    LATENT_ATTENTION_OF("attention"),
    { "transformer.h.%.attn.g_attn.*", "model.layers.%.attention.g_proj.*", HF_SAME },
    { "transformer.h.%.attn.c_proj.*", "model.layers.%.attention.dense.*", HF_SAME },
    { "transformer.h.%.linear_attn.q_attn.*", "model.layers.%.attention.q_proj.*", HF_SAME },
    { "transformer.h.%.linear_attn.k_attn.*", "model.layers.%.attention.k_proj.*", HF_SAME },
    { "transformer.h.%.linear_attn.v_attn.*", "model.layers.%.attention.v_proj.*", HF_SAME },
    { "transformer.h.%.linear_attn.q_conv.*", "model.layers.%.attention.q_conv1d.*", HF_CONV },
    { "transformer.h.%.linear_attn.k_conv.*", "model.layers.%.attention.k_conv1d.*", HF_CONV },
    { "transformer.h.%.linear_attn.v_conv.*", "model.layers.%.attention.v_conv1d.*", HF_CONV },
    { "transformer.h.%.linear_attn.a_attn.*", "model.layers.%.attention.f_proj.*", HF_SAME },
    { "transformer.h.%.linear_attn.b_attn.*", "model.layers.%.attention.b_proj.*", HF_SAME },
    { "transformer.h.%.linear_attn.g_attn.*", "model.layers.%.attention.g_proj.*", HF_SAME },
    { "transformer.h.%.linear_attn.c_proj.*", "model.layers.%.attention.dense.*", HF_SAME },
    { "transformer.h.%.delta_gates.speed", "model.layers.%.attention.A_log", HF_SAME },
    { "transformer.h.%.delta_gates.bias", "model.layers.%.attention.dt_bias", HF_SAME },
    { "transformer.h.%.delta_norm.*", "model.layers.%.attention.o_norm.*", HF_SAME },
    { "transformer.h.%.mlp.router.balance", "model.layers.%.mlp.gate.expert_bias", HF_SAME },
    SIGMOID_ROUTER,
    { 0 },
};

const HfName hf_olmo_hybrid_names[] = {
    { "transformer.h.%.attention_norm.*", "model.layers.%.attention_layer_norm.*", HF_SAME },
    { "transformer.h.%.ffn_norm.*", "model.layers.%.feedforward_layer_norm.*", HF_SAME },
    SANDWICH,
    { "transformer.h.%.linear_attn.q_attn.*", "model.layers.%.linear_attn.q_proj.*", HF_SAME },
    { "transformer.h.%.linear_attn.k_attn.*", "model.layers.%.linear_attn.k_proj.*", HF_SAME },
    { "transformer.h.%.linear_attn.v_attn.*", "model.layers.%.linear_attn.v_proj.*", HF_SAME },
    { "transformer.h.%.linear_attn.q_conv.*", "model.layers.%.linear_attn.q_conv1d.*", HF_CONV },
    { "transformer.h.%.linear_attn.k_conv.*", "model.layers.%.linear_attn.k_conv1d.*", HF_CONV },
    { "transformer.h.%.linear_attn.v_conv.*", "model.layers.%.linear_attn.v_conv1d.*", HF_CONV },
    { "transformer.h.%.linear_attn.a_attn.*", "model.layers.%.linear_attn.a_proj.*", HF_SAME },
    { "transformer.h.%.linear_attn.b_attn.*", "model.layers.%.linear_attn.b_proj.*", HF_SAME },
    { "transformer.h.%.linear_attn.g_attn.*", "model.layers.%.linear_attn.g_proj.*", HF_SAME },
    { "transformer.h.%.linear_attn.c_proj.*", "model.layers.%.linear_attn.o_proj.*", HF_SAME },
    { "transformer.h.%.delta_gates.speed", "model.layers.%.linear_attn.A_log", HF_SAME },
    { "transformer.h.%.delta_gates.bias", "model.layers.%.linear_attn.dt_bias", HF_SAME },
    { "transformer.h.%.delta_norm.*", "model.layers.%.linear_attn.o_norm.*", HF_SAME },
    { 0 },
};

const HfName hf_longcat_names[] = {
    LATENT_ATTENTION_OF("self_attn.@"),
    { "transformer.h.%.attn.c_proj.*", "model.layers.%.self_attn.@.o_proj.*", HF_SAME },
    { "transformer.h.%.attention_norm.*", "model.layers.%.input_layernorm.@.*", HF_SAME },
    { "transformer.h.%.ffn_norm.*", "model.layers.%.post_attention_layernorm.@.*", HF_SAME },
    { "transformer.h.%.mlp.W.*", "model.layers.%.mlps.@.gate_proj.*", HF_SAME },
    { "transformer.h.%.mlp.V.*", "model.layers.%.mlps.@.up_proj.*", HF_SAME },
    { "transformer.h.%.mlp.W_2.*", "model.layers.%.mlps.@.down_proj.*", HF_SAME },
    { "transformer.h.%.mlp.router.balance", "model.layers.%.mlp.router.e_score_correction_bias",
      HF_SAME },
    { "transformer.h.%.mlp.router.*", "model.layers.%.mlp.router.classifier.*", HF_SAME },
    { "transformer.h.%.mlp.experts.W.*", "model.layers.%.mlp.experts.#.gate_proj.*",
      HF_ALL_EXPERTS },
    { "transformer.h.%.mlp.experts.V.*", "model.layers.%.mlp.experts.#.up_proj.*", HF_ALL_EXPERTS },
    { 0 },
};

const HfName hf_minimax_names[] = {
    { "transformer.h.%.linear_attn.q_attn.*", "model.layers.%.self_attn.qkv_proj.*",
      HF_HEAD_QUERIES },
    { "transformer.h.%.linear_attn.k_attn.*", "model.layers.%.self_attn.qkv_proj.*", HF_HEAD_KEYS },
    { "transformer.h.%.linear_attn.v_attn.*", "model.layers.%.self_attn.qkv_proj.*",
      HF_HEAD_VALUES },
    { "transformer.h.%.linear_attn.g_attn.*", "model.layers.%.self_attn.output_gate.*", HF_SAME },
    { "transformer.h.%.linear_attn.c_proj.*", "model.layers.%.self_attn.out_proj.*", HF_SAME },
    { "transformer.h.%.delta_norm.*", "model.layers.%.self_attn.norm.*", HF_SAME },
    { "transformer.h.%.mlp.router.*", "model.layers.%.block_sparse_moe.gate.*", HF_SAME },
    EXPERTS_BY_NUMBER,
    { 0 },
};

const HfName hf_laguna_names[] = {
    { "transformer.h.%.attn.g_attn.*", "model.layers.%.self_attn.g_proj.*", HF_SAME },
    { "transformer.h.%.mlp.router.balance", "model.layers.%.mlp.experts.e_score_correction_bias",
      HF_SAME },
    SHARED_EXPERT,
    { 0 },
};

const HfName hf_kolibri_names[] = {
    { "transformer.h.%.mlp.router.balance", "model.layers.%.moe.router.expert_bias", HF_SAME },
    { "transformer.h.%.attention_post_norm.*", "model.layers.%.post_attn_norm.*", HF_SAME },
    { "transformer.h.%.ffn_post_norm.*", "model.layers.%.post_ffn_norm.*", HF_SAME },
    SIGMOID_ROUTER,
    { 0 },
};

const HfName hf_sarvam_names[] = {
    { "transformer.wte.*", "model.word_embeddings.*", HF_SAME },
    { "transformer.h.%.attn.q_attn.*", "model.layers.%.attention.query_key_value.*", HF_QUERIES },
    { "transformer.h.%.attn.k_attn.*", "model.layers.%.attention.query_key_value.*", HF_KEYS },
    { "transformer.h.%.attn.v_attn.*", "model.layers.%.attention.query_key_value.*", HF_VALUES },
    { "transformer.h.%.attn.c_proj.*", "model.layers.%.attention.dense.*", HF_SAME },
    { "transformer.h.%.attn.q_norm.*", "model.layers.%.attention.query_layernorm.*", HF_SAME },
    { "transformer.h.%.attn.k_norm.*", "model.layers.%.attention.key_layernorm.*", HF_SAME },
    { "transformer.h.%.mlp.router.balance", "model.layers.%.mlp.gate.expert_bias", HF_SAME },
    SIGMOID_ROUTER,
    NEXTN,
    { 0 },
};

/* clang-format off */
#define OF_BART(model) \
    { "transformer.wte.*", model ".embed_tokens.*", HF_SAME }, \
    { "transformer.wpe.*", model ".embed_positions.*", HF_SAME }, \
    { "transformer.h.%.attention_norm.*", model ".layers.%.self_attn_layer_norm.*", HF_SAME }, \
    { "transformer.h.%.ffn_norm.*", model ".layers.%.final_layer_norm.*", HF_SAME }, \
    { "transformer.h.%.attn.q_attn.*", model ".layers.%.self_attn.q_proj.*", HF_SAME }, \
    { "transformer.h.%.attn.k_attn.*", model ".layers.%.self_attn.k_proj.*", HF_SAME }, \
    { "transformer.h.%.attn.v_attn.*", model ".layers.%.self_attn.v_proj.*", HF_SAME }, \
    { "transformer.h.%.attn.c_proj.*", model ".layers.%.self_attn.out_proj.*", HF_SAME }, \
    { "transformer.h.%.mlp.c_fc.*", model ".layers.%.fc1.*", HF_SAME }, \
    { "transformer.h.%.mlp.c_proj.*", model ".layers.%.fc2.*", HF_SAME }
/* clang-format on */

const HfName hf_opt_names[] = {
    OF_BART("model.decoder"),
    { "transformer.embed_in.*", "model.decoder.project_in.*", HF_SAME },
    { "transformer.embed_out.*", "model.decoder.project_out.*", HF_SAME },
    { "transformer.lm_head_norm.*", "model.decoder.final_layer_norm.*", HF_SAME },
    { "transformer.lm_head.*", "lm_head.*", HF_SAME },
    { 0 },
};

const HfName hf_xglm_names[] = {
    OF_BART("model"),
    { "transformer.lm_head_norm.*", "model.layer_norm.*", HF_SAME },
    { "transformer.lm_head.*", "lm_head.*", HF_SAME },
    { 0 },
};

const HfName hf_biogpt_names[] = {
    OF_BART("biogpt"),
    { "transformer.lm_head_norm.*", "biogpt.layer_norm.*", HF_SAME },
    { "transformer.lm_head.*", "output_projection.*", HF_SAME },
    { 0 },
};

#undef OF_BART
#undef PER_LAYER
#undef SANDWICH
#undef SINKS
#undef LATENT_ATTENTION
#undef LATENT_ATTENTION_OF
#undef EXPERTS_BY_NUMBER
#undef OUT_OF_GPTJ
#undef BACKBONE
#undef STATE_SPACE
#undef SHORT_CONV
#undef LINEAR_ATTENTION
#undef SHARED_EXPERT
#undef NEXTN
#undef SIGMOID_ROUTER
