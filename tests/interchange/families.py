"""Families of Hugging Face models there and back, from tiny random ones that transformers makes.

`families.py PROGRAM [FAMILY ...]` takes these alone; `random:SEED`, or `random:FIRST-LAST`, is a family with sizes and options drawn anew.

Each is written by transformers, read by `model run` (logits) and `generate_text` (greedy tokens); exported without a step (every bit),
trained for three steps, exported, and read by transformers (logits and greedy tokens). Run by `make check-interchange`; needs torch and
transformers. Greedy tokens are those of transformers up to the first whose two best logits are nearer than 1e-4.
"""
import json, os, pathlib, random, re, shutil, struct, subprocess, sys, tempfile
os.environ.setdefault("TORCHDYNAMO_DISABLE", "1")  # BitNet's layers ask for a compiler
import torch
import transformers
from huggingface_hub.errors import StrictDataclassError
from safetensors.torch import load_file, save_file
from transformers import AutoModelForCausalLM

transformers.utils.logging.disable_progress_bar()
PROGRAM = pathlib.Path(sys.argv[1]).resolve()
ONLY = sys.argv[2:]
LETTERS = [chr(c) for c in range(33, 127)]
VOCABULARY, SIZE, NEW, NEAR, FAR = len(LETTERS), 256, 200, 1e-4, 0.01
VERSION = int(transformers.__version__.split(".")[0])
if VERSION >= 5:
    from transformers.integrations import bitnet
    from transformers.integrations.finegrained_fp8 import Fp8Dequantize
    from transformers.modeling_layers import MtpModel
    from transformers.quantizers import quantizer_bitnet
    quantizer_bitnet.is_accelerate_available = lambda: True  # nothing of it is used

LLAMA = dict(vocab_size=VOCABULARY, hidden_size=32, intermediate_size=48, num_hidden_layers=3, num_attention_heads=4,
             num_key_value_heads=2, max_position_embeddings=SIZE, bos_token_id=None, eos_token_id=None, pad_token_id=None)
NEOX = {k: v for k, v in LLAMA.items() if k != "num_key_value_heads"}
SPECIAL = dict(bos_token_id=0, pad_token_id=VOCABULARY - 1)  # of classes that know no null
FALCON = {k: v for k, v in NEOX.items() if k != "intermediate_size"}
GRANITE = dict(embedding_multiplier=3.0, attention_multiplier=0.3, residual_multiplier=0.5, logits_scaling=2.0)
GEMMA = LLAMA | dict(head_dim=16, query_pre_attn_scalar=12, sliding_window=24, hidden_activation="gelu_pytorch_tanh")

GEMMA3N = LLAMA | dict(head_dim=16, num_hidden_layers=7, sliding_window=24, num_kv_shared_layers=2, altup_num_inputs=3, hidden_size_per_layer_input=12, laurel_rank=8,
                       vocab_size_per_layer_input=60, final_logit_softcapping=3.0, activation_sparsity_pattern=[0.9, 0.5] + 5 * [0.0])
RECURRENT = {k: v for k, v in LLAMA.items() if k != "max_position_embeddings"} | dict(intermediate_size=96, num_key_value_heads=1, attention_window_size=24)
AUDIO = dict(d_model=16, encoder_layers=1, encoder_attention_heads=2, encoder_ffn_dim=16, output_dim=32, num_mel_bins=8, downsample_hidden_size=8)
IMAGES = dict(hidden_size=16, num_attention_heads=2, num_key_value_heads=2, head_dim=8, intermediate_size=16)
MOLMO = dict(vision_config=IMAGES | dict(num_hidden_layers=1), adapter_config=IMAGES | dict(vision_feature_layer=[0], text_hidden_size=32))
LATENT = NEOX | dict(num_key_value_heads=4, kv_lora_rank=16, qk_nope_head_dim=12, qk_rope_head_dim=8, v_head_dim=16)
ROUTED = dict(n_routed_experts=8, n_shared_experts=2, num_experts_per_tok=3, moe_intermediate_size=24, routed_scaling_factor=1.5, n_group=4, topk_group=2)
# many heads, so that no score is 0 for all of them
DEEPSEEK_V4 = dict(vocab_size=VOCABULARY, hidden_size=64, moe_intermediate_size=32, num_hidden_layers=3, num_attention_heads=4, head_dim=16, q_lora_rank=24, n_routed_experts=6, num_experts_per_tok=2, max_position_embeddings=SIZE, bos_token_id=None, eos_token_id=None, pad_token_id=None, partial_rotary_factor=0.25,
    layer_types=["sliding_attention", "compressed_sparse_attention", "heavily_compressed_attention"], compress_rates={"compressed_sparse_attention": 4, "heavily_compressed_attention": 8}, mlp_layer_types=["hash_moe", "moe", "moe"], sliding_window=12, o_groups=2,
    o_lora_rank=10, index_n_heads=16, index_head_dim=12, index_topk=4, hc_mult=4)
INDEXER = dict(q_lora_rank=20, index_n_heads=16, index_head_dim=12, index_topk=24)
# keys are wide here: where the product of a query and a key is nearly 0, the norm behind makes its rounding large, in transformers as well
LINEAR = LLAMA | dict(head_dim=16, num_hidden_layers=4, linear_num_key_heads=2, linear_num_value_heads=6, linear_key_head_dim=16, linear_value_head_dim=20)
HY_V4 = LATENT | INDEXER | {k: v for k, v in ROUTED.items() if "group" not in k}
KIMI = LATENT | dict(num_hidden_layers=4, layer_types=["linear_attention"] * 2 + ["full_attention", "linear_attention"], linear_num_heads=3, linear_head_dim=16,
                     num_local_experts=5, n_shared_experts=1, num_experts_per_tok=2, moe_intermediate_size=24)
BAILING_HYBRID = {k: v for k, v in LATENT.items() if k != "head_dim"} | dict(
    num_hidden_layers=4, head_dim=16, layer_group_size=3, num_local_experts=8, n_shared_experts=1, num_experts_per_tok=2, moe_intermediate_size=24, first_k_dense_replace=1, n_group=4, topk_group=2)
OLMO_HYBRID = LINEAR | dict(linear_num_value_heads=4, linear_key_head_dim=24, rope_parameters={"rope_type": "default", "rope_theta": None})
MINIMAX = LLAMA | dict(num_hidden_layers=4, num_local_experts=5, num_experts_per_tok=2)
SPACE = LLAMA | dict(num_hidden_layers=4, mamba_n_heads=8, mamba_n_groups=2, mamba_d_state=16, mamba_d_head=8, shared_intermediate_size=40,
                     layer_types=["linear_attention", "full_attention", "linear_attention", "linear_attention"])

FALCON_H1 = LLAMA | dict(mamba_n_heads=8, mamba_d_head=8, mamba_n_groups=2, mamba_d_state=16, embedding_multiplier=3.0, lm_head_multiplier=0.5, key_multiplier=0.7,
                         attention_in_multiplier=0.8, attention_out_multiplier=0.9, ssm_in_multiplier=1.1, ssm_out_multiplier=1.2,
                         ssm_multipliers=[0.9, 0.8, 1.3, 1.4, 0.6], mlp_multipliers=[1.2, 0.8])
BARE = {k: LLAMA[k] for k in ("vocab_size", "hidden_size", "bos_token_id", "eos_token_id", "pad_token_id")}
LONGCAT = {k: v for k, v in LATENT.items() if k not in ("intermediate_size", "num_hidden_layers", "num_key_value_heads")} | dict(
    num_layers=2, q_lora_rank=20, head_dim=8, ffn_hidden_size=48, expert_ffn_hidden_size=24, n_routed_experts=5, zero_expert_num=3, moe_topk=3, routed_scaling_factor=1.5)
DBRX = dict(vocab_size=VOCABULARY, d_model=32, n_heads=4, n_layers=3, max_seq_len=SIZE, bos_token_id=None, eos_token_id=None, pad_token_id=None)
NEMOTRON = {k: v for k, v in LLAMA.items() if k != "num_hidden_layers"} | dict(head_dim=16, mamba_num_heads=8, mamba_head_dim=12, n_groups=2, ssm_state_size=16)


def rope(kind, **more):
    """Rotary positions in the spelling of either version."""
    options = {"rope_type": kind, **more}
    return {"rope_parameters": {"rope_theta": 10000.0, **options}} if VERSION >= 5 else {"rope_theta": 10000.0, "rope_scaling": options}


LOCAL_ROPE = {"rope_parameters": {"full_attention": {"rope_type": "default", "rope_theta": 1e6},
                                  "sliding_attention": {"rope_type": "default", "rope_theta": 1e4}}} if VERSION >= 5 else {
    "rope_theta": 1e6, "rope_local_base_freq": 1e4}


# Models of images or speech, whose language models are read alone: their classes, and those of the blocks of text.
PARTS = {
    "Qwen2VL": ("Qwen2VLForConditionalGeneration", "Qwen2VLConfig", "Qwen2DecoderLayer"),
    "Qwen3VLMoe": ("Qwen3VLMoeForConditionalGeneration", "Qwen3VLMoeConfig", "Qwen3MoeDecoderLayer"),
    "Qwen2_5OmniThinker": ("Qwen2_5OmniThinkerForConditionalGeneration", "Qwen2_5OmniThinkerConfig", "Qwen2DecoderLayer"),
    "Qwen3OmniMoeThinker": ("Qwen3OmniMoeThinkerForConditionalGeneration", "Qwen3OmniMoeThinkerConfig", "Qwen3MoeDecoderLayer"),
    "Glm4v": ("Glm4vForConditionalGeneration", "Glm4vConfig", "Glm4DecoderLayer"),
    "GlmOcr": ("GlmOcrForConditionalGeneration", "GlmOcrConfig", "Glm4DecoderLayer"),
    "Glm4vMoe": ("Glm4vMoeForConditionalGeneration", "Glm4vMoeConfig", "Glm4MoeDecoderLayer"),
    "GraniteDocling": ("GraniteDoclingForConditionalGeneration", "GraniteDoclingConfig", "GraniteDecoderLayer"),
    "HunYuanVL": ("HunYuanVLForConditionalGeneration", "HunYuanVLConfig", "HunYuanDenseV1DecoderLayer"),
    "PaddleOCRVL": ("PaddleOCRVLForConditionalGeneration", "PaddleOCRVLConfig", "LlamaDecoderLayer"),
    "Aria": ("AriaForConditionalGeneration", "AriaConfig", "AriaTextDecoderLayer"),
    "Apertus1p5": ("Apertus1p5TextForCausalLM", "Apertus1p5TextConfig", "ApertusDecoderLayer"),
    "Mllama": ("MllamaForConditionalGeneration", "MllamaConfig", "LlamaDecoderLayer"),
    "Emu3": ("Emu3ForConditionalGeneration", "Emu3Config", "SeedOssDecoderLayer"),
    "Ernie4_5_VLMoe": ("Ernie4_5_VLMoeForConditionalGeneration", "Ernie4_5_VLMoeConfig", "Ernie4_5_MoeDecoderLayer"),
    "Molmo2": ("Molmo2ForConditionalGeneration", "Molmo2Config", "Qwen3DecoderLayer"),
    "Fuyu": ("FuyuForCausalLM", "FuyuConfig", "PersimmonDecoderLayer"),
    "Phi4Multimodal": ("Phi4MultimodalForCausalLM", "Phi4MultimodalConfig", "Phi3DecoderLayer"),
}


def part(of_text, **whole):
    """Of a class that has a small part for images beside that of text."""
    of_images = dict(depth=1, num_hidden_layers=1, hidden_size=16, embed_dim=16, num_heads=2, num_attention_heads=2, intermediate_size=16, out_hidden_size=32)
    return dict(text_config=of_text, vision_config=of_images, tie_word_embeddings=False) | whole


def no_dense(options):
    """Of a class whose feed-forward layers are mixtures alone."""
    return {k: v for k, v in options.items() if k != "intermediate_size"}


FAMILIES = {
    "llama_quick_gelu": ("Llama", LLAMA | dict(hidden_act="quick_gelu")),
    "gpt2": ("GPT2", dict(vocab_size=VOCABULARY, n_positions=SIZE, n_embd=32, n_layer=3, n_head=4, bos_token_id=None, eos_token_id=None)),
    "gpt2_by_layer": ("GPT2", dict(vocab_size=VOCABULARY, n_positions=SIZE, n_embd=32, n_layer=3, n_head=4, bos_token_id=None, eos_token_id=None,
                                    scale_attn_by_inverse_layer_idx=True, scale_attn_weights=False, activation_function="relu")),
    "llama": ("Llama", LLAMA),
    "llama_tied_biases": ("Llama", LLAMA | dict(attention_bias=True, mlp_bias=True, tie_word_embeddings=True)),
    "llama_relu": ("Llama", LLAMA | dict(hidden_act="relu")),
    "llama_linear": ("Llama", LLAMA | rope("linear", factor=4.0)),
    "llama_dynamic": ("Llama", LLAMA | rope("dynamic", factor=4.0)),
    "llama_llama3": ("Llama", LLAMA | rope("llama3", factor=8.0, low_freq_factor=1.0, high_freq_factor=4.0,
                                            original_max_position_embeddings=64)),
    "llama_yarn": ("Llama", LLAMA | rope("yarn", factor=4.0, original_max_position_embeddings=64)),
    "mistral": ("Mistral", LLAMA | dict(sliding_window=24)),
    "qwen2": ("Qwen2", LLAMA),
    "qwen2_window": ("Qwen2", LLAMA | dict(use_sliding_window=True, sliding_window=24, max_window_layers=1)),
    "qwen3": ("Qwen3", LLAMA | dict(head_dim=16)),
    "olmo2": ("Olmo2", LLAMA),
    "olmo3": ("Olmo3", LLAMA | dict(sliding_window=24, num_hidden_layers=5)),
    "olmoe": ("Olmoe", LLAMA | dict(num_experts=5, num_experts_per_tok=2)),
    "smollm3": ("SmolLM3", LLAMA | dict(num_hidden_layers=5, use_sliding_window=True, sliding_window=24)),
    "granite": ("Granite", LLAMA | GRANITE),
    "phi3": ("Phi3", LLAMA | dict(sliding_window=24)),
    "phi3_longrope": ("Phi3", LLAMA | dict(original_max_position_embeddings=SIZE // 2, partial_rotary_factor=0.75) | rope(
        "longrope", partial_rotary_factor=0.75, short_factor=[1.0, 1.5, 2.0], long_factor=[1.5, 4.0, 9.0])),
    "llama_longrope": ("Llama", LLAMA | rope("longrope", short_factor=[1.0, 1.5, 2.0, 3.0], long_factor=[1.5, 4.0, 9.0, 9.5], factor=4.0,
                                              original_max_position_embeddings=SIZE)),
    "arcee": ("Arcee", LLAMA),
    "gpt_neox": ("GPTNeoX", NEOX),
    "gpt_neox_serial": ("GPTNeoX", NEOX | dict(use_parallel_residual=False, attention_bias=False, rotary_pct=0.5, rotary_emb_base=500)),
    "gpt_neox_japanese": ("GPTNeoXJapanese", FALCON | dict(attention_dropout=0.0)),
    "gpt_neox_japanese_untied": ("GPTNeoXJapanese", FALCON | dict(attention_dropout=0.0, intermediate_multiple_size=2, rotary_pct=0.5, rotary_emb_base=500, tie_word_embeddings=False)),
    "diffllama": ("DiffLlama", LLAMA | dict(attention_bias=True)),
    "diffllama_groups": ("DiffLlama", LLAMA | dict(num_attention_heads=8, num_key_value_heads=4, head_dim=16, lambda_std_dev=0.3)),
    "stablelm": ("StableLm", LLAMA | dict(partial_rotary_factor=0.5, use_qkv_bias=True)),
    "stablelm_parallel": ("StableLm", LLAMA | dict(use_parallel_residual=True)),
    "stablelm_12b": ("StableLm", LLAMA | dict(use_parallel_residual=True, qk_layernorm=True, partial_rotary_factor=0.5)),
    "stablelm_norms": ("StableLm", LLAMA | dict(qk_layernorm=True, use_qkv_bias=True)),
    "starcoder2": ("Starcoder2", LLAMA | dict(sliding_window=24)),
    "nemotron": ("Nemotron", LLAMA | dict(head_dim=16)),
    "nemotron_yarn": ("Nemotron", LLAMA | rope("yarn", factor=4.0, original_max_position_embeddings=64)),
    "cohere": ("Cohere", LLAMA | dict(attention_bias=True)),
    "cohere_norms": ("Cohere", LLAMA | dict(use_qk_norm=True)),
    "glm": ("Glm", LLAMA | dict(head_dim=16)),
    "glm4": ("Glm4", LLAMA | dict(head_dim=16, partial_rotary_factor=0.75)),
    "glm4_moe": ("Glm4Moe", LLAMA | dict(head_dim=16, use_qk_norm=True, attention_bias=True, n_routed_experts=5, n_shared_experts=2, num_experts_per_tok=2,
                                          moe_intermediate_size=24, first_k_dense_replace=1, norm_topk_prob=True, routed_scaling_factor=1.5)),
    "deepseek_v2": ("DeepseekV2", LATENT | ROUTED | dict(q_lora_rank=None, first_k_dense_replace=1, topk_method="group_limited_greedy")),
    "deepseek_v3": ("DeepseekV3", LATENT | ROUTED | dict(q_lora_rank=20, first_k_dense_replace=1, norm_topk_prob=True, attention_bias=True)),
    "deepseek_v3_yarn": ("DeepseekV3", LATENT | ROUTED | dict(q_lora_rank=20, first_k_dense_replace=1, norm_topk_prob=True) | rope(
        "yarn", factor=4.0, original_max_position_embeddings=64, mscale=1.0, mscale_all_dim=1.0)),
    "deepseek_v4": ("DeepseekV4", DEEPSEEK_V4),
    "deepseek_v4_wide": ("DeepseekV4", DEEPSEEK_V4 | dict(hidden_size=96)),
    "deepseek_v4_yarn": ("DeepseekV4", DEEPSEEK_V4 | dict(num_hidden_layers=4, layer_types=None, compress_rates={"compressed_sparse_attention": 6, "heavily_compressed_attention": 5}, partial_rotary_factor=0.5, mlp_layer_types=["moe", "hash_moe", "moe", "moe"],
        hc_mult=3, hc_sinkhorn_iters=3, index_topk=1, scoring_func="sigmoid", swiglu_limit=0.5, rope_parameters=dict(rope_type="yarn", factor=4.0, original_max_position_embeddings=64, beta_fast=32.0, beta_slow=1.0))),
    "deepseek_v32": ("DeepseekV32", LATENT | ROUTED | INDEXER | dict(first_k_dense_replace=1)),
    "deepseek_v32_yarn": ("DeepseekV32", LATENT | ROUTED | INDEXER | dict(mlp_layer_types=["sparse", "dense", "sparse"], attention_bias=True, norm_topk_prob=False) | rope(
        "yarn", factor=4.0, original_max_position_embeddings=64, mscale=1.0, mscale_all_dim=1.0)),
    "hy_v4": ("HYV4", HY_V4),
    "hy_v4_yarn": ("HYV4", HY_V4 | dict(
        num_hidden_layers=6, hc_mult=3, hc_magnitude=1.5, hc_eps=1e-2, swiglu_limit=0.5, attention_bias=True, norm_topk_prob=False, v_head_dim=12, n_shared_experts=1,
        mlp_layer_types=["sparse", "dense"] * 3, indexer_types=["full", "shared"] * 3) | rope("yarn", factor=4.0, original_max_position_embeddings=64, mscale=1.0, mscale_all_dim=1.0)),
    "axk2": ("AXK2", LATENT | ROUTED | INDEXER | dict(gated_norm_rank=6, n_group=None, topk_group=None)),
    "axk2_yarn": ("AXK2", LATENT | ROUTED | INDEXER | dict(
        gated_norm_rank=16, n_group=2, topk_group=2, mlp_layer_types=["sparse", "dense", "sparse"], attention_bias=True, norm_topk_prob=False, v_head_dim=12) | rope(
            "yarn", factor=4.0, original_max_position_embeddings=64, mscale=1.0, mscale_all_dim=1.0)),
    "glm_moe_dsa": ("GlmMoeDsa", LATENT | ROUTED | INDEXER | dict(first_k_dense_replace=1)),
    "glm_moe_dsa_shared": ("GlmMoeDsa", LATENT | ROUTED | INDEXER | dict(num_hidden_layers=5, first_k_dense_replace=2, index_topk_freq=2)),
    "glm4_moe_lite": ("Glm4MoeLite", LATENT | ROUTED | dict(q_lora_rank=20, norm_topk_prob=True, mlp_layer_types=["sparse", "dense", "sparse"])),
    "youtu": ("Youtu", LATENT | dict(q_lora_rank=20)),
    "minicpm3": ("MiniCPM3", LATENT | dict(q_lora_rank=20, v_head_dim=None, scale_emb=3.0, scale_depth=0.7, dim_model_base=12, attention_bias=True, mlp_bias=True)),
    "minicpm3_plain": ("MiniCPM3", LATENT | dict(q_lora_rank=None, scale_depth=None, dim_model_base=None, tie_word_embeddings=False) | rope(
        "longrope", short_factor=[1.0, 1.5, 2.0, 3.0], long_factor=[1.5, 4.0, 9.0, 9.5], original_max_position_embeddings=SIZE)),
    "gpt_oss": ("GptOss", LLAMA | dict(head_dim=16, num_local_experts=5, num_experts_per_tok=2, sliding_window=24) | rope(
        "yarn", factor=4.0, original_max_position_embeddings=64, truncate=False)),
    "apertus": ("Apertus", LLAMA | rope("llama3", factor=8.0, low_freq_factor=1.0, high_freq_factor=4.0, original_max_position_embeddings=64)),
    "exaone4": ("Exaone4", LLAMA | dict(head_dim=16, sliding_window=24, num_hidden_layers=5)),
    "exaone4_whole": ("Exaone4", LLAMA | dict(head_dim=16, sliding_window=None, layer_types=["full_attention"] * 3)),
    "qwen2_moe": ("Qwen2Moe", LLAMA | dict(num_experts=5, num_experts_per_tok=2, moe_intermediate_size=24, shared_expert_intermediate_size=40, mlp_only_layers=[1])),
    "qwen3_next": ("Qwen3Next", LINEAR | dict(num_experts=5, num_experts_per_tok=2, moe_intermediate_size=24, shared_expert_intermediate_size=40, mlp_only_layers=[1])),
    "qwen3_next_whole_heads": ("Qwen3Next", LINEAR | dict(linear_num_value_heads=2, linear_conv_kernel_dim=3, num_experts=5, num_experts_per_tok=2,
                                                           moe_intermediate_size=24, shared_expert_intermediate_size=40) | rope("default", partial_rotary_factor=1.0)),
    "qwen3_5": ("Qwen3_5", LINEAR | dict(layer_types=["linear_attention", "full_attention", "full_attention", "linear_attention"])),
    "qwen3_5_moe": ("Qwen3_5Moe", no_dense(LINEAR) | dict(layer_types=["linear_attention", "full_attention", "full_attention", "linear_attention"],
                                                   num_experts=5, num_experts_per_tok=2, moe_intermediate_size=24, shared_expert_intermediate_size=40)),
    "bamba": ("Bamba", {k: v for k, v in SPACE.items() if k not in ("layer_types", "shared_intermediate_size")} | dict(
        attn_layer_indices=[1], attention_bias=True, mlp_bias=True)),
    "granite_hybrid": ("GraniteMoeHybrid", SPACE | dict(num_local_experts=5, num_experts_per_tok=2, position_embedding_type="rope", embedding_multiplier=3.0,
                                                         attention_multiplier=0.3, residual_multiplier=0.5, logits_scaling=2.0)),
    "granite_hybrid_dense": ("GraniteMoeHybrid", SPACE | dict(num_local_experts=0, mamba_n_groups=1, mamba_d_conv=3, mamba_proj_bias=True, mamba_conv_bias=False,
                                                               mamba_expand=3, mamba_n_heads=6, mamba_d_head=16)),
    "falcon_h1": ("FalconH1", FALCON_H1 | dict(mamba_d_ssm=96, mamba_d_head=12, projectors_bias=True, mamba_proj_bias=True, attention_bias=True, mlp_bias=True)),
    "falcon_h1_norm": ("FalconH1", FALCON_H1 | dict(mamba_rms_norm=True, mamba_d_ssm=None, time_step_limit=[0.0, 0.5])),
    "falcon_h1_norm_behind": ("FalconH1", FALCON_H1 | dict(mamba_rms_norm=True, mamba_norm_before_gate=False, mamba_d_ssm=64, mamba_conv_bias=False, tie_word_embeddings=True)),
    "lfm2": ("Lfm2", LLAMA | dict(num_hidden_layers=4, full_attn_idxs=[1, 3], block_multiple_of=20, block_ffn_dim_multiplier=1.1)),
    "lfm2_biases": ("Lfm2", LLAMA | dict(layer_types=["conv", "full_attention", "conv"], conv_bias=True, conv_L_cache=4, tie_word_embeddings=False,
                                          block_auto_adjust_ff_dim=False)),
    "lfm2_moe": ("Lfm2Moe", LLAMA | dict(layer_types=["conv", "full_attention", "conv"], num_dense_layers=1, num_experts=5, num_experts_per_tok=2,
                                          moe_intermediate_size=24, routed_scaling_factor=1.5)),
    "lfm2_moe_no_biases": ("Lfm2Moe", LLAMA | dict(layer_types=["conv", "full_attention", "conv"], num_dense_layers=2, num_experts=5, num_experts_per_tok=2,
                                                    moe_intermediate_size=24, use_expert_bias=False, norm_topk_prob=False)),
    "lfm3": ("Lfm3", LLAMA | dict(num_hidden_layers=7, head_dim=16, sliding_window=24)),
    "lfm3_bare": ("Lfm3", LLAMA | dict(head_dim=8, sliding_window=5, layer_types=["sliding_attention", "conv", "full_attention", "conv"], num_hidden_layers=4, conv_bias=True,
                                        conv_L_cache=3, attention_bias=True, use_sandwich_norm=False, use_attention_gate=False, tie_word_embeddings=False,
                                        rope_parameters={"full_attention": dict(rope_type="default", rope_theta=1e3),
                                                         "sliding_attention": dict(rope_type="proportional", rope_theta=1e5, partial_rotary_factor=0.25, factor=2.0)})),
    "mamba2": ("Mamba2", BARE | dict(num_hidden_layers=3, num_heads=8, head_dim=8, n_groups=2, state_size=16)),
    "mamba2_biases": ("Mamba2", BARE | dict(num_hidden_layers=3, num_heads=6, head_dim=16, n_groups=1, state_size=16, expand=3, conv_kernel=3, use_bias=True,
                                             use_conv_bias=False, tie_word_embeddings=True, time_step_limit=[0.0, 0.5])),
    "mamba": ("Mamba", BARE | dict(num_hidden_layers=3, state_size=8)),
    "mamba_biases": ("Mamba", BARE | dict(num_hidden_layers=3, expand=3, conv_kernel=3, time_step_rank=5, use_bias=True, use_conv_bias=False, tie_word_embeddings=False)),
    "falcon_mamba": ("FalconMamba", BARE | dict(num_hidden_layers=3, state_size=8, mixer_rms_eps=1e-4)),
    "jamba": ("Jamba", LLAMA | dict(num_hidden_layers=5, attn_layer_period=3, attn_layer_offset=1, expert_layer_period=2, expert_layer_offset=1, num_experts=5,
                                     num_experts_per_tok=2, mamba_d_state=8)),
    "jamba_dense": ("Jamba", LLAMA | dict(num_hidden_layers=4, attn_layer_period=2, attn_layer_offset=0, num_experts=1, mamba_dt_rank=5, mamba_d_conv=3, mamba_expand=1,
                                           mamba_proj_bias=True, mamba_conv_bias=False, tie_word_embeddings=True)),
    "nemotron_h": ("NemotronH", NEMOTRON | dict(layers_block_type=["linear_attention", "mlp", "full_attention", "mlp", "linear_attention"], mlp_bias=True, use_bias=True)),
    "nemotron_h_moe": ("NemotronH", NEMOTRON | ROUTED | dict(layers_block_type=["linear_attention", "moe", "full_attention", "moe", "mlp"], n_shared_experts=1,
                                                              moe_shared_expert_intermediate_size=40)),
    "nemotron_h_latent_moe": ("NemotronH", NEMOTRON | ROUTED | dict(layers_block_type=["linear_attention", "moe", "full_attention", "moe", "mlp"], n_shared_experts=1,
                                                                     moe_shared_expert_intermediate_size=40, moe_latent_size=16)),
    "afmoe": ("Afmoe", LLAMA | dict(head_dim=16, num_experts=5, num_shared_experts=2, num_experts_per_tok=2, moe_intermediate_size=24, num_dense_layers=1,
                                     route_scale=1.5, mup_enabled=True, sliding_window=24, num_hidden_layers=5)),
    "ernie4_5": ("Ernie4_5", LLAMA | dict(head_dim=16, use_bias=True)),
    "seed_oss": ("SeedOss", LLAMA | dict(head_dim=16, attention_out_bias=True, residual_dropout=0.0, attention_dropout=0.0)),
    "olmo": ("Olmo", LLAMA),
    "olmo_clip": ("Olmo", LLAMA | dict(clip_qkv=0.7)),
    "olmoe_clip": ("Olmoe", LLAMA | dict(num_experts=5, num_experts_per_tok=2, clip_qkv=0.7)),
    "cohere2": ("Cohere2", LLAMA | dict(sliding_window=24, num_hidden_layers=5)),
    "gemma": ("Gemma", LLAMA | dict(head_dim=16)),
    "gemma2": ("Gemma2", GEMMA | dict(attn_logit_softcapping=5.0, final_logit_softcapping=3.0)),
    "gemma3": ("Gemma3Text", GEMMA | LOCAL_ROPE | dict(num_hidden_layers=7)),
    "granitemoe": ("GraniteMoe", LLAMA | dict(embedding_multiplier=3.0, attention_multiplier=0.3, residual_multiplier=0.5, logits_scaling=2.0,
                                               num_local_experts=5, num_experts_per_tok=2)),
    "granitemoeshared": ("GraniteMoeShared", LLAMA | GRANITE | dict(num_local_experts=5, num_experts_per_tok=2, shared_intermediate_size=40)),
    "granitemoeshared_alone": ("GraniteMoeShared", LLAMA | dict(num_local_experts=5, num_experts_per_tok=2)),
    "granite_swa": ("GraniteSWA", LLAMA | GRANITE | dict(num_hidden_layers=5, sliding_window=24, mlp_bias=True)),
    "granite_swa_bases": ("GraniteSWA", LLAMA | GRANITE | dict(sliding_window=24, layer_rope_theta=[0, 500.0, 10000.0], tie_word_embeddings=False,
                                                                layer_types=["sliding_attention", "full_attention", "sliding_attention"])),
    "granitemoe_swa": ("GraniteMoeSWA", LLAMA | GRANITE | dict(num_hidden_layers=5, sliding_window=24, num_local_experts=5, num_experts_per_tok=2, shared_intermediate_size=40,
                                                                layer_rope_theta=[0, 10000.0, 10000.0, 10000.0, 0])),
    "granitemoe_swa_alone": ("GraniteMoeSWA", LLAMA | dict(sliding_window=24, num_local_experts=5, num_experts_per_tok=2)),
    "hyperclovax": ("HyperCLOVAX", LLAMA | GRANITE | dict(head_dim=16)),
    "hyperclovax_no_post_norm": ("HyperCLOVAX", LLAMA | dict(use_post_norm=False, attention_bias=True, mlp_bias=True)),
    "persimmon": ("Persimmon", NEOX),
    "fuyu": ("Fuyu", dict(text_config=NEOX | dict(model_type="persimmon"), tie_word_embeddings=False, patch_size=2)),
    "persimmon_bare": ("Persimmon", NEOX | dict(qk_layernorm=False, tie_word_embeddings=True) | rope("linear", factor=4.0, partial_rotary_factor=0.75)),
    "mellum": ("Mellum", LLAMA | dict(head_dim=16, num_experts=5, num_experts_per_tok=2, moe_intermediate_size=24)),
    "mellum_windows": ("Mellum", LLAMA | dict(head_dim=16, num_experts=5, num_experts_per_tok=2, moe_intermediate_size=24, sliding_window=24, norm_topk_prob=False,
                                               layer_types=["sliding_attention", "full_attention", "sliding_attention"], mlp_layer_types=["sparse", "dense", "sparse"],
                                               rope_parameters={"full_attention": dict(rope_type="yarn", rope_theta=5e5, factor=4.0, original_max_position_embeddings=64),
                                                                "sliding_attention": dict(rope_type="default", rope_theta=1e3)})),
    "dots1": ("Dots1", LLAMA | dict(head_dim=16, n_routed_experts=5, n_shared_experts=2, num_experts_per_tok=2, moe_intermediate_size=24,
                                     first_k_dense_replace=1, norm_topk_prob=True, routed_scaling_factor=1.5, sliding_window=24, max_window_layers=1)),
    "hunyuan_v1_dense": ("HunYuanDenseV1", LLAMA | dict(head_dim=16) | rope("dynamic", alpha=50.0, factor=1.0)),
    "minimax_m2": ("MiniMaxM2", LLAMA | dict(head_dim=16, num_local_experts=5, num_experts_per_tok=2, rotary_dim=8)),
    "hunyuan_v1_moe": ("HunYuanMoEV1", LLAMA | dict(head_dim=16, num_experts=5, moe_topk=2) | rope("dynamic", alpha=50.0, factor=1.0)),
    "ernie4_5_moe": ("Ernie4_5_Moe", LLAMA | dict(moe_num_experts=5, moe_k=2, moe_num_shared_experts=2, moe_intermediate_size=24,
                                                   moe_layer_start_index=1, num_hidden_layers=5, moe_layer_interval=2)),
    "falcon_7b": ("Falcon", FALCON),
    "falcon_40b": ("Falcon", FALCON | dict(new_decoder_architecture=True, num_kv_heads=2, tie_word_embeddings=False)),
    "falcon_11b": ("Falcon", FALCON | dict(new_decoder_architecture=True, num_kv_heads=2, num_ln_in_parallel_attn=1, ffn_hidden_size=48)),
    "falcon_serial": ("Falcon", FALCON | dict(multi_query=False, parallel_attn=False, bias=True)),
    # distances are kept in eight bits, which up to 255 of them fit into where slopes are powers of 2
    "falcon_rw": ("Falcon", FALCON | dict(alibi=True, multi_query=False, parallel_attn=False, bias=True)),
    "falcon_alibi": ("Falcon", FALCON | dict(alibi=True, new_decoder_architecture=True, num_kv_heads=2)),
    "phi": ("Phi", LLAMA),
    "phi_norms": ("Phi", LLAMA | dict(qk_layernorm=True, hidden_act="quick_gelu")),
    "phi_tied": ("Phi", NEOX | dict(partial_rotary_factor=0.75, tie_word_embeddings=True) | rope("linear", factor=4.0, partial_rotary_factor=0.75)),
    "gptj": ("GPTJ", dict(vocab_size=VOCABULARY, n_positions=SIZE, n_embd=32, n_layer=3, n_head=4, rotary_dim=4, bos_token_id=None, eos_token_id=None)),
    "codegen": ("CodeGen", dict(vocab_size=VOCABULARY, n_positions=SIZE, n_embd=64, n_layer=3, n_head=8, rotary_dim=4, bos_token_id=None, eos_token_id=None)),
    "codegen_six_heads": ("CodeGen", dict(vocab_size=VOCABULARY, n_positions=SIZE, n_embd=48, n_layer=3, n_head=6, rotary_dim=8, n_inner=40, bos_token_id=None, eos_token_id=None)),
    "gpt_bigcode": ("GPTBigCode", dict(vocab_size=VOCABULARY, n_positions=SIZE, n_embd=32, n_layer=3, n_head=4, bos_token_id=None, eos_token_id=None)),
    "gpt_bigcode_heads": ("GPTBigCode", dict(vocab_size=VOCABULARY, n_positions=SIZE, n_embd=32, n_layer=3, n_head=4, bos_token_id=None, eos_token_id=None,
                                              multi_query=False, n_inner=48, scale_attn_weights=False)),
    "opt": ("OPT", BARE | dict(num_hidden_layers=3, num_attention_heads=4, ffn_dim=48, max_position_embeddings=SIZE, word_embed_proj_dim=32)),
    "opt_bare": ("OPT", BARE | dict(num_hidden_layers=3, num_attention_heads=4, ffn_dim=48, max_position_embeddings=SIZE, word_embed_proj_dim=32, enable_bias=False,
                                     layer_norm_elementwise_affine=False, activation_function="gelu", tie_word_embeddings=False)),
    "opt_350m": ("OPT", BARE | dict(num_hidden_layers=3, num_attention_heads=4, ffn_dim=48, max_position_embeddings=SIZE, word_embed_proj_dim=20, do_layer_norm_before=False)),
    "opt_narrow": ("OPT", BARE | dict(num_hidden_layers=3, num_attention_heads=4, ffn_dim=48, max_position_embeddings=SIZE, word_embed_proj_dim=40, tie_word_embeddings=False)),
    "opt_summed": ("OPT", BARE | dict(num_hidden_layers=3, num_attention_heads=4, ffn_dim=48, max_position_embeddings=SIZE, do_layer_norm_before=False, layer_norm_elementwise_affine=False)),
    "opt_unnormed": ("OPT", BARE | dict(num_hidden_layers=3, num_attention_heads=4, ffn_dim=48, max_position_embeddings=SIZE, _remove_final_layer_norm=True)),
    "bitnet": ("BitNet", LLAMA),
    "bitnet_biased": ("BitNet", LLAMA | dict(hidden_act="silu", attention_bias=True, tie_word_embeddings=True, num_key_value_heads=4)),
    "xglm": ("XGLM", BARE | dict(num_layers=3, attention_heads=4, ffn_dim=48, max_position_embeddings=SIZE)),
    "xglm_bare": ("XGLM", BARE | dict(num_hidden_layers=3, attention_heads=2, ffn_dim=40, max_position_embeddings=SIZE, scale_embedding=False, activation_function="relu",
                                      dropout=0.0, attention_dropout=0.0, tie_word_embeddings=False, pad_token_id=1)),
    "ctrl": ("CTRL", dict(vocab_size=VOCABULARY, n_positions=SIZE, n_embd=32, n_layer=3, n_head=4, dff=48, bos_token_id=None, eos_token_id=None)),
    "ctrl_bare": ("CTRL", dict(vocab_size=VOCABULARY, n_positions=SIZE, n_embd=36, n_layer=2, n_head=2, dff=40, layer_norm_epsilon=1e-2, resid_pdrop=0.0, embd_pdrop=0.0,
                               tie_word_embeddings=False)),
    "biogpt": ("BioGpt", BARE | dict(num_hidden_layers=3, num_attention_heads=4, intermediate_size=48, max_position_embeddings=SIZE)),
    "biogpt_unscaled": ("BioGpt", BARE | dict(num_hidden_layers=3, num_attention_heads=2, intermediate_size=40, max_position_embeddings=SIZE, scale_embedding=False,
                                               hidden_act="relu", hidden_dropout_prob=0.0, tie_word_embeddings=False)),
    "cohere_compass": ("CohereCompassText", LLAMA | dict(num_hidden_layers=4, sliding_window=24, logit_scale=0.5, attention_bias=True,
                                                          layer_types=["sliding_attention", "sliding_attention", "full_attention", "sliding_attention"],
                                                          rope_parameters={"full_attention": None, "sliding_attention": dict(rope_type="default", rope_theta=5e4)})),
    "cohere_compass_whole": ("CohereCompassText", LLAMA | dict(tie_word_embeddings=False, rope_parameters={"full_attention": dict(
        rope_type="linear", rope_theta=1e3, factor=2.0)})),
    "bloom": ("Bloom", BARE | dict(num_hidden_layers=3, num_attention_heads=4, seq_length=SIZE)),
    "bloom_six_heads": ("Bloom", BARE | dict(num_hidden_layers=3, num_attention_heads=6, hidden_size=48, seq_length=SIZE, tie_word_embeddings=False)),
    "mpt": ("Mpt", BARE | dict(num_hidden_layers=3, num_attention_heads=4, max_seq_len=SIZE)),
    "mpt_five_heads": ("Mpt", BARE | dict(num_hidden_layers=3, num_attention_heads=5, hidden_size=40, max_seq_len=SIZE, attn_config=dict(clip_qkv=0.8, softmax_scale=0.5))),
    "exaone": ("Exaone", LLAMA | dict(tie_word_embeddings=True) | rope("llama3", factor=8.0, low_freq_factor=1.0, high_freq_factor=4.0, original_max_position_embeddings=64)),
    "exaone_biased": ("Exaone", LLAMA | dict(attention_bias=True, mlp_bias=True, hidden_act="gelu", rms_norm_eps=1e-3)),
    "iquestcoder": ("IQuestCoder", LLAMA | dict(head_dim=12)),
    "internlm3": ("InternLM3", LLAMA | dict(head_dim=12)),
    "internlm3_biased": ("InternLM3", LLAMA | dict(attention_bias=True, mlp_bias=True)),
    "gpt_neo": ("GPTNeo", BARE | dict(hidden_size=32, num_layers=4, num_heads=4, max_position_embeddings=SIZE, window_size=24, attention_types=[[["global", "local"], 2]])),
    "gpt_neo_global": ("GPTNeo", BARE | dict(hidden_size=32, num_layers=3, num_heads=4, max_position_embeddings=SIZE, intermediate_size=48,
                                              attention_types=[[["global"], 3]], activation_function="relu")),
    "helium": ("Helium", NEOX | dict(num_key_value_heads=2, head_dim=8, attention_bias=True)),
    "cwm": ("Cwm", LLAMA | dict(head_dim=16, bos_token_id=1, sliding_window=24, num_hidden_layers=6) | rope(
        "llama3", factor=8.0, low_freq_factor=1.0, high_freq_factor=4.0, original_max_position_embeddings=64)),
    "ministral": ("Ministral", LLAMA | dict(head_dim=16, sliding_window=24, layer_types=["full_attention", "sliding_attention", "sliding_attention"])),
    "ministral_each": ("Ministral", LLAMA | dict(sliding_window=24, head_dim=16)),
    "llama4": ("Llama4Text", LLAMA | dict(head_dim=16, num_hidden_layers=5, attention_chunk_size=24, intermediate_size_mlp=40, interleave_moe_layer_step=2,
                                          num_local_experts=5, floor_scale=20, attn_scale=0.4)),
    "llama4_maverick": ("Llama4Text", LLAMA | dict(head_dim=16, attention_chunk_size=33, intermediate_size_mlp=40, moe_layers=[1], num_local_experts=5, num_experts_per_tok=2,
                                                   use_qk_norm=False, attn_temperature_tuning=False, attention_bias=True, no_rope_layers=[1, 0, 1]) | rope(
        "llama3", factor=8.0, low_freq_factor=1.0, high_freq_factor=4.0, original_max_position_embeddings=64)),
    "gemma4": ("Gemma4Text", LLAMA | dict(head_dim=16, global_head_dim=32, num_global_key_value_heads=1, attention_k_eq_v=True, num_hidden_layers=7,
                                           hidden_size_per_layer_input=0, sliding_window=24, final_logit_softcapping=3.0)),
    "gemma4_listed": ("Gemma4Text", LLAMA | dict(head_dim=16, global_head_dim=24, hidden_size_per_layer_input=0, sliding_window=24, attention_bias=True, tie_word_embeddings=False,
                                                  layer_types=["full_attention", "sliding_attention", "full_attention"],
                                                  rope_parameters={"full_attention": dict(rope_type="proportional", rope_theta=1e5, partial_rotary_factor=0.5, factor=2.0),
                                                                   "sliding_attention": dict(rope_type="default", rope_theta=1e3)})),
    "gemma4_small": ("Gemma4Text", LLAMA | dict(head_dim=16, global_head_dim=32, num_hidden_layers=5, sliding_window=24, hidden_size_per_layer_input=12,
                                                vocab_size_per_layer_input=LLAMA["vocab_size"], num_kv_shared_layers=3, use_double_wide_mlp=True,
                                                layer_types=["sliding_attention", "full_attention", "sliding_attention", "sliding_attention", "full_attention"])),
    "gemma4_embeddings": ("Gemma4Text", LLAMA | dict(head_dim=16, global_head_dim=32, hidden_size_per_layer_input=8, vocab_size_per_layer_input=LLAMA["vocab_size"] + 5, sliding_window=24)),
    "gemma4_shared": ("Gemma4Text", LLAMA | dict(head_dim=8, global_head_dim=16, num_global_key_value_heads=1, attention_k_eq_v=True, num_hidden_layers=4, hidden_size_per_layer_input=4,
                                                 vocab_size_per_layer_input=LLAMA["vocab_size"], sliding_window=24, num_kv_shared_layers=2, enable_moe_block=True, num_experts=6,
                                                 top_k_experts=3, moe_intermediate_size=20, use_double_wide_mlp=True,
                                                 layer_types=["full_attention", "sliding_attention", "sliding_attention", "full_attention"])),
    "gemma4_experts": ("Gemma4Text", LLAMA | dict(head_dim=16, global_head_dim=32, num_global_key_value_heads=1, attention_k_eq_v=True, num_hidden_layers=6,
                                                   hidden_size_per_layer_input=0, sliding_window=24, enable_moe_block=True, num_experts=6, top_k_experts=3, moe_intermediate_size=20)),
    "gemma4_unified": ("Gemma4UnifiedText", LLAMA | dict(head_dim=16, global_head_dim=32, num_global_key_value_heads=1, attention_k_eq_v=True, num_hidden_layers=7,
                                                         sliding_window=24, final_logit_softcapping=3.0)),
    "gemma4_unified_shared": ("Gemma4UnifiedText", LLAMA | dict(head_dim=16, global_head_dim=24, num_hidden_layers=4, sliding_window=24, num_kv_shared_layers=2, use_double_wide_mlp=True,
                                                                attention_bias=True, tie_word_embeddings=False,
                                                                layer_types=["sliding_attention", "full_attention", "sliding_attention", "full_attention"])),
    "recurrent_gemma": ("RecurrentGemma", RECURRENT | dict(num_hidden_layers=4)),
    "recurrent_gemma_wide": ("RecurrentGemma", RECURRENT | dict(num_hidden_layers=5, lru_width=48, conv1d_width=3, block_types=["attention", "recurrent"], attention_bias=True,
                                                                 num_key_value_heads=4, logits_soft_cap=2.0, tie_word_embeddings=False, hidden_activation="relu")
                              | rope("default", rope_theta=500.0, partial_rotary_factor=1.0)),
    "recurrent_gemma_alone": ("RecurrentGemma", RECURRENT | dict(num_hidden_layers=2, intermediate_size=75)),
    "gemma3n": ("Gemma3nText", GEMMA3N),
    "gemma3n_streams": ("Gemma3nText", GEMMA3N | dict(num_hidden_layers=6, num_kv_shared_layers=1, altup_num_inputs=5, hidden_size_per_layer_input=4, laurel_rank=3, activation_sparsity_pattern=None,
                                                      vocab_size_per_layer_input=LLAMA["vocab_size"] + 3, attention_bias=True, tie_word_embeddings=False)),
    "gemma3n_listed": ("Gemma3nText", GEMMA3N | dict(num_hidden_layers=3, num_kv_shared_layers=1, intermediate_size=[48, 40, 64], altup_num_inputs=4, altup_active_idx=1, altup_coef_clip=0.1,
                                                       layer_types=["full_attention", "sliding_attention", "full_attention"], activation_sparsity_pattern=[0.3, 0.0, 0.9],
                                                       rope_parameters={"full_attention": dict(rope_type="linear", rope_theta=1e5, factor=2.0), "sliding_attention": dict(rope_type="default", rope_theta=1e3)})),
    "axk1": ("AXK1", LATENT | ROUTED | dict(q_lora_rank=20, attention_bias=True)),
    "axk1_yarn": ("AXK1", LATENT | ROUTED | dict(q_lora_rank=20, norm_topk_prob=False, mlp_layer_types=["sparse", "dense", "sparse"]) | rope(
        "yarn", factor=4.0, original_max_position_embeddings=64, mscale=1.0, mscale_all_dim=1.0)),
    "mistral4": ("Mistral4", LATENT | dict(q_lora_rank=20, n_routed_experts=8, n_shared_experts=1, num_experts_per_tok=3, moe_intermediate_size=24) | rope(
        "yarn", factor=4.0, original_max_position_embeddings=24, beta_fast=32.0, beta_slow=1.0, mscale=1.0, mscale_all_dim=1.0, llama_4_scaling_beta=0.3)),
    "mistral4_dense": ("Mistral4", LATENT | dict(q_lora_rank=None, n_routed_experts=5, n_shared_experts=2, num_experts_per_tok=2, moe_intermediate_size=24, first_k_dense_replace=1,
                                                 norm_topk_prob=False, routed_scaling_factor=1.5, tie_word_embeddings=True) | rope(
        "yarn", factor=8.0, original_max_position_embeddings=32, mscale=1.0, mscale_all_dim=0.5, llama_4_scaling_beta=0.0)),
    "flint": ("Flint", LLAMA | dict(head_dim=16, num_hidden_layers=7, num_experts=5, num_experts_per_tok=2, moe_intermediate_size=24, shared_expert_intermediate_size=40,
                                    sliding_window=24)),
    "flint_listed": ("Flint", LLAMA | dict(head_dim=16, num_experts=6, num_experts_per_tok=3, moe_intermediate_size=24, shared_expert_intermediate_size=16, sliding_window=24,
                                           norm_topk_prob=False, attention_bias=True, mlp_only_layers=[1], layer_types=["sliding_attention", "full_attention", "sliding_attention"])),
    "laguna": ("Laguna", LLAMA | dict(head_dim=16, num_experts=6, num_experts_per_tok=2, moe_intermediate_size=24, shared_expert_intermediate_size=40, moe_routed_scaling_factor=2.5)),
    "laguna_windows": ("Laguna", LLAMA | dict(head_dim=16, num_experts=5, num_experts_per_tok=3, moe_intermediate_size=24, shared_expert_intermediate_size=16, sliding_window=24, attention_bias=True,
                                              gating="per-element", num_attention_heads_per_layer=[4, 6, 2], moe_router_logit_softcapping=0.5, mlp_layer_types=["sparse", "dense", "sparse"],
                                              layer_types=["full_attention", "sliding_attention", "sliding_attention"], rope_parameters={
                                                  "full_attention": dict(rope_type="yarn", rope_theta=1000.0, factor=4.0, original_max_position_embeddings=64, partial_rotary_factor=0.5),
                                                  "sliding_attention": dict(rope_type="default", rope_theta=500.0)})),
    "hy_v3": ("HYV3", LLAMA | dict(head_dim=16, num_experts=5, num_shared_experts=2, num_experts_per_tok=2, moe_intermediate_size=24, attention_bias=True)),
    "hy_v3_listed": ("HYV3", LLAMA | dict(head_dim=16, num_experts=6, num_experts_per_tok=3, moe_intermediate_size=24, router_scaling_factor=1.5,
                                          mlp_layer_types=["sparse", "dense", "sparse"])),
    "phimoe": ("Phimoe", LLAMA | dict(num_local_experts=5, attention_bias=True, lm_head_bias=True, sliding_window=24, router_jitter_noise=0.2)),
    "phimoe_longrope": ("Phimoe", LLAMA | dict(num_local_experts=5, original_max_position_embeddings=SIZE) | rope(
        "longrope", short_factor=[1.0, 1.5, 2.0, 3.0], long_factor=[2.0, 3.0, 4.0, 6.0], original_max_position_embeddings=SIZE, short_mscale=1.25, long_mscale=1.25)),
    "dbrx": ("Dbrx", DBRX | dict(attn_config=dict(kv_n_heads=2, clip_qkv=0.7, rope_theta=10000.0), ffn_config=dict(ffn_hidden_size=24, moe_num_experts=5, moe_top_k=2))),
    "dbrx_bare": ("Dbrx", DBRX | dict(rope_parameters=dict(rope_type="default", rope_theta=500000.0),
        attn_config=dict(kv_n_heads=1, clip_qkv=8, rope_theta=500000.0), ffn_config=dict(ffn_hidden_size=40, moe_num_experts=4, moe_top_k=3, moe_normalize_expert_weights=None,
                                                                              ffn_act_fn=dict(name="gelu")))),
    "nanochat": ("NanoChat", LLAMA | dict(final_logit_softcapping=3.0)),
    "nanochat_biases": ("NanoChat", LLAMA | dict(head_dim=16, attention_bias=True, final_logit_softcapping=None, rms_norm_eps=1e-3, tie_word_embeddings=True)),
    "cohere2_moe": ("Cohere2Moe", LLAMA | dict(head_dim=16, num_hidden_layers=6, sliding_window=24, num_experts=5, num_shared_experts=2, prefix_dense_intermediate_size=40,
                                                first_k_dense_replace=1)),
    "cohere2_moe_sum": ("Cohere2Moe", LLAMA | dict(head_dim=16, num_hidden_layers=4, sliding_window=24, num_experts=5, num_shared_experts=1, rms_norm_eps=1e-5, norm_topk_prob=False,
                                                    shared_expert_combination_strategy="sum", expert_selection_fn="sigmoid", prefix_dense_sliding_window_pattern=2,
                                                    mlp_layer_types=["dense", "dense", "sparse", "sparse"], logit_scale=0.5, tie_word_embeddings=False, attention_bias=True,
                                                    layer_types=["sliding_attention", "full_attention", "sliding_attention", "full_attention"])),
    "openai_gpt": ("OpenAIGPT", dict(vocab_size=VOCABULARY, n_positions=SIZE, n_embd=32, n_layer=3, n_head=4)),
    "openai_gpt_untied": ("OpenAIGPT", dict(vocab_size=VOCABULARY, n_positions=SIZE, n_embd=24, n_layer=2, n_head=2, afn="silu", tie_word_embeddings=False)),
    "modernbert_decoder": ("ModernBertDecoder", NEOX | SPECIAL | dict(num_hidden_layers=5, local_attention=24)),
    "modernbert_decoder_biased": ("ModernBertDecoder", NEOX | SPECIAL | dict(num_hidden_layers=3, local_attention=11, norm_bias=True, attention_bias=True, mlp_bias=True, decoder_bias=False,
                                                                   classifier_bias=True, classifier_activation="silu", hidden_activation="gelu_pytorch_tanh", tie_word_embeddings=False,
                                                                   layer_types=["sliding_attention", "sliding_attention", "full_attention"],
                                                                   rope_parameters={"full_attention": {"rope_type": "linear", "rope_theta": 500.0, "factor": 2.0},
                                                                                    "sliding_attention": {"rope_type": "default", "rope_theta": 100.0}})),
    "aria": ("AriaText", LLAMA | dict(moe_num_experts=6, moe_topk=3, moe_num_shared_experts=2)),
    "aria_biased": ("AriaText", LLAMA | dict(head_dim=16, moe_num_experts=5, moe_topk=2, moe_num_shared_experts=1, attention_bias=True, tie_word_embeddings=True)),
    "aria_part": ("Aria", part(LLAMA | dict(moe_num_experts=4, moe_topk=2), vision_config=dict(
        model_type="idefics3_vision", hidden_size=16, num_hidden_layers=1, num_attention_heads=2, intermediate_size=16, image_size=28, patch_size=14), projector_patch_to_query_dict={4: 2})),
    "ministral3": ("Ministral3", LLAMA | dict(head_dim=16) | rope("yarn", factor=4.0, original_max_position_embeddings=24, mscale=1.0, mscale_all_dim=1.0,
                                                                  beta_fast=32.0, beta_slow=1.0, llama_4_scaling_beta=0.3)),
    "vaultgemma": ("VaultGemma", GEMMA | dict(attn_logit_softcapping=5.0, final_logit_softcapping=3.0)),
    "jais2": ("Jais2", LLAMA | dict(rope_theta=500000.0)),
    "jais2_no_biases": ("Jais2", LLAMA | dict(attention_bias=False, mlp_bias=False)),
    "solar_open": ("SolarOpen", no_dense(LLAMA) | dict(head_dim=16, n_routed_experts=6, n_shared_experts=2, num_experts_per_tok=2, moe_intermediate_size=24,
                                                routed_scaling_factor=1.5, n_group=3, topk_group=2)),
    "exaone_moe": ("ExaoneMoe", LLAMA | dict(head_dim=16, num_experts=5, num_shared_experts=2, num_experts_per_tok=2, moe_intermediate_size=24,
                                              sliding_window=24, num_hidden_layers=5)),
    "exaone_moe_listed": ("ExaoneMoe", LLAMA | dict(head_dim=16, num_experts=6, num_shared_experts=1, num_experts_per_tok=3, moe_intermediate_size=24, n_group=3,
                                                     topk_group=2, sliding_window=24, mlp_layer_types=["sparse", "dense", "sparse"])),
    "flex_olmo": ("FlexOlmo", LLAMA | dict(num_experts=5, num_experts_per_tok=2)),
    "sarvam_moe": ("SarvamMoE", LLAMA | ROUTED | dict(head_dim=12, attention_bias=True)),
    "sarvam_moe_bare": ("SarvamMoE", LLAMA | ROUTED | dict(head_dim=16, first_k_dense_replace=2, use_qk_norm=False, norm_topk_prob=False, tie_word_embeddings=True) | rope(
        "linear", factor=4.0, partial_rotary_factor=0.5)),
    "sarvam_mla": ("SarvamMLA", LATENT | ROUTED | dict(attention_bias=True)),
    "sarvam_mla_yarn": ("SarvamMLA", LATENT | ROUTED | dict(q_lora_rank=20, first_k_dense_replace=0) | rope(
        "yarn", factor=4.0, original_max_position_embeddings=64, mscale=1.0, mscale_all_dim=1.0)),
    "kimi_linear": ("KimiLinear", KIMI),
    "bailing_hybrid": ("BailingHybrid", BAILING_HYBRID),
    "bailing_hybrid_yarn": ("BailingHybrid", BAILING_HYBRID | dict(
        q_lora_rank=20, attention_bias=True, linear_num_heads=3, linear_head_dim=12, short_conv_kernel_size=3, kda_lower_bound=-2.5, norm_topk_prob=False, num_shared_experts=2,
        layer_types=["full_attention", "linear_attention"] * 2, mlp_layer_types=["sparse", "dense", "sparse", "dense"]) | rope(
            "yarn", factor=4.0, original_max_position_embeddings=64, mscale=1.0, mscale_all_dim=1.0)),
    "bailing_hybrid_free": ("BailingHybrid", BAILING_HYBRID | dict(kda_safe_gate=False, n_group=1, topk_group=1)),
    "longcat_flash": ("LongcatFlash", LONGCAT),
    "longcat_flash_yarn": ("LongcatFlash", LONGCAT | dict(attention_bias=True, zero_expert_num=0, tie_word_embeddings=True) | rope(
        "yarn", factor=4.0, original_max_position_embeddings=64, mscale=1.0, mscale_all_dim=1.0)),
    "kimi_linear_groups": ("KimiLinear", KIMI | dict(q_lora_rank=20, attention_bias=True, linear_conv_kernel_dim=3, norm_topk_prob=False, n_group=4, topk_group=2, num_local_experts=8,
                                                     n_shared_experts=2, layer_types=["full_attention", "linear_attention"] * 2, mlp_layer_types=["sparse", "dense", "sparse", "dense"])),
    "olmo_hybrid": ("OlmoHybrid", OLMO_HYBRID),
    "olmo_hybrid_turning": ("OlmoHybrid", OLMO_HYBRID | dict(rope_parameters={"rope_type": "default", "rope_theta": 5e5}, attention_bias=True, linear_allow_neg_eigval=False,
                                                             linear_num_value_heads=2, linear_value_head_dim=16, linear_conv_kernel_dim=3, layer_types=["full_attention", "linear_attention"] * 2)),
    "olmo_hybrid_uneven": ("OlmoHybrid", OLMO_HYBRID | dict(linear_num_key_heads=3, linear_num_value_heads=3, linear_key_head_dim=16, linear_value_head_dim=17)),
    "minimax": ("MiniMax", MINIMAX),
    "minimax_window": ("MiniMax", MINIMAX | dict(sliding_window=24)),
    "minimax_factors": ("MiniMax", MINIMAX | dict(num_attention_heads=3, num_key_value_heads=3, head_dim=12, num_hidden_layers=5, layer_types=["linear_attention"] * 4 + ["full_attention"],
                                                  full_attn_alpha_factor=1.5, full_attn_beta_factor=0.75, linear_attn_alpha_factor=2.0, linear_attn_beta_factor=0.5, mlp_alpha_factor=1.25,
                                                  mlp_beta_factor=1.125, block_size=16, sliding_window=24, tie_word_embeddings=True) | rope("linear", factor=4.0)),
    "kolibri1": ("Kolibri1", no_dense(LLAMA) | dict(head_dim=16, num_experts=5, num_experts_per_tok=2, moe_intermediate_size=24, shared_expert_intermediate_size=40,
                                                     sliding_window=24, num_hidden_layers=5)),
    "kolibri1_full": ("Kolibri1", no_dense(LLAMA) | dict(head_dim=12, num_experts=6, num_experts_per_tok=3, moe_intermediate_size=24, shared_expert_intermediate_size=16,
                                                           norm_topk_prob=True, sliding_window=8, layer_types=["full_attention"] * 3, tie_word_embeddings=True)),
    "mimo_v2_flash": ("MiMoV2Flash", LLAMA | dict(head_dim=12, v_head_dim=8, num_key_value_heads=1, num_hidden_layers=7, n_routed_experts=6, num_experts_per_tok=3, moe_intermediate_size=24,
                                                   n_group=3, topk_group=2, routed_scaling_factor=1.5, sliding_window=24, partial_rotary_factor=0.5)),
    "mimo_v2_flash_wide": ("MiMoV2Flash", LLAMA | dict(
        head_dim=16, v_head_dim=20, num_key_value_heads=2, n_routed_experts=5, num_experts_per_tok=2, moe_intermediate_size=24, attention_bias=True, attention_value_scale=None,
        norm_topk_prob=False, routed_scaling_factor=None, sliding_window_size=16, layer_types=["sliding_attention", "full_attention", "sliding_attention"],
        mlp_layer_types=["sparse", "dense", "sparse"], rope_parameters=dict(
            full_attention=dict(rope_type="yarn", rope_theta=10000.0, factor=4.0, original_max_position_embeddings=64),
            sliding_attention=dict(rope_type="default", rope_theta=1000.0, partial_rotary_factor=0.5)))),
    "qwen2_vl": ("Qwen2VL", part(LLAMA | dict(rope_parameters=dict(rope_type="default", rope_theta=1e4, mrope_section=[2, 1, 1])))),
    "qwen3_vl_moe": ("Qwen3VLMoe", part(LLAMA | dict(head_dim=16, num_experts=5, num_experts_per_tok=2, moe_intermediate_size=24,
                                                     rope_parameters=dict(rope_type="default", rope_theta=1e4, mrope_section=[4, 2, 2])))),
    "qwen2_5_omni": ("Qwen2_5OmniThinker", part(LLAMA | dict(rope_parameters=dict(rope_type="default", rope_theta=1e4, mrope_section=[2, 1, 1])), audio_config=AUDIO)),
    "qwen3_omni_moe": ("Qwen3OmniMoeThinker", part(LLAMA | dict(head_dim=16, num_experts=5, num_experts_per_tok=2, moe_intermediate_size=24,
                                                                rope_parameters=dict(rope_type="default", rope_theta=1e4, mrope_section=[4, 2, 2])), audio_config=AUDIO)),
    "glm4v": ("Glm4v", part(LLAMA | dict(rope_parameters=dict(rope_type="default", rope_theta=1e4, partial_rotary_factor=0.5, mrope_section=[1, 1, 0])))),
    "glm_ocr": ("GlmOcr", part(LLAMA | dict(head_dim=16, rope_parameters=dict(rope_type="default", rope_theta=1e4, mrope_section=[4, 2, 2])))),
    "glm4v_moe": ("Glm4vMoe", part(LLAMA | ROUTED | dict(head_dim=16, first_k_dense_replace=1,
                                                        rope_parameters=dict(rope_type="default", rope_theta=1e4, partial_rotary_factor=0.5, mrope_section=[2, 1, 1])))),
    "granite_docling": ("GraniteDocling", part(LLAMA | GRANITE)),
    "hunyuan_vl": ("HunYuanVL", part(LLAMA | dict(head_dim=16, rope_parameters=dict(rope_type="xdrope", rope_theta=1e4, alpha=100.0, factor=1.0, xdrope_section=[2, 2, 2, 2])))),
    "paddleocr_vl": ("PaddleOCRVL", part(LLAMA | dict(head_dim=16, use_bias=True, rope_parameters=dict(rope_type="default", rope_theta=1e4, mrope_section=[4, 2, 2])))),
    "phi4_multimodal": ("Phi4Multimodal", LLAMA | dict(
        vision_config=dict(hidden_size=16, intermediate_size=16, num_hidden_layers=2, num_attention_heads=2, crop_size=28, patch_size=14),
        audio_config=dict(hidden_size=16, intermediate_size=16, num_blocks=1, num_attention_heads=2, ext_pw_out_channel=16, depthwise_separable_out_channel=16, nemo_conv_channels=16)) | dict(original_max_position_embeddings=SIZE // 2, partial_rotary_factor=0.75) | rope(
        "longrope", partial_rotary_factor=0.75, short_factor=[1.0, 1.5, 2.0], long_factor=[1.5, 4.0, 9.0])),
    "apertus1p5": ("Apertus1p5", LLAMA | dict(vocab_size=VOCABULARY + 11, output_vocab_size=VOCABULARY, attention_bias=True)),
    "apertus1p5_whole": ("Apertus1p5", LLAMA | rope("default")),
    "ernie4_5_vl_moe": ("Ernie4_5_VLMoe", part(LLAMA | dict(num_hidden_layers=5, moe_num_experts=5, moe_k=2, moe_intermediate_size=[24, 16], rope_parameters=dict(
        rope_type="default", rope_theta=1e4, mrope_section=[1, 1, 2])))),
    "ernie4_5_vl_moe_interval": ("Ernie4_5_VLMoe", part(LLAMA | dict(
        num_hidden_layers=5, moe_num_experts=4, moe_k=3, moe_num_shared_experts=1, moe_intermediate_size=[20, 24], mlp_layer_types=["dense", "sparse", "dense", "sparse", "dense"],
        rope_parameters=dict(rope_type="default", rope_theta=1e3, mrope_section=[1, 1, 2])), tie_word_embeddings=True)),
    "emu3": ("Emu3", dict(text_config=LLAMA | dict(attention_dropout=0.0, bos_token_id=0, eos_token_id=0, pad_token_id=0), vq_config=dict(base_channels=32, channel_multiplier=[1], num_res_blocks=1, attn_resolutions=[],
        codebook_size=8, hidden_size=32), vocabulary_map={"<image>": 3, "<|extra_200|>": 4, "<|visual token 000001|>": 5})),
    "molmo2": ("Molmo2", part(LLAMA | dict(head_dim=16, additional_vocab_size=8), **MOLMO)),
    "molmo2_linear": ("Molmo2", part(LLAMA | dict(head_dim=12, additional_vocab_size=0) | rope("linear", factor=4.0), **MOLMO)),
    "mllama": ("Mllama", part(LLAMA | dict(num_hidden_layers=5, cross_attention_layers=[1, 3], bos_token_id=1) | rope(
        "llama3", factor=8.0, low_freq_factor=1.0, high_freq_factor=4.0, original_max_position_embeddings=64))),
    "mixtral": ("Mixtral", LLAMA | dict(num_local_experts=4, num_experts_per_tok=2)),
    "qwen3_moe": ("Qwen3Moe", LLAMA | dict(head_dim=16, num_experts=5, num_experts_per_tok=2, moe_intermediate_size=24, norm_topk_prob=True,
                                            decoder_sparse_step=1, mlp_only_layers=[1])),
}

# Folders whose matrices are of eight bits: of which family, the options of quantization_config, and the blocks that share a scale.
FP8 = {"quant_method": "fp8", "fmt": "e4m3", "activation_scheme": "dynamic"}
COMPRESSED = {"quant_method": "compressed-tensors", "format": "float-quantized", "ignore": ["lm_head"]}
PACKED = {
    "llama_fp8": ("llama", FP8 | {"weight_block_size": [20, 24]}, (20, 24), torch.float32),
    "phi3_fp8": ("phi3", FP8 | {"weight_block_size": [16, 16]}, (16, 16), torch.bfloat16),
    "deepseek_v3_fp8": ("deepseek_v3", FP8 | {"weight_block_size": [16, 16]}, (16, 16), torch.float32),
    "qwen3_moe_fp8": ("qwen3_moe", FP8 | {"weight_block_size": [128, 128]}, (128, 128), torch.float32),
    "qwen3_fp8_rows": ("qwen3", COMPRESSED | {"config_groups": {"group_0": {"weights": {
        "num_bits": 8, "type": "float", "strategy": "channel", "symmetric": True}}}}, (1, 10**6), torch.float32),
    "deepseek_v4_fp4": ("deepseek_v4_wide", FP8 | {"weight_block_size": [16, 16], "scale_fmt": "ue8m0", "expert_dtype": "fp4"}, (16, 16), torch.float8_e8m0fnu),
}
# Of the 16 codes of four bits.
FP4 = torch.tensor([0, 0.5, 1, 1.5, 2, 3, 4, 6, -0.0, -0.5, -1, -1.5, -2, -3, -4, -6])

# Folders with ternary weights, rounded whenever they are multiplied or packed: of which family, and quantization_config.
TERNARY = {
    "bitnet_online": ("bitnet", {"quant_method": "bitnet", "linear_class": "autobitlinear", "quantization_mode": "online"}),
    "bitnet_offline": ("bitnet", {"quant_method": "bitnet", "linear_class": "autobitlinear", "quantization_mode": "offline"}),
    "llama_bitlinear": ("llama_tied_biases", {"quant_method": "bitnet", "linear_class": "bitlinear", "quantization_mode": "offline"}),
    "qwen3_ternary": ("qwen3", {"quant_method": "bitnet", "linear_class": "autobitlinear", "quantization_mode": "online"}),
}

# Folders with blocks for later tokens: of which family, and how many.
AHEAD = {"deepseek_v3_ahead": ("deepseek_v3", 1), "glm4_moe_ahead": ("glm4_moe", 2), "sarvam_mla_ahead": ("sarvam_mla", 1)}

def drawn(seed):
    """A family of the table with other sizes, and with other values of the options that it has."""
    r = random.Random(seed)
    name = r.choice([name for name in FAMILIES if "drawn by" not in name])
    kind, whole = FAMILIES[name]
    options = whole.get("text_config", whole)
    heads = r.choice([2, 4, 8])
    narrow = [h for h in (1, 2, 4, 8) if heads % h == 0]
    width = "n_embd" if "n_embd" in options else "hidden_size"
    draws = {
        width: [heads * w for w in (8, 12, 16)], "num_attention_heads": [heads], "n_head": [heads],
        "num_key_value_heads": [heads] if "kv_lora_rank" in options else narrow, "num_kv_heads": narrow, "head_dim": [8, 16, 24], "intermediate_size": [40, 48, 64],
        "moe_intermediate_size": [16, 24, 40], "shared_expert_intermediate_size": [16, 40], "sliding_window": [5, 24, 33], "num_experts_per_tok": [1, 2, 3],
        "norm_topk_prob": [True, False], "attention_bias": [True, False], "mlp_bias": [True, False], "use_bias": [True, False], "use_qk_norm": [True, False],
        "tie_word_embeddings": [True, False], "use_parallel_residual": [True, False], "use_qkv_bias": [True, False], "linear_conv_kernel_dim": [2, 3, 4], "linear_num_heads": [1, 2, 3], "linear_head_dim": [12, 16, 20],
        "conv_L_cache": [2, 3, 4], "state_size": [8, 16], "ssm_state_size": [8, 16], "mamba_d_state": [8, 16], "time_step_rank": [1, 4, 7], "mamba_dt_rank": [1, 4, 7], "conv_kernel": [2, 3, 4], "expand": [1, 2, 3], "kv_lora_rank": [8, 16, 24],
        "first_k_dense_replace": [0, 1, 2], "num_dense_layers": [0, 1], "qk_nope_head_dim": [8, 12], "v_head_dim": [8, 12, 16], "routed_scaling_factor": [1.0, 2.5]}
    options = options | {k: r.choice(v) for k, v in draws.items() if options.get(k) is not None or k == "tie_word_embeddings" and kind in ("Llama", "Qwen2", "Qwen3", "Mistral")}
    if kind == "Mamba2":  # its sizes depend on each other
        options |= {k: FAMILIES[name][1][k] for k in ("hidden_size", "head_dim", "expand") if k in FAMILIES[name][1]}
    if kind == "LongcatFlash":  # so many features turn
        options["head_dim"] = options["qk_rope_head_dim"]
    if "word_embed_proj_dim" in options:
        options["word_embed_proj_dim"] = options["hidden_size"]
    return f"{name}, drawn by {seed}", (kind, whole | {"text_config": options} if "text_config" in whole else options)


MODEL = """{key}:
  component_key: model
  variant_key: huggingface_pretrained_model
  config: {{model_type: AutoModelForCausalLM, model_name: {folder}, prediction_key: logits, huggingface_prediction_subscription_key: logits,
    sample_key: input_ids, multi_token_weight: {ahead}}}
"""
GENERATE = """settings:
  referencing_keys: {{sample_key: input_ids, prediction_key: logits}}
  model_path: {folder}
  device: cpu
  sequence_length: {size}
text_inference_component:
  component_key: inference_component
  variant_key: text
  config:
    device: cpu
    model: {{instance_key: model, pass_type: BY_REFERENCE}}
    tokenizer: {{component_key: tokenizer, variant_key: pretrained_hf_tokenizer, config: {{pretrained_model_name_or_path: {tokenizer}}}}}
    sequence_length: {size}
    eod_token: null
    prompt_template: "{{x}}"
    temperature: 0
"""
TRAIN = """extends: modalities/training
settings:
  paths: {{train_dataset_path: {data}}}
  step_profile: {{gradient_accumulation_steps: 1, local_train_micro_batch_size: 2, sequence_length: 32}}
  training_target: {{num_target_steps: 3}}
  intervals: {{training_log_interval_in_steps: 1, evaluation_interval_in_steps: 3, checkpointing_interval_in_steps: 3}}
eval_dataloaders: []
sharded_model: {{config: {{block_names: [{block}]}}}}
initialized_model:
  component_key: model
  variant_key: activation_checkpointed
  config:
    model: {{instance_key: sharded_model, pass_type: BY_REFERENCE}}
    ac_variant: full_activation_checkpointing
    layers_fqn: transformer.h
    ac_fun_params: {{}}
optimizer: {{config: {{lr: 1e-2}}}}
lr_scheduler: {{config: {{warmup_steps: 1, initial_lr: 1e-3, final_lr: 1e-3}}}}
mfu_calculator: null
"""


def run(work, *words):
    done = subprocess.run([PROGRAM, *map(str, words)], cwd=work, capture_output=True, text=True)
    assert done.returncode == 0, f"modalities {' '.join(map(str, words))}\n{done.stderr[-3000:]}"
    return done.stdout


def tokenizer(work):
    """A token for each printable character, as GPT-2 spells bytes."""
    path = work / "tokenizer.json"
    part = {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": True, "use_regex": False}
    model = {"type": "BPE", "dropout": None, "unk_token": None, "continuing_subword_prefix": None, "end_of_word_suffix": None,
             "fuse_unk": False, "byte_fallback": False, "ignore_merges": False, "vocab": {c: i for i, c in enumerate(LETTERS)}, "merges": []}
    path.write_text(json.dumps({"version": "1.0", "truncation": None, "padding": None, "added_tokens": [], "normalizer": None,
                                "pre_tokenizer": part, "post_processor": None, "decoder": part, "model": model}))
    return path


def logits_there(model, ids):
    with torch.no_grad():
        return model(ids, use_cache=False).logits


def logits_here(work, folder, ids, *model):
    save_file({"input_ids": ids, "target_ids": ids.clone()}, work / "batch.safetensors")
    run(work, "model", "run", *(model or ("--hf_model_path", folder)), "--batch_path", "batch.safetensors", "--output_path", "out.safetensors",
        "--file_existence_policy", "override")
    return load_file(work / "out.safetensors")


def greedy_here(work, folder, prompts):
    """Answered side by side, from a cache."""
    (work / "generate.yaml").write_text(MODEL.format(key="model", folder=folder, ahead=0) + GENERATE.format(folder=folder, tokenizer=work / "tokenizer.json", size=SIZE))
    (work / "prompts.jsonl").write_text("".join(json.dumps({"x": "".join(LETTERS[i] for i in p)}) + "\n" for p in prompts))
    run(work, "generate_text", "--config_file_path", "generate.yaml", "--prompts_file_path", "prompts.jsonl", "--output_file_path",
        "answers.jsonl", "--max_new_tokens", NEW, "--file_existence_policy", "override")
    answers = [json.loads(line)["answer"] for line in (work / "answers.jsonl").read_text().splitlines()]
    return [[LETTERS.index(c) for c in answer] for answer in answers]


def equal_tokens(model, prompt, answer):
    """How many tokens of an answer are those of transformers, which ends with the first that is as good as decided by rounding."""
    best = logits_there(model, torch.tensor([prompt + answer]))[0, len(prompt) - 1 : -1].topk(2)
    for i, token in enumerate(answer):
        if best.values[i, 0] - best.values[i, 1] < NEAR:
            return i
        assert best.indices[i, 0] == token, f"token {i} is {token}, of transformers {best.indices[i, 0]}"
    return len(answer)


def pack8(folder, plain, options, block, scale_type):
    """Linear layers of a folder in eight bits with a scale for each block, as DeepSeek V3 comes, or with powers of two as scales and experts of four bits,
    as DeepSeek V4; what they stand for goes into `plain`.

    transformers unpacks on CPUs with a further library, and no blocks that edges cut: its rule is compared where it takes them."""
    weights = load_file(folder / "model.safetensors")
    packed, unpacked = {}, {}
    of_eight, of_powers = block, scale_type == torch.float8_e8m0fnu
    for name, w in weights.items():
        packed[name] = unpacked[name] = w
        if w.dim() != 2 or not name.endswith(".weight") or "embed" in name or "lm_head" in name or name.endswith((".mlp.gate.weight", ".ffn.gate.weight")):
            continue
        rows, columns = w.shape
        halves = of_powers and ".experts." in name
        block = (1, 32) if halves else of_eight
        down, across = -(-rows // block[0]), -(-columns // block[1])
        of_row = torch.arange(rows)[:, None] // block[0]
        of_column = torch.arange(columns)[None] // block[1]
        at = (of_row * across + of_column).flatten()
        largest = torch.zeros(down * across).scatter_reduce(0, at, w.abs().flatten(), "amax")
        scales = largest / (6 if halves else 448)
        scales = (torch.exp2(torch.ceil(torch.log2(scales))) if of_powers else scales).to(scale_type)
        codes = w / scales.float()[at].view(rows, columns)
        if halves:
            codes = (codes[..., None] - FP4).abs().argmin(-1).to(torch.uint8)
            unpacked[name] = FP4[codes.long()] * scales.float()[at].view(rows, columns)
            codes = (codes[:, ::2] | codes[:, 1::2] << 4).view(torch.int8)
        else:
            codes = codes.to(torch.float8_e4m3fn)
            unpacked[name] = codes.float() * scales.float()[at].view(rows, columns)
        packed[name] = codes
        scale = name.removesuffix("weight") + "scale" if of_powers else name + ("_scale_inv" if options["quant_method"] == "fp8" else "_scale")
        packed[scale] = scales.view(down, across)
        if VERSION >= 5 and rows % down == 0 and columns % across == 0 and (rows // down, columns // across) == block:
            theirs = Fp8Dequantize(None)._dequantize_one(codes, scales.view(down, across), torch.float32)
            assert torch.equal(theirs, unpacked[name]), f"{name} is not what transformers reads"
    shutil.copytree(folder, plain)
    save_file(unpacked, plain / "model.safetensors", {"format": "pt"})
    save_file(packed, folder / "model.safetensors", {"format": "pt"})
    config = json.loads((folder / "config.json").read_text())
    (folder / "config.json").write_text(json.dumps(config | {"quantization_config": options}))
    assert len(packed) > len(weights) + 5
    assert of_powers == any(t.dtype == torch.int8 for t in packed.values())


def make_ternary(folder, plain, options):
    """Gives a folder a quantization_config of BitNet. What its packed weights stand for, as weights that are rounded to them, goes into `plain`."""
    weights = load_file(folder / "model.safetensors")
    packed, unpacked = {}, {}
    for name, w in weights.items():
        packed[name] = unpacked[name] = w
        if options["quantization_mode"] == "online" or w.dim() != 2 or "embed" in name or "lm_head" in name:
            continue
        size = w.abs().mean()
        signs = (w / size).round().clamp(-1, 1)
        # another than theirs, so that it is the one that is read
        scale = (0.7 * size).bfloat16()
        unpacked[name] = signs * (scale.double() * signs.numel() / signs.count_nonzero()).float()
        packed[name] = bitnet.pack_weights(signs.clone())
        packed[name + "_scale"] = (1 / scale if options["linear_class"] == "bitlinear" else scale).float().reshape(1)
        if options["linear_class"] == "bitlinear":
            unit = 1 / packed[name + "_scale"].double()
            unpacked[name] = signs * (unit * signs.numel() / signs.count_nonzero()).float()
    config = json.loads((folder / "config.json").read_text())
    online = {"quant_method": "bitnet", "linear_class": "autobitlinear", "quantization_mode": "online"}
    if options != online:
        shutil.copytree(folder, plain)
        save_file(unpacked, plain / "model.safetensors", {"format": "pt"})
        (plain / "config.json").write_text(json.dumps(config | {"quantization_config": online}))
    save_file(packed, folder / "model.safetensors", {"format": "pt"})
    (folder / "config.json").write_text(json.dumps(config | {"quantization_config": options}))


def put_ahead(folder, depth):
    """The last blocks of a folder become those for later tokens, with what else these have."""
    config = json.loads((folder / "config.json").read_text())
    n, width = config["num_hidden_layers"] - depth, config["hidden_size"]
    config |= {"num_hidden_layers": n, "num_nextn_predict_layers": depth}
    # transformers knows such blocks by the numbers that they have in the models that were published
    getattr(transformers, config["architectures"][0])._keys_to_ignore_on_load_unexpected = [rf"model\.layers\.{i}\." for i in range(n, n + depth)]
    weights = load_file(folder / "model.safetensors")
    for i in range(n, n + depth):
        weights |= {f"model.layers.{i}.{name}.weight": 1 + 0.1 * torch.randn(width) for name in ("enorm", "hnorm", "shared_head.norm")}
        weights[f"model.layers.{i}.eh_proj.weight"] = 0.15 * torch.randn(width, 2 * width)
        weights[f"model.layers.{i}.embed_tokens.weight"] = weights["model.embed_tokens.weight"].clone()
        weights[f"model.layers.{i}.shared_head.head.weight"] = weights["lm_head.weight"].clone()
    save_file(weights, folder / "model.safetensors", {"format": "pt"})
    (folder / "config.json").write_text(json.dumps(config))


def compare_ahead(work, folder, depth):
    """Logits of later tokens, of all positions that have such a token in front of them."""
    model = AutoModelForCausalLM.from_pretrained(folder, dtype=torch.float32, attn_implementation="eager").eval()
    ahead = MtpModel.from_pretrained(model).eval()
    ids = torch.randint(0, VOCABULARY, (1, 40), generator=torch.Generator().manual_seed(3))
    (work / "ahead.yaml").write_text(MODEL.format(key="model_raw", folder=folder, ahead=0.3))
    ours = logits_here(work, None, ids, "--config_file_path", "ahead.yaml")
    worst = 0
    with torch.no_grad():
        hidden = model.model(ids, use_cache=False).last_hidden_state
        for i in range(depth):
            later = ids[:, i + 1 :]
            positions = torch.arange(later.shape[1])[None] + i + 1
            hidden = ahead.forward_layer(i, hidden[:, : later.shape[1]], positions, None, input_ids=later)
            theirs = model.lm_head(hidden)
            worst = max(worst, ((theirs - ours[f"logits_ahead.{i}"][:, : later.shape[1]]).abs().max() / theirs.abs().max()).item())
    assert worst < 2e-5, f"logits of later tokens differ by {worst:.1e}"
    return f", of later tokens {worst:.0e}"


def near_tokens(model, prompt, answer):
    """How many tokens of an answer are those of transformers, which has the others as good as the best."""
    logits = logits_there(model, torch.tensor([prompt + answer]))[0, len(prompt) - 1 : -1]
    behind = logits.amax(-1) - logits.gather(1, torch.tensor(answer)[:, None])[:, 0]
    assert behind.max() < FAR * logits.abs().max(), f"a token is {behind.max():.1e} behind the best"
    return (behind == 0).sum().item()


def compare(work, folder, near, reference=None, ternary=False):
    """Activations of eight bits turn a difference of rounding into one of a step, for a few tokens: where `ternary`, most must be near."""
    falls = json.loads((folder / "config.json").read_text()).get("alibi")  # the plain code of Falcon adds distances twice
    of_class = json.loads((folder / "config.json").read_text())["architectures"][0]
    loader = getattr(transformers, of_class) if of_class == "Mistral4ForCausalLM" or any(of_class == names[0] for names in PARTS.values()) else AutoModelForCausalLM
    model = loader.from_pretrained(reference or folder, dtype=torch.float32, attn_implementation="sdpa" if falls else "eager").eval()
    ids = torch.randint(0, VOCABULARY, (2, 40), generator=torch.Generator().manual_seed(1))
    theirs, ours = logits_there(model, ids), logits_here(work, folder, ids)["logits"]
    difference = ((theirs - ours).abs().max() / theirs.abs().max()).item()
    if ternary:
        of_token = (theirs - ours).abs().amax(-1) / theirs.abs().max()
        assert of_token.median() < near and difference < FAR, f"logits differ by {of_token.median():.1e}, at most {difference:.1e}"
        difference = of_token.median().item()
    if difference >= near:  # rounding counts for more than elsewhere: in both, and here for no more than there
        exact = logits_here(work, folder, ids, "--hf_model_path", folder, "--precision", "f64")["logits"]
        off = [((x - exact).abs().max() / exact.abs().max()).item() for x in (ours, theirs)]
        assert off[0] < 2 * off[1] < 1e-3, f"logits differ by {difference:.1e}, from those in float64 by {off[0]:.1e}, and there by {off[1]:.1e}"
    prompts = [ids[0, :30].tolist(), ids[1, :7].tolist()]
    answers = greedy_here(work, folder, prompts)
    assert all(len(a) == NEW for a in answers), [len(a) for a in answers]
    equal = [(near_tokens if ternary else equal_tokens)(model, p, a) for p, a in zip(prompts, answers)]
    return f"logits {difference:.0e}, greedy {' and '.join(map(str, equal))} of {NEW}"


def of_molmo2(weights, text):
    """Tensors of its text by the names of Qwen 3."""
    queries, keys = (text[f"num_{n}_heads"] * text["head_dim"] for n in ("attention", "key_value"))
    theirs = {k.replace("model.transformer.blocks.", "model.layers.").replace("model.transformer.ln_f.", "model.norm."): v for k, v in weights.items()}
    names = {"attn_norm": "input_layernorm", "ff_norm": "post_attention_layernorm", "attn_out": "o_proj", "ff_out": "down_proj"}
    ours = {"model.embed_tokens.weight": torch.cat([theirs.pop(f"model.transformer.wte.{n}embedding") for n in ("", "new_")])}
    for k, v in theirs.items():
        if k.endswith("att_proj.weight"):
            ours |= {k.replace("att_proj", f"{n}_proj"): w for n, w in zip("qkv", v.split([queries, keys, keys]))}
        elif k.endswith("ff_proj.weight"):
            ours |= {k.replace("ff_proj", f"{n}_proj"): w for n, w in zip(("up", "gate"), v.chunk(2))}
        else:
            ours[re.sub("attn_norm|ff_norm|attn_out|ff_out", lambda m: names[m[0]], k)] = v
    return ours


def published(weights, config):
    """Tensors of a folder of transformers as the authors of the model have them, where these differ, and transformers reads both."""
    if config["model_type"] == "ernie4_5_vl_moe":  # experts of images come behind those of text
        n = config["text_config"]["moe_num_experts"]
        weights = {k: v for k, v in weights.items() if not k.endswith("gate.weight_1") and not ((e := re.search(r"experts\.(\d+)\.", k)) and int(e[1]) >= n)}
        weights = {k: v.T.contiguous() if k.endswith("mlp.gate.weight") else v[:1].contiguous() if k.endswith("correction_bias") else v for k, v in weights.items()}
    if config["model_type"] == "molmo2":
        weights = of_molmo2(weights, config["text_config"])
    if text := config.get("text_config"):  # the part that is read
        crossed = text.get("cross_attention_layers", [])
        number = {str(i): str(k) for k, i in enumerate(i for i in range(text["num_hidden_layers"]) if i not in crossed)}
        weights = {re.sub(r"^model\.(language|text)_model\.", "model.", k.removeprefix("thinker.").removeprefix("language_model.").removeprefix("text_model.")): v for k, v in weights.items()}
        weights = {k: v for k, v in weights.items() if k.startswith(("model.layers.", "model.embed_tokens.", "model.norm.", "model.final_layernorm.", "lm_head."))}
        weights["model.embed_tokens.weight"] = weights["model.embed_tokens.weight"][: text["vocab_size"]]
        for k in [k for k in weights if k.endswith((".experts.gate_up_proj", ".experts.down_proj"))]:
            stacked = weights.pop(k)
            if ("gate_up" in k) == (stacked.shape[-1] != text["hidden_size"]):  # each transposed
                stacked = stacked.transpose(1, 2)
            parts = stacked.chunk(2, 1) if "gate_up" in k else (stacked,)
            for name, w in zip(("gate", "up") if "gate_up" in k else ("down",), parts):
                weights |= {k.rsplit(".", 1)[0] + f".{e}.{name}_proj.weight": w[e].contiguous() for e in range(len(w))}
        found = {k: re.match(r"model\.layers\.(\d+)\.", k) for k in weights}
        return {re.sub(r"layers\.\d+", f"layers.{number[found[k][1]]}", k) if found[k] else k: v for k, v in weights.items() if not found[k] or found[k][1] in number}
    if config.get("output_vocab_size"):  # token ids that the head cannot give are no text
        return weights | {"model.embed_tokens.weight": weights["model.embed_tokens.weight"][: config["output_vocab_size"]]}
    if config["model_type"] == "phi4_multimodal":
        return {k: v for k, v in weights.items() if "embed_tokens_extend" not in k}
    if config["model_type"] == "kimi_linear":  # layers without experts have the name of mixtures
        return {re.sub(r"\.block_sparse_moe\.(gate|up|down)_proj\.", r".mlp.\1_proj.", k): v for k, v in weights.items()}
    if config["model_type"] == "longcat_flash":  # gates of experts without weights are not read
        own = config["n_routed_experts"]
        return {k: torch.zeros_like(v) if (n := re.search(r"experts\.(\d+)\.", k)) and int(n[1]) >= own else v for k, v in weights.items()}
    if config["model_type"] == "hy_v4":  # gates of layers have the name of those of attention
        return {re.sub(r"(mlp\.(shared_experts\.)?)linear_gate", r"\1gate_proj", k): v for k, v in weights.items()}
    if config["model_type"] == "minimax":  # decays follow from heads and layers, and are not learned
        return {k: v for k, v in weights.items() if not k.endswith(("slope_rate", "_decay"))}
    if config["model_type"] != "olmo_hybrid":
        return weights
    # norms of all layers have the name of those of linear ones, and convolutions of a layer are cut into equal thirds
    keys, values = (config[f"linear_num_{n}_heads"] * config[f"linear_{n}_head_dim"] for n in ("key", "value"))
    for i, kind in enumerate(config["layer_types"]):
        layer = f"model.layers.{i}."
        if kind == "full_attention":
            weights[layer + "post_attention_layernorm.weight"] = weights.pop(layer + "feedforward_layer_norm.weight")
            continue
        names = [f"{layer}linear_attn.{n}_conv1d.weight" for n in "qkv"]
        weights |= dict(zip(names, torch.cat([weights[n] for n in names]).split([keys, keys, values])))
    return weights


def export(work, folder, to, *words):
    run(work, *words)
    before, after = load_file(folder / "model.safetensors"), load_file(to / "model.safetensors")
    before = published(before, json.loads((folder / "config.json").read_text()))
    assert before.keys() == after.keys(), before.keys() ^ after.keys()
    return all(torch.equal(before[k], after[k]) for k in before)


def check(name, work, seed):
    kind, options = FAMILIES[(PACKED | AHEAD | TERNARY).get(name, (name,))[0]]
    depth = AHEAD[name][1] if name in AHEAD else 0
    near = 1e-4 if "drawn by" in name else 2e-5  # in float32 some that are drawn are farther from float64 than that, on both sides
    options = options | ({"num_hidden_layers": 3 + depth} if depth else {})
    ahead = 0.3 if depth else 0
    torch.manual_seed(seed)
    classes = {"CTRL": ("CTRLLMHeadModel", "CTRLConfig"), "GPT2": ("GPT2LMHeadModel", "GPT2Config"), "OpenAIGPT": ("OpenAIGPTLMHeadModel", "OpenAIGPTConfig"), "Gemma3Text": ("Gemma3ForCausalLM", "Gemma3TextConfig"), "Qwen3_5": ("Qwen3_5ForCausalLM", "Qwen3_5TextConfig"),
               "Qwen3_5Moe": ("Qwen3_5MoeForCausalLM", "Qwen3_5MoeTextConfig"), "Llama4Text": ("Llama4ForCausalLM", "Llama4TextConfig"),
               "Gemma4Text": ("Gemma4ForCausalLM", "Gemma4TextConfig"), "Gemma3nText": ("Gemma3nForCausalLM", "Gemma3nTextConfig"), "Gemma4UnifiedText": ("Gemma4UnifiedForCausalLM", "Gemma4UnifiedTextConfig"), "Exaone": ("LlamaForCausalLM", "ExaoneConfig"), "InternLM3": ("LlamaForCausalLM", "InternLM3Config"), "IQuestCoder": ("LlamaForCausalLM", "IQuestCoderConfig"),
               "CohereCompassText": ("CohereCompassForCausalLM", "CohereCompassTextConfig"),
               "SarvamMoE": ("Glm4MoeForCausalLM", "SarvamMoEConfig"), "SarvamMLA": ("DeepseekV3ForCausalLM", "SarvamMLAConfig")}
    of_model, of_config, *of_block = PARTS.get(kind) or classes.get(kind, (kind + "ForCausalLM", kind + "Config"))
    model = getattr(transformers, of_model)(getattr(transformers, of_config)(**options))
    for parameter in model.parameters():  # far from the defaults: norms and biases, too
        parameter.data += torch.randn_like(parameter) * (0.1 if parameter.dim() == 1 else 0.15)
    for buffer_name, buffer in model.named_buffers():  # biases of routers begin with 0, scales of blocks with 1
        if buffer_name.endswith(("e_score_correction_bias", "expert_bias", "layer_scalar")):
            buffer += torch.randn_like(buffer) * 0.15
    folder = work / "theirs"
    model.save_pretrained(folder)
    is_ternary = name in TERNARY
    is_packed = name in PACKED or is_ternary and TERNARY[name][1]["quantization_mode"] == "offline"
    plain = work / "plain" if is_packed else folder
    if name in PACKED:
        pack8(folder, plain, *PACKED[name][1:])
    if is_ternary:
        make_ternary(folder, plain, TERNARY[name][1])
    if depth:
        put_ahead(folder, depth)
    text = [compare(work, folder, near, folder if is_ternary else plain, is_ternary) + (compare_ahead(work, folder, depth) if depth else "")]

    (work / "model.yaml").write_text(MODEL.format(key="model", folder=folder, ahead=ahead))
    assert export(work, plain, work / "same", "convert_gpt2", "model.yaml", "same"), "import and export change bits"

    block = {"CTRL": "EncoderLayer", "GPT2": "GPT2Block", "OpenAIGPT": "Block", "ModernBertDecoder": "ModernBertDecoderLayer", "Exaone": "ExaoneBlock", "GPTNeoX": "GPTNeoXLayer", "GPTNeoXJapanese": "GPTNeoXJapaneseLayer", "GPTJ": "GPTJBlock", "CodeGen": "CodeGenBlock", "GPTBigCode": "GPTBigCodeBlock", "GPTNeo": "GPTNeoBlock", "OlmoHybrid": "OlmoHybridAttentionDecoderLayer", "Mamba2": "Mamba2Block", "Mamba": "MambaBlock", "FalconMamba": "FalconMambaBlock", "Jamba": "JambaAttentionDecoderLayer", "Bloom": "BloomBlock", "Mpt": "MptBlock", "Dbrx": "DbrxBlock", "NemotronH": "NemotronHBlock"}.get(kind, of_block[0] if of_block else kind.replace("Gemma3Text", "Gemma3").replace("CompassText", "Compass") + "DecoderLayer")
    (work / "train.yaml").write_text(TRAIN.format(data=work / "train.pbin", block=block) + MODEL.format(key="model_raw", folder=folder, ahead=ahead))
    run(work, "run", "--config_file_path", "train.yaml", "--experiment_id", "x", "--experiments_root_path", work / "experiments")
    checkpoint = next((work / "experiments/x/checkpoints").glob("eid_*"))
    trained = work / "ours"
    assert not export(work, plain, trained, "convert_pytorch_to_hf_checkpoint", "--config_file_path", "train.yaml", "--checkpoint_path",
                      checkpoint, "--output_hf_checkpoint_dir", trained), "three steps change nothing"
    text.append("after 3 steps " + compare(work, trained, near, ternary=is_ternary) + (compare_ahead(work, trained, depth) if depth else ""))
    print(f"{name}: {'; '.join(text)}", flush=True)


def pack(work):
    """Ids of two bytes each, as one document."""
    ids = torch.randint(0, VOCABULARY, (4000,), generator=torch.Generator().manual_seed(2)).tolist()
    (work / "train.jsonl").write_text(json.dumps({"text": "".join(LETTERS[i] for i in ids)}) + "\n")
    run(work, "data", "create_raw_index", "train.jsonl")
    (work / "pack.yaml").write_text(
        "settings: {src_path: train.jsonl, dst_path: train.pbin, index_path: train.idx, jq_pattern: .text, num_cpus: 1, eod_token: \"~\","
        " processing_batch_size: 1, raw_samples_queue_size: 10, processed_samples_queue_size: 10}\n"
        "tokenizer: {component_key: tokenizer, variant_key: pretrained_hf_tokenizer, config: {pretrained_model_name_or_path: tokenizer.json}}\n")
    run(work, "data", "pack_encoded_data", "pack.yaml")


names = [name for name in ONLY if not name.startswith("random:")]
for span in (name.removeprefix("random:").split("-") for name in ONLY if name.startswith("random:")):
    for seed in range(int(span[0]), int(span[-1]) + 1):
        name, family = drawn(seed)
        FAMILIES[name] = family
        names.append(name)


def passes(name, seed):
    with tempfile.TemporaryDirectory() as folder:
        work = pathlib.Path(folder)
        tokenizer(work)
        pack(work)
        try:
            check(name, work, seed)
        except (ValueError, RuntimeError, StrictDataclassError) as e:  # RuntimeError: its layers do not fit each other
            if "random" not in " ".join(ONLY):
                raise
            print(f"{name}: not a configuration of transformers: {str(e).strip().splitlines()[-1]}", flush=True)
        except AssertionError as e:
            print(f"{name}: FAILED{f' with weights {seed}' if seed else ''}: {e}", flush=True)
            return False
    return True


# Rounding may choose another one of two experts that are as good, which is no fault: a fault is there with all weights.
failed = []
for name in names or [*FAMILIES, *PACKED, *AHEAD, *TERNARY]:
    if not any(passes(name, seed) for seed in range(3)):
        failed.append(name)
        print(FAMILIES.get(name, ("", ""))[1], flush=True)
sys.exit(f"{len(failed)} of the families failed: {', '.join(failed)}" if failed else 0)
