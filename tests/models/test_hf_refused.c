/* test_hf_refused.c - options of config.json that a class does not have, or cannot be, are refused
 * by name; and what options mean where they are told in several ways. */
#include "models/hf/model.h"
#include "models/hf_folder.h"
#include "test.h"
#include <string.h>

TEST(config_json_of_an_unknown_class_is_refused_with_its_new_options)
{
    Arena *a = arena_new();
    hf_refuses(a, "\"model_type\": \"novel\", \"architectures\": [\"NovelLM\"], \"hidden_size\": 8",
               "", "model_type novel (NovelLM) is not known; known are llama, mistral,");
    hf_refuses(a, "\"model_type\": \"novel\", \"use_cache\": true, \"ssm_state\": 8, \"conv\": 4",
               "", "of its options no known class has ssm_state, conv");
    hf_refuses(a, hf_llama, ", \"architectures\": [\"LlamaForSequenceClassification\"]",
               "of model_type llama it is LlamaForCausalLM");
    arena_free(a);
}

TEST(config_json_with_an_unknown_value_is_refused_by_option_and_place)
{
    Arena *a = arena_new();
    hf_refuses(a, hf_llama, ", \"hidden_act\": \"mish\"", "config.json:2:");
    hf_refuses(a, hf_llama, ", \"hidden_act\": \"mish\"",
               "hidden_act: \"mish\" is not known; known are gelu, gelu_python, gelu_new, "
               "gelu_fast, gelu_accurate, gelu_pytorch_tanh, gelu_python_tanh, quick_gelu, silu, "
               "swish, relu, relu2");
    hf_refuses(a, hf_llama, ", \"rope_scaling\": {\"type\": \"ntk\", \"factor\": 2.0}",
               "rope scaling ntk is not known");
    hf_refuses(a,
               "\"model_type\": \"ministral3\", \"hidden_size\": 16, \"intermediate_size\": 12, "
               "\"num_hidden_layers\": 2, \"num_attention_heads\": 4",
               ", \"num_key_value_heads\": 2, \"rope_parameters\": {\"rope_type\": \"default\", "
               "\"llama_4_scaling_beta\": 0.1}",
               "by position needs the number original_max_position_embeddings");
    hf_refuses(a, hf_llama, ", \"rope_scaling\": {\"type\": \"longrope\", \"factor\": 2.0}",
               "longrope needs the number original_max_position_embeddings");
    hf_refuses(a, hf_llama,
               ", \"rope_scaling\": {\"type\": \"longrope\", \"short_factor\": [1.0, 2.0], "
               "\"long_factor\": [1.0], \"original_max_position_embeddings\": 8}",
               "longrope needs a list long_factor of 2 numbers above 0");
    hf_refuses(a, hf_llama, ", \"rope_scaling\": {\"type\": \"linear\"}",
               "linear needs the number factor");
    hf_refuses(a, hf_llama, ", \"layer_types\": [\"linear_attention\", \"full_attention\"]",
               "each layer is of type");
    hf_refuses(
        a, hf_llama,
        ", \"rope_parameters\": {\"rope_type\": \"default\", \"partial_rotary_factor\": 0.5}",
        "partial_rotary_factor 0.5 of a head of 4 is not known; whole heads turn in this class");
    hf_refuses(a, hf_llama, ", \"clip_qkv\": 8.0", "clip_qkv: 8.0 is not known; only null is");
    hf_refuses(a,
               "\"model_type\": \"smollm3\", \"vocab_size\": 16, \"hidden_size\": 8, "
               "\"intermediate_size\": 12, \"num_hidden_layers\": 2, \"num_attention_heads\": 2",
               ", \"no_rope_layers\": [1]", "it must have a number for each layer");
    hf_refuses(a, hf_llama, ", \"num_key_value_heads\": 3", "num_key_value_heads: 3 is not known");
    hf_refuses(a, "\"model_type\": \"llama\", \"vocab_size\": 16, \"hidden_size\": \"wide\"", "",
               "hidden_size");
    arena_free(a);
}

TEST(state_spaces_that_cannot_be_are_refused_by_option)
{
    static const struct {
        const char *more, *part;
    } row[] = {
        { ", \"mamba_d_head\": 3", "mamba_d_head: 3 is not known; times mamba_n_heads it must be" },
        { ", \"mamba_d_head\": 4, \"mamba_n_groups\": 3", "it must divide mamba_n_heads" },
        { ", \"mamba_d_conv\": 1", "a convolution sees at least 2 tokens" },
        { ", \"hidden_act\": \"gelu\"", "hidden_act: \"gelu\" is not known; only silu is" },
        { ", \"time_step_limit\": [0.5, 0.1]", "known are a smallest step and a larger one" },
        { ", \"time_step_limit\": [0.0, 0.0]", "known are a smallest step and a larger one" },
        { ", \"layer_types\": [\"mamba\", \"sliding_attention\"]",
          "each layer is of type attention or mamba" },
        { ", \"num_experts_per_tok\": 0", "a token needs an expert" },
    };
    static const char members[] =
        "\"model_type\": \"granitemoehybrid\", \"vocab_size\": 16, \"hidden_size\": 8, "
        "\"intermediate_size\": 12, \"num_hidden_layers\": 2, \"num_attention_heads\": 2, "
        "\"mamba_n_heads\": 4, \"num_local_experts\": 4";
    Arena *a = arena_new();
    for (size_t i = 0; i < sizeof row / sizeof *row; i++)
        hf_refuses(a, members, row[i].more, row[i].part);
    hf_refuses(a,
               "\"model_type\": \"bamba\", \"vocab_size\": 16, \"hidden_size\": 16, "
               "\"intermediate_size\": 12, \"num_hidden_layers\": 2, \"num_attention_heads\": 2, "
               "\"num_key_value_heads\": 2, \"mamba_n_heads\": 4",
               ", \"partial_rotary_factor\": 1.0",
               "partial_rotary_factor: 1.0 is not known; only 0.5 is");
    arena_free(a);
}

static const char hf_lfm2[] =
    "\"model_type\": \"lfm2\", \"vocab_size\": 16, \"hidden_size\": 8, \"intermediate_size\": 30, "
    "\"num_hidden_layers\": 2, \"num_attention_heads\": 2, \"num_key_value_heads\": 1";

TEST(blocks_of_one_layer_that_cannot_be_are_refused_by_option)
{
    static const struct {
        const char *more, *part;
    } row[] = {
        { "\"layers_block_type\": [\"mlp\", \"conv\"]",
          "each block is linear_attention, full_attention, mlp or moe" },
        { "\"hybrid_override_pattern\": \"M-X\"", "each letter is one of M, E, * and -" },
        { "\"hybrid_override_pattern\": \"\"", "each letter is one of M, E, * and -" },
        { "\"hybrid_override_pattern\": \"M-\", \"moe_latent_size\": 0", "moe_latent_size" },
        { "\"hybrid_override_pattern\": \"ME\", \"mlp_bias\": true",
          "mlp_bias: true is not known; only false is beside mixtures" },
        { "\"hybrid_override_pattern\": \"M-\", \"tie_word_embeddings\": true",
          "tie_word_embeddings: true is not known; only false is" },
        { "\"hybrid_override_pattern\": \"M-\", \"mamba_hidden_act\": \"gelu\"",
          "mamba_hidden_act: \"gelu\" is not known; only silu is" },
        { "\"hybrid_override_pattern\": \"M-\", \"mlp_hidden_act\": \"mish\"",
          "mlp_hidden_act: \"mish\" is not known" },
        { "\"hybrid_override_pattern\": \"M-\", \"n_groups\": 3",
          "it must divide mamba_num_heads" },
        { "\"hybrid_override_pattern\": \"M-\", \"conv_kernel\": 1",
          "a convolution sees at least 2 tokens" },
        { "\"hybrid_override_pattern\": \"E-\", \"n_routed_experts\": 4, "
          "\"n_shared_experts\": 1, \"num_experts_per_tok\": 2, \"moe_intermediate_size\": 6",
          "moe_shared_expert_intermediate_size is missing; the class needs it" },
    };
    static const char sizes[] = "\"vocab_size\": 16, \"hidden_size\": 8, ";
    Arena *a = arena_new();
    for (size_t i = 0; i < sizeof row / sizeof *row; i++)
        hf_refuses(a, "\"model_type\": \"nemotron_h\", \"intermediate_size\": 12, ",
                   arena_printf(a, "%s%s", sizes, row[i].more), row[i].part);
    hf_refuses(a, "\"model_type\": \"mamba2\", ",
               arena_printf(a, "%s\"num_hidden_layers\": 2, \"num_heads\": 4", sizes),
               "head_dim is missing; times num_heads it must be expand times hidden_size");
    hf_refuses(a, "\"model_type\": \"mamba2\", ", arena_printf(a, "%s\"num_heads\": 4", sizes),
               "num_hidden_layers is missing; it is needed");
    arena_free(a);
}

TEST(state_spaces_beside_attention_that_cannot_be_are_refused_by_option)
{
    static const struct {
        const char *more, *part;
    } row[] = {
        { ", \"mamba_d_head\": 3", "mamba_d_head: 3 is not known; times mamba_n_heads it must be "
                                   "mamba_d_ssm" },
        { ", \"projectors_bias\": true", "projectors_bias: true is not known; it must be as" },
        { ", \"mamba_proj_bias\": true", "projectors_bias is missing; it must be as" },
        { ", \"mlp_multipliers\": [1.0, 0.0]", "only numbers above 0 are" },
        { ", \"ssm_multipliers\": [1.0]", "ssm_multipliers" },
        { ", \"key_multiplier\": 0.0", "key_multiplier" },
    };
    static const char members[] =
        "\"model_type\": \"falcon_h1\", \"vocab_size\": 16, \"hidden_size\": 8, "
        "\"intermediate_size\": 12, \"num_hidden_layers\": 2, \"num_attention_heads\": 2, "
        "\"num_key_value_heads\": 1, \"mamba_n_heads\": 4, \"mamba_d_ssm\": 24";
    Arena *a = arena_new();
    for (size_t i = 0; i < sizeof row / sizeof *row; i++)
        hf_refuses(a, members, row[i].more, row[i].part);
    arena_free(a);
}

TEST(selective_state_spaces_that_cannot_be_are_refused_by_option)
{
    static const struct {
        const char *class, *more, *part;
    } row[] = {
        { "mamba", "\"conv_kernel\": 1",
          "conv_kernel: 1 is not known; a convolution sees at least" },
        { "mamba", "\"time_step_rank\": \"all\"",
          "time_step_rank: \"all\" is not known; it must be a number above 0, or auto" },
        { "mamba", "\"hidden_act\": \"gelu\"", "hidden_act: \"gelu\" is not known; only silu is" },
        { "mamba", "\"expand\": 65536, \"hidden_size\": 65536",
          "expand: 65536 is not known; times hidden_size it must be at most" },
        { "falcon_mamba", "\"mixer_rms_eps\": 0.0", "mixer_rms_eps" },
        { "falcon_mamba", "\"time_step_rank\": 0", "time_step_rank: 0 is not known" },
        { "jamba", "\"mamba_dt_rank\": null", "mamba_dt_rank: null is not known" },
        { "jamba", "\"hidden_act\": \"relu\"", "hidden_act: \"relu\" is not known; only silu is" },
        { "jamba", "\"attn_layer_period\": 4",
          "attn_layer_offset is missing; it must be below attn_layer_period" },
        { "jamba", "\"expert_layer_offset\": 3",
          "expert_layer_offset: 3 is not known; it must be below expert_layer_period" },
        { "jamba", "\"head_dim\": 8", "head_dim: 8 is not known; the class has hidden_size" },
    };
    Arena *a = arena_new();
    for (size_t i = 0; i < sizeof row / sizeof *row; i++)
        hf_refuses(a,
                   arena_printf(a,
                                "\"model_type\": \"%s\", \"vocab_size\": 16, "
                                "\"num_hidden_layers\": 2, \"num_attention_heads\": 2, "
                                "\"num_key_value_heads\": 1%s, ",
                                row[i].class,
                                strcmp(row[i].class, "jamba") ? "" : ", \"intermediate_size\": 12"),
                   arena_printf(a, "%s%s",
                                strstr(row[i].more, "hidden_size") ? "" : "\"hidden_size\": 8, ",
                                row[i].more),
                   row[i].part);
    arena_free(a);
}

TEST(what_deepseek_v4_cannot_be_is_refused_by_option)
{
    static const char base[] =
        "\"model_type\": \"deepseek_v4\", \"vocab_size\": 16, \"hidden_size\": 8, "
        "\"num_hidden_layers\": 2, \"num_attention_heads\": 2, \"head_dim\": 64, ";
    static const struct {
        const char *more, *part;
    } row[] = {
        { "\"num_key_value_heads\": 2", "num_key_value_heads: 2 is not known" },
        { "\"mlp_bias\": true", "mlp_bias: true is not known; only false is" },
        { "\"n_shared_experts\": 2", "n_shared_experts: 2 is not known" },
        { "\"scoring_func\": \"softmax\"", "known are sqrtsoftplus and sigmoid" },
        { "\"hidden_act\": \"gelu\"", "only silu is, which the class bounds" },
        { "\"o_groups\": 3", "it must divide num_attention_heads" },
        { "\"qk_rope_head_dim\": 3", "features turn in pairs" },
        { "\"layer_types\": [\"full_attention\"]",
          "each layer is of type sliding_attention, compressed_sparse_attention" },
        { "\"compress_ratios\": [0, 8]", "each layer has 0, 4 or 128" },
        { "\"compress_rates\": {\"heavily_compressed_attention\": 1}",
          "has a whole number of at least 2" },
        { "\"mlp_layer_types\": [\"dense\"]", "each layer is hash_moe or moe" },
        { "\"compress_ratios\": [4, 4], \"index_head_dim\": 1", "not below what turns of a head" },
        { "\"sliding_window\": null", "only positive integers are" },
    };
    Arena *a = arena_new();
    for (size_t i = 0; i < sizeof row / sizeof *row; i++)
        hf_refuses(a, base,
                   arena_printf(a, "%s%s",
                                strstr(row[i].more, "o_groups") ? "" : "\"o_groups\": 2, ",
                                row[i].more),
                   row[i].part);
    arena_free(a);
}

TEST(short_convolutions_that_cannot_be_are_refused_by_option)
{
    static const struct {
        const char *more, *part;
    } row[] = {
        { ", \"layer_types\": [\"conv\", \"sliding_attention\"]",
          "each layer is of type full_attention or conv" },
        { ", \"conv_L_cache\": 1", "a convolution sees at least 2 tokens" },
        { ", \"hidden_act\": \"gelu\"", "hidden_act: \"gelu\" is not known; only silu is" },
        { ", \"block_ffn_dim_multiplier\": 1e-9", "no feed-forward layer is of that width" },
    };
    Arena *a = arena_new();
    for (size_t i = 0; i < sizeof row / sizeof *row; i++)
        hf_refuses(a, hf_lfm2, row[i].more, row[i].part);
    arena_free(a);
}

/* Two thirds of 30, times a factor, up to a multiple. */
TEST(widths_beside_short_convolutions_follow_from_the_options_of_their_class)
{
    static const struct {
        const char *more;
        int64_t hidden;
    } row[] = { { "", 256 },
                { ", \"block_multiple_of\": 7", 21 },
                { ", \"block_multiple_of\": 7, \"block_ffn_dim_multiplier\": 1.5", 35 },
                { ", \"block_ffn_dim_multiplier\": null", 20 },
                { ", \"block_multiple_of\": 4, \"block_ff_dim\": 60", 40 },
                { ", \"block_auto_adjust_ff_dim\": false", 30 } };
    Arena *a = arena_new();
    for (size_t i = 0; i < sizeof row / sizeof *row; i++)
        assert_int_equal(hf_decoder_with(a, hf_lfm2, row[i].more)->hidden, row[i].hidden);
    assert_true(hf_decoder_with(a, hf_lfm2, "")->is_tied);
    assert_false(hf_decoder_with(a, hf_lfm2, ", \"tie_embedding\": false")->is_tied);
    const Decoder *d = hf_decoder_with(a, hf_lfm2, ", \"full_attn_idxs\": [1]");
    assert_int_equal(d->layer[0].mixer, MIXER_CONV);
    assert_int_equal(d->layer[1].mixer, MIXER_ATTENTION);
    assert_int_equal(hf_decoder_with(a, hf_lfm2, "")->layer[0].mixer, MIXER_ATTENTION);
    arena_free(a);
}

/* Of Nemotron-H's spellings of the same blocks the one of transformers 5 counts. */
TEST(blocks_of_one_layer_come_by_names_or_by_letters)
{
    static const char *const more[] = {
        ", \"hybrid_override_pattern\": \"M-*-\", \"num_hidden_layers\": 9",
        ", \"layers_block_type\": [\"mamba\", \"mlp\", \"attention\", \"mlp\"], "
        "\"hybrid_override_pattern\": \"MM\"",
        ", \"layers_block_type\": [\"linear_attention\", \"mlp\", \"full_attention\", \"mlp\"]",
    };
    static const Mixer mixer[] = { MIXER_LINEAR, MIXER_NONE, MIXER_ATTENTION, MIXER_NONE };
    Arena *a = arena_new();
    for (int i = 0; i < 3; i++) {
        const Decoder *d = hf_decoder_with(
            a,
            "\"model_type\": \"nemotron_h\", \"vocab_size\": 16, \"hidden_size\": 8, "
            "\"intermediate_size\": 12",
            more[i]);
        assert_int_equal(d->n_layer, 4);
        for (int k = 0; k < 4; k++) {
            assert_int_equal(d->layer[k].mixer, mixer[k]);
            assert_int_equal(d->layer[k].no_ffn, mixer[k] != MIXER_NONE);
        }
    }
    arena_free(a);
}

#define COMPRESSED(weights)                                                                        \
    "\"quant_method\": \"compressed-tensors\", \"format\": \"float-quantized\", "                  \
    "\"config_groups\": {\"group_0\": {\"weights\": {" weights "}}}"

TEST(weights_that_are_packed_otherwise_are_refused_by_their_option)
{
    static const struct {
        const char *options, *error;
    } row[] = {
        { "\"bits\": 4", "quantization_config: quant_method is missing; known are fp8," },
        { "\"quant_method\": \"mxfp4\"", "quant_method: \"mxfp4\" is not known; known are fp8, "
                                         "compressed-tensors of 8 bits, bitnet, "
                                         "and mxfp4 of gpt_oss" },
        { "\"quant_method\": \"fp8\", \"fmt\": \"e5m2\"", "fmt: \"e5m2\" is not known" },
        { "\"quant_method\": \"fp8\", \"activation_scheme\": \"none\"",
          "activation_scheme: \"none\" is not known" },
        { "\"quant_method\": \"fp8\", \"expert_dtype\": \"int4\"",
          "expert_dtype: \"int4\" is not known; known are fp8 and fp4" },
        { "\"quant_method\": \"fp8\"}, \"expert_dtype\": \"int4\", \"x\": {",
          "expert_dtype: \"int4\" is not known; known are fp8 and fp4" },
        { "\"quant_method\": \"fp8\", \"scale_fmt\": \"e5m3\"",
          "scale_fmt: \"e5m3\" is not known; known are float and ue8m0" },
        { "\"quant_method\": \"fp8\", \"weight_block_size\": [128]",
          "weight_block_size: a list of 1 is not known" },
        { "\"quant_method\": \"fp8\", \"weight_block_size\": [0, 128]",
          "weight_block_size: a list of 2 is not known" },
        { "\"quant_method\": \"compressed-tensors\", \"format\": \"pack-quantized\"",
          "format: \"pack-quantized\" is not known; of compressed-tensors only" },
        { COMPRESSED("\"num_bits\": 4, \"type\": \"float\", \"strategy\": \"tensor\""),
          "num_bits: 4 is not known; only 8 are" },
        { COMPRESSED("\"num_bits\": 8, \"type\": \"int\", \"strategy\": \"tensor\""),
          "type: \"int\" is not known; only float is" },
        { COMPRESSED("\"num_bits\": 8, \"type\": \"float\", \"strategy\": \"group\""),
          "strategy: \"group\" is not known; known are tensor, channel and block" },
        { COMPRESSED("\"num_bits\": 8, \"type\": \"float\", \"strategy\": \"block\""),
          "block_structure is missing; known are two sizes above 0" },
        { COMPRESSED("\"num_bits\": 8, \"type\": \"float\", \"strategy\": \"tensor\", "
                     "\"symmetric\": false"),
          "symmetric: false is not known" },
        { COMPRESSED(
              "\"num_bits\": 8, \"type\": \"float\", \"strategy\": \"tensor\"") ", "
                                                                                "\"kv_cache_"
                                                                                "scheme\": "
                                                                                "{\"num_bits\": 8}",
          "kv_cache_scheme: a mapping is not known" },
    };
    Arena *a = arena_new();
    for (size_t i = 0; i < sizeof row / sizeof *row; i++)
        hf_refuses(a, hf_llama, arena_printf(a, ", \"quantization_config\": {%s}", row[i].options),
                   row[i].error);
    arena_free(a);
}

#define LATENT                                                                                     \
    "\"kv_lora_rank\": 4, \"qk_nope_head_dim\": 4, \"qk_rope_head_dim\": 2, \"v_head_dim\": 3, "
#define ROUTED                                                                                     \
    "\"q_lora_rank\": 4, \"n_routed_experts\": 4, \"n_shared_experts\": 1, "                       \
    "\"num_experts_per_tok\": 2, \"moe_intermediate_size\": 4, \"first_k_dense_replace\": 1, "

#define EXPERTS "\"num_experts\": 4, \"num_experts_per_tok\": 2, \"moe_intermediate_size\": 4, "
#define MIMO "\"n_routed_experts\": 4, \"num_experts_per_tok\": 2, \"moe_intermediate_size\": 4, "

#define LONGCAT "\"q_lora_rank\": 4, \"head_dim\": 2, \"n_routed_experts\": 4"
#define KOLIBRI                                                                                    \
    "\"num_experts\": 4, \"num_experts_per_tok\": 2, \"moe_intermediate_size\": 4, "               \
    "\"shared_expert_intermediate_size\": 6, "

#define DBRX "\"attn_config\": {\"clip_qkv\": 8}, \"ffn_config\": "
#define GEMMA4 "\"hidden_size_per_layer_input\": 0, "
#define ERNIE                                                                                      \
    "\"moe_num_experts\": 4, \"moe_k\": 2, \"moe_num_shared_experts\": 1, "                        \
    "\"moe_intermediate_size\": 6"

TEST(what_a_class_does_not_have_is_refused_by_its_own_key)
{
    static const struct {
        const char *type, *more, *error;
    } row[] = {
        { "gpt_neox", "\"rotary_pct\": 0.3",
          "rotary_pct 0.3 of a head of 4 is not known; so many" },
        { "gpt_neox", "\"head_dim\": 8",
          "head_dim: 8 is not known; the class has hidden_size / num_attention_heads" },
        { "gpt_neox_japanese", "\"intermediate_multiple_size\": 1000000000",
          "intermediate_multiple_size: 1000000000 is not known; times hidden_size it must be" },
        { "falcon", "\"hidden_dropout\": 0.1", "hidden_dropout: 0.1 is not known; only 0.0 is" },
        { "falcon", "\"parallel_attn\": false, \"attention_dropout\": 0.1",
          "attention_dropout: 0.1 is not known; where parallel_attn is false only 0.0 is" },
        { "falcon", "\"num_ln_in_parallel_attn\": 2", "without new_decoder_architecture only 1" },
        { "falcon", "\"new_decoder_architecture\": true, \"num_kv_heads\": 3",
          "num_kv_heads: 3 is not known; it must divide num_attention_heads" },
        { "falcon", "\"new_decoder_architecture\": true, \"parallel_attn\": false",
          "parallel_attn: false is not known; with new_decoder_architecture only true is" },
        { "falcon", "\"new_decoder_architecture\": true, \"num_ln_in_parallel_attn\": 3",
          "num_ln_in_parallel_attn: 3 is not known; known are 1 and 2" },
        { "hunyuan_v1_dense", "\"rope_scaling\": {\"type\": \"dynamic\", \"alpha\": 1e200}",
          "alpha 1e+200 makes the base of the frequencies inf; only finite ones" },
        { "hunyuan_v1_moe", "\"num_experts\": 4, \"moe_topk\": [2, 1]",
          "moe_topk: a list of 2 is not known; only the same number in all layers is" },
        { "hunyuan_v1_moe", "\"num_experts\": 4, \"moe_topk\": 2, \"num_shared_expert\": 2",
          "num_shared_expert: 2 is not known; only 1 is" },
        { "hunyuan_v1_moe",
          "\"num_experts\": 4, \"moe_topk\": 2, \"moe_intermediate_size\": [6, 6]",
          "moe_intermediate_size: a list of 2 is not known; it must equal intermediate_size" },
        { "hunyuan_v1_moe", "\"num_experts\": 4", "moe_topk is missing; a token needs an expert" },
        { "gemma3n_text", "\"altup_active_idx\": 4, \"num_kv_shared_layers\": 0",
          "altup_active_idx: 4 is not known; it must be below altup_num_inputs" },
        { "gemma3n_text", "\"altup_correct_scale\": false, \"num_kv_shared_layers\": 0",
          "altup_correct_scale: false is not known; only true is" },
        { "gemma3n_text", "\"final_logit_softcapping\": null, \"num_kv_shared_layers\": 0",
          "final_logit_softcapping: null is not known; the class needs a number" },
        { "gemma3n_text", "\"laurel_rank\": 3",
          "num_kv_shared_layers is missing; it leaves no layer" },
        { "gemma3n_text",
          "\"num_kv_shared_layers\": 1, \"layer_types\": [\"sliding_attention\", "
          "\"full_attention\"]",
          "num_kv_shared_layers: 1 is not known; each type of layer needs one" },
        { "gemma3n_text",
          "\"num_kv_shared_layers\": 0, \"activation_sparsity_pattern\": [0.5, 1.0]",
          "activation_sparsity_pattern: a list of 2 is not known; each is a number below 1" },
        { "gemma3n_text", "\"num_kv_shared_layers\": 0, \"activation_sparsity_pattern\": [0.5]",
          "activation_sparsity_pattern: a list of 1 is not known; it must have a number" },
        { "gemma3n_text", "\"num_kv_shared_layers\": 0, \"sliding_window\": null",
          "sliding_window: null is not known" },
        { "recurrent_gemma", "\"lru_width\": 9",
          "lru_width: 9 is not known; it must be a multiple of num_attention_heads" },
        { "recurrent_gemma", "\"conv1d_width\": 1",
          "conv1d_width: 1 is not known; a convolution sees at least 2 tokens" },
        { "recurrent_gemma", "\"logits_soft_cap\": 0.0", "logits_soft_cap" },
        { "recurrent_gemma", "\"intermediate_size\": 1",
          "intermediate_size: 1 is not known; half of it is the width" },
        { "recurrent_gemma", "\"block_types\": [\"recurrent\", \"mlp\"]",
          "block_types: a list of 2 is not known; each is recurrent or attention" },
        { "recurrent_gemma", "\"num_hidden_layers\": 101, \"block_types\": [\"recurrent\"]",
          "block_types: a list of 1 is not known; the class repeats it 100 times" },
        { "recurrent_gemma", "\"attention_window_size\": null",
          "attention_window_size: null is not known; only positive integers are" },
        { "recurrent_gemma", "\"rope_scaling\": {\"type\": \"linear\", \"factor\": 2.0}",
          "the class has rope_type default alone" },
        { "recurrent_gemma", "\"head_dim\": 6",
          "head_dim: 6 is not known; the class has hidden_size / num_attention_heads" },
        { "gemma4_text", "\"vocab_size_per_layer_input\": 3",
          "vocab_size_per_layer_input: 3 is not known; each of vocab_size needs a row" },
        { "gemma4_text", GEMMA4 "\"num_kv_shared_layers\": 2",
          "num_kv_shared_layers: 2 is not known; it leaves no layer that makes keys" },
        { "gemma4_text",
          GEMMA4 "\"num_kv_shared_layers\": 1, \"layer_types\": [\"sliding_attention\", "
                 "\"full_attention\"]",
          "num_kv_shared_layers: 1 is not known; each type of layer needs one that makes keys" },
        { "gemma4_text",
          GEMMA4 "\"num_kv_shared_layers\": 1, \"layer_types\": [\"full_attention\", "
                 "\"full_attention\"], \"per_layer_config\": {\"1\": "
                 "{\"num_key_value_heads\": 1}}",
          "layers that share keys have as many of them" },
        { "gemma4_text", GEMMA4 "\"use_bidirectional_attention\": \"all\"",
          "use_bidirectional_attention: \"all\" is not known; known are null and vision" },
        { "gemma4_text", GEMMA4 "\"sliding_window\": null", "sliding_window: null is not known" },
        { "gemma4_text", GEMMA4 "\"global_head_dim\": 5",
          "global_head_dim: 5 is not known; features turn in pairs" },
        { "gemma4_text", GEMMA4 "\"attention_k_eq_v\": true, \"num_global_key_value_heads\": 3",
          "num_global_key_value_heads: 3 is not known; key heads must divide" },
        { "gemma4_text", GEMMA4 "\"per_layer_config\": {\"0\": {\"hidden_size\": 8}}",
          "layers have a head_dim and num_key_value_heads of their own" },
        { "gemma4_text",
          GEMMA4 "\"layer_types\": [\"full_attention\", \"full_attention\"], "
                 "\"per_layer_config\": {\"0\": {\"head_dim\": 16}}",
          "layers of one type have the same head_dim" },
        { "gemma4_text",
          GEMMA4 "\"rope_parameters\": {\"sliding_attention\": {\"rope_type\": \"default\"}}",
          "rope_parameters: each type of layer needs its own" },
        { "gemma4_text",
          GEMMA4 "\"rope_parameters\": {\"full_attention\": {\"rope_type\": \"yarn\"}, "
                 "\"sliding_attention\": {}}",
          "rope_type: known are default and proportional" },
        { "gemma4_text",
          GEMMA4 "\"rope_parameters\": {\"full_attention\": {\"rope_type\": \"proportional\", "
                 "\"partial_rotary_factor\": 0.001}, \"sliding_attention\": {}}",
          "partial_rotary_factor must leave what turns" },
        { "gemma4_text",
          GEMMA4 "\"rope_parameters\": {\"full_attention\": {\"rope_type\": \"proportional\", "
                 "\"factor\": 0}, \"sliding_attention\": {}}",
          "factor must be above 0" },
        { "gemma4_text", GEMMA4 "\"enable_moe_block\": true",
          "num_experts is missing; a mixture of experts needs it" },
        { "gemma4_text", GEMMA4 "\"enable_moe_block\": true, \"num_experts\": 4",
          "top_k_experts is missing; a token needs an expert" },
        { "gemma4_text",
          GEMMA4 "\"enable_moe_block\": true, \"num_experts\": 4, \"top_k_experts\": 2",
          "moe_intermediate_size is missing; a mixture of experts needs one number" },
        { "gemma4_text",
          GEMMA4 "\"enable_moe_block\": true, \"num_experts\": 4, \"top_k_experts\": 5, "
                 "\"moe_intermediate_size\": 8",
          "it is more than there are experts" },
        { "gemma4_unified_text", "\"use_bidirectional_attention\": \"all\"",
          "use_bidirectional_attention: \"all\" is not known; known are null and vision" },
        { "mistral4", LATENT "\"rope_parameters\": {\"rope_type\": \"default\"}",
          "rope_type must name a scaling, such as yarn" },
        { "mistral4",
          LATENT "\"rope_parameters\": {\"rope_type\": \"yarn\", \"factor\": 4.0, "
                 "\"partial_rotary_factor\": 0.25}",
          "partial_rotary_factor must be the share of qk_rope_head_dim" },
        { "mistral4", LATENT "\"n_group\": 2", "it must equal n_group: all experts are chosen" },
        { "mistral4", LATENT "\"scoring_func\": \"sigmoid\"",
          "scoring_func: \"sigmoid\" is not known; only softmax is" },
        { "modernbert-decoder", "\"attention_dropout\": 0.1",
          "only 0.0 is: it is behind attention, too" },
        { "modernbert-decoder", "\"mlp_dropout\": 0.1",
          "only 0.0 is: it is within feed-forward layers" },
        { "modernbert-decoder", "\"rope_parameters\": 3", "allowed are null and an object" },
        { "modernbert-decoder", "\"rope_parameters\": {\"full_attention\": 3}",
          "rope_parameters: full_attention needs an object" },
        { "modernbert-decoder", "\"local_attention\": null", "only integers from 2 on are" },
        { "modernbert-decoder", "\"global_attn_every_n_layers\": \"a\"",
          "global_attn_every_n_layers" },
        { "modernbert-decoder", "\"classifier_activation\": \"xielu\"",
          "classifier_activation: \"xielu\" is not known; known are gelu" },
        { "openai-gpt", "\"afn\": \"relu2\"",
          "afn: \"relu2\" is not known; known are gelu, relu, silu and swish" },
        { "aria_text", "\"hidden_act\": \"gelu\"", "only silu is: experts always have it" },
        { "aria_text", "\"mlp_bias\": true", "shared experts have no biases" },
        { "aria_text", "\"moe_num_experts\": 2, \"moe_topk\": 3",
          "it is more than there are experts" },
        { "dbrx", "\"attn_config\": 3", "attn_config: 3 is not known; it is an object" },
        { "dbrx", "\"attn_config\": {}", "clip_qkv is missing; the class needs a number" },
        { "dbrx", "\"emb_pdrop\": 0.1", "emb_pdrop: 0.1 is not known; only 0.0 is" },
        { "dbrx", "\"tie_word_embeddings\": true, " DBRX "{}", "tie_word_embeddings: true is not" },
        { "dbrx", DBRX "{\"moe_jitter_eps\": 0.1}", "moe_jitter_eps: 0.1 is not known" },
        { "dbrx", DBRX "{\"moe_normalize_expert_weights\": 2.0}",
          "moe_normalize_expert_weights: 2.0 is not known; known are 1.0 and null" },
        { "dbrx", DBRX "{\"ffn_act_fn\": {\"name\": \"silu\", \"beta\": 2}}",
          "known are objects with a name alone" },
        { "dbrx", DBRX "{\"moe_top_k\": 5}", "it is more than there are experts" },
        { "cohere2_moe", "\"num_experts\": 4, \"expert_selection_fn\": \"argmax\"",
          "expert_selection_fn: \"argmax\" is not known; known are softmax and sigmoid" },
        { "cohere2_moe", "\"num_experts\": 4, \"shared_expert_combination_strategy\": \"most\"",
          "shared_expert_combination_strategy: \"most\" is not known; known are average and sum" },
        { "cohere2_moe", "\"num_experts\": 4, \"mlp_layer_types\": [\"sparse\", \"linear\"]",
          "each layer is dense or sparse" },
        { "axk1", LATENT ROUTED "\"topk_group\": 2, \"q_lora_rank\": null",
          "q_lora_rank: null is not known; the class always has such a vector" },
        { "axk1", LATENT ROUTED "\"rope_interleave\": null",
          "rope_interleave: null is not known; only true is" },
        { "axk1", LATENT ROUTED "\"norm_topk_prob\": null",
          "norm_topk_prob: null is not known; allowed are true and false" },
        { "axk1", LATENT ROUTED "\"moe_layer_freq\": 2", "moe_layer_freq: 2 is not known" },
        { "axk1", LATENT ROUTED "\"hidden_act\": \"silu\"",
          "n_group is missing; groups must be of equal size" },
        { "flint", EXPERTS "\"hidden_act\": \"silu\"",
          "shared_expert_intermediate_size is missing; the class needs it" },
        { "flint", EXPERTS "\"shared_expert_intermediate_size\": 4, \"sliding_window\": null",
          "sliding_window: null is not known; only positive integers are" },
        { "flint", "\"num_experts\": 4, \"shared_expert_intermediate_size\": 4",
          "moe_intermediate_size is missing; a mixture of experts needs it" },
        { "flint", EXPERTS "\"scoring_func\": \"softmax\"",
          "scoring_func: \"softmax\" is not known; only sigmoid is" },
        { "laguna", EXPERTS "\"gating\": false",
          "gating: false is not known; known are true, per-head and per-element" },
        { "laguna", EXPERTS "\"gating\": \"per-layer\"", "gating: \"per-layer\" is not known" },
        { "laguna", EXPERTS "\"moe_apply_router_weight_on_input\": true",
          "moe_apply_router_weight_on_input: true is not known; only false is: the class weighs" },
        { "laguna", EXPERTS "\"num_attention_heads_per_layer\": [4]",
          "it must have a number for each layer" },
        { "laguna", EXPERTS "\"num_attention_heads_per_layer\": [4, 3]",
          "num_key_value_heads must divide each of them" },
        { "laguna",
          EXPERTS "\"layer_types\": [\"full_attention\", \"sliding_attention\"], "
                  "\"rope_parameters\": {\"full_attention\": {\"rope_theta\": 100.0}}",
          "each type of layer needs an object in it" },
        { "hy_v3", EXPERTS "\"hidden_act\": \"silu\"",
          "num_shared_experts is missing; the class needs it" },
        { "hy_v3", EXPERTS "\"num_shared_experts\": 0",
          "num_shared_experts: 0 is not known; only numbers from 1 on are" },
        { "hy_v3", EXPERTS "\"num_shared_experts\": 1, \"mlp_bias\": true",
          "mlp_bias: true is not known; only false is" },
        { "hy_v3", EXPERTS "\"num_shared_experts\": 1, \"topk_group\": 2",
          "topk_group: 2 is not known; it must equal n_group" },
        { "hy_v3", EXPERTS "\"num_shared_experts\": 1, \"mlp_layer_types\": [\"sparse\"]",
          "each layer is dense or sparse" },
        { "mimo_v2_flash", MIMO "\"num_key_value_heads\": 2, \"head_dim\": 6",
          "num_key_value_heads: 2 is not known; twice of it, as layers with a window have, must" },
        { "mimo_v2_flash", MIMO "\"head_dim\": 6, \"moe_layer_freq\": [0, 2]",
          "moe_layer_freq: a list of 2 is not known; it is a list of 0 or 1 for each layer" },
        { "mimo_v2_flash", MIMO "\"head_dim\": 6, \"hybrid_layer_pattern\": [0]",
          "hybrid_layer_pattern: a list of 1 is not known; it is a list of 0 or 1 for each layer" },
        { "mimo_v2_flash", MIMO "\"head_dim\": 6, \"sliding_window\": null",
          "sliding_window: null is not known; only positive integers are" },
        { "mimo_v2_flash", MIMO "\"head_dim\": 6, \"attention_value_scale\": -1.0",
          "attention_value_scale" },
        { "mimo_v2_flash", MIMO "\"head_dim\": 10", "partial_rotary_factor 0.334 of a head of 10" },
        { "mimo_v2_flash", MIMO "\"head_dim\": 6, \"rope_parameters\": {\"rope_theta\": 500.0}",
          "each type of layer needs an object in it" },
        { "mimo_v2_flash",
          MIMO "\"head_dim\": 6, \"rope_parameters\": {\"full_attention\": {\"rope_type\": "
               "\"default\"}}",
          "full_attention needs an object with a rope_theta above 0" },
        { "sarvam_moe", ROUTED "\"score_function\": \"softmax\"",
          "score_function: \"softmax\" is not known; only sigmoid is" },
        { "sarvam_moe", ROUTED "\"moe_router_enable_expert_bias\": false",
          "moe_router_enable_expert_bias: false is not known; only true is" },
        { "sarvam_moe", ROUTED "\"use_bias\": true", "use_bias: true is not known; only false is" },
        { "sarvam_moe", ROUTED "\"output_dropout\": 0.1", "output_dropout: 0.1 is not known" },
        { "sarvam_moe", EXPERTS "\"first_k_dense_replace\": 1",
          "n_shared_experts is missing; the class needs it" },
        { "sarvam_mla", LATENT ROUTED "\"embedding_dropout\": 0.1",
          "embedding_dropout: 0.1 is not known; only 0.0 is" },
        { "sarvam_mla", LATENT ROUTED "\"rope_interleave\": false",
          "rope_interleave: false is not known; only true is" },
        { "lfm3", "\"layer_types\": [\"conv\", \"chunked_attention\"]",
          "each layer is of type full_attention, sliding_attention or conv" },
        { "lfm3", "\"layer_types\": [\"conv\"]", "each layer is of type full_attention, sliding" },
        { "lfm3", "\"sliding_window\": null",
          "sliding_window: null is not known; only positive integers are" },
        { "lfm3",
          "\"layer_types\": [\"conv\", \"full_attention\"], \"rope_parameters\": "
          "{\"sliding_attention\": {\"rope_theta\": 5.0}}",
          "rope_parameters: each type of layer needs its own" },
        { "lfm3",
          "\"layer_types\": [\"conv\", \"full_attention\"], \"rope_parameters\": "
          "{\"full_attention\": {\"rope_type\": \"yarn\"}}",
          "rope_type: known are default and proportional" },
        { "lfm3",
          "\"layer_types\": [\"conv\", \"full_attention\"], \"rope_parameters\": "
          "{\"full_attention\": {\"rope_theta\": -1.0}}",
          "rope_theta must be above 0" },
        { "kolibri1", KOLIBRI "\"sliding_window\": 0",
          "sliding_window: 0 is not known; only positive integers are" },
        { "kolibri1", KOLIBRI "\"sliding_window\": null",
          "sliding_window: null is not known; only positive integers are" },
        { "kolibri1",
          "\"num_experts\": 4, \"num_experts_per_tok\": 2, \"moe_intermediate_size\": 4",
          "shared_expert_intermediate_size is missing; the class needs it" },
        { "kolibri1", KOLIBRI "\"partial_rotary_factor\": 0.5", "whole heads turn in this class" },
        { "kolibri1", KOLIBRI "\"layer_types\": [\"chunked_attention\"]",
          "each layer is of type full_attention or sliding_attention" },
        { "kimi_linear", LATENT "\"mla_use_nope\": false",
          "mla_use_nope: false is not known; only true is" },
        { "kimi_linear", LATENT "\"moe_router_activation_func\": \"softmax\"",
          "moe_router_activation_func: \"softmax\" is not known; only sigmoid is" },
        { "kimi_linear", LATENT "\"num_expert_group\": 2, \"use_grouped_topk\": false",
          "use_grouped_topk: false is not known; only true is" },
        { "kimi_linear",
          LATENT "\"num_expert_group\": 3, \"num_experts\": 4, "
                 "\"num_experts_per_token\": 2",
          "num_expert_group: 3 is not known; groups must be of equal size" },
        { "kimi_linear", LATENT "\"num_experts\": 4, \"num_experts_per_token\": 5",
          "it is more than there are experts" },
        { "kimi_linear", LATENT "\"moe_layer_freq\": 2", "moe_layer_freq: 2 is not known" },
        { "kimi_linear", LATENT "\"tie_word_embeddings\": true",
          "tie_word_embeddings: true is not known" },
        { "kimi_linear", LATENT "\"linear_attn_config\": 3",
          "linear_attn_config: 3 is not known; it is an object" },
        { "kimi_linear", LATENT "\"linear_attn_config\": {\"num_heads\": 0}",
          "linear_attn_config.num_heads: 0 is not known; allowed are whole numbers" },
        { "kimi_linear", LATENT "\"linear_attn_config\": {\"short_conv_kernel_size\": 1}",
          "linear_conv_kernel_dim: 1 is not known; a convolution sees at least 2 tokens" },
        { "kimi_linear", LATENT "\"linear_attn_config\": {\"kda_layers\": [1]}",
          "full_attn_layers and kda_layers list each layer once, from 1 on" },
        { "kimi_linear",
          LATENT "\"linear_attn_config\": {\"kda_layers\": [1, 2], \"full_attn_layers\": [2]}",
          "full_attn_layers and kda_layers list each layer once, from 1 on" },
        { "kimi_linear", LATENT "\"layer_types\": [\"linear_attention\", \"sliding_attention\"]",
          "each layer is of type full_attention or linear_attention" },
        { "bailing_hybrid", LATENT "\"kda_lower_bound\": 0.0",
          "kda_lower_bound: 0.0 is not known; only numbers below 0 are" },
        { "bailing_hybrid", LATENT "\"num_expert_group\": 3, \"num_experts\": 8",
          "num_expert_group: 3 is not known; groups must be of equal size" },
        { "bailing_hybrid", LATENT "\"short_conv_kernel_size\": 1",
          "a convolution sees at least 2 tokens" },
        { "bailing_hybrid", LATENT "\"tie_word_embeddings\": true",
          "tie_word_embeddings: true is not known" },
        { "bailing_hybrid", LATENT "\"hidden_act\": \"gelu\"", "only silu is" },
        { "bailing_hybrid", LATENT "\"layer_types\": [\"linear_attention\", \"sliding_attention\"]",
          "each layer is of type full_attention or linear_attention" },
        { "olmo_hybrid", "\"layer_types\": [\"linear_attention\", \"linear_attention\"]",
          "the class needs layers of both types" },
        { "olmo_hybrid", "\"layer_types\": [\"full_attention\", \"full_attention\"]",
          "the class needs layers of both types" },
        { "olmo_hybrid", "\"layer_types\": [\"linear_attention\", \"sliding_attention\"]",
          "each layer is of type full_attention or linear_attention" },
        { "olmo_hybrid", "\"hidden_act\": \"gelu\"",
          "hidden_act: \"gelu\" is not known; only silu is, of queries, keys and values" },
        { "olmo_hybrid", "\"linear_num_key_heads\": 20",
          "linear_num_key_heads: 20 is not known; it leaves no width to heads" },
        { "olmo_hybrid", "\"linear_num_key_heads\": 2, \"linear_num_value_heads\": 3",
          "linear_num_value_heads: 3 is not known; it must be a multiple of the key heads" },
        { "olmo_hybrid", "\"linear_conv_kernel_dim\": 1", "a convolution sees at least 2 tokens" },
        { "olmo_hybrid", "\"rope_parameters\": {\"full_attention\": {\"rope_theta\": 10.0}}",
          "known is one rope, of all layers with attention" },
        { "longcat_flash", LATENT LONGCAT ", \"zero_expert_type\": \"copy\"",
          "zero_expert_type: \"copy\" is not known; only identity is" },
        { "longcat_flash", LATENT LONGCAT ", \"mla_scale_q_lora\": false",
          "mla_scale_q_lora: false is not known; only true is" },
        { "longcat_flash", LATENT LONGCAT ", \"mla_scale_kv_lora\": false",
          "mla_scale_kv_lora: false is not known; only true is" },
        { "longcat_flash", LATENT LONGCAT ", \"router_bias\": true",
          "router_bias: true is not known; only false is" },
        { "longcat_flash", LATENT LONGCAT ", \"norm_topk_prob\": true",
          "norm_topk_prob: true is not known; only false is" },
        { "longcat_flash", LATENT LONGCAT ", \"qk_head_dim\": 4",
          "qk_head_dim: 4 is not known; it must be qk_nope_head_dim + qk_rope_head_dim" },
        { "longcat_flash", LATENT "\"q_lora_rank\": 4",
          "head_dim: 64 is not known; it must equal qk_rope_head_dim" },
        { "longcat_flash", LATENT LONGCAT ", \"q_lora_rank\": null",
          "q_lora_rank: null is not known; the class always has such a vector" },
        { "longcat_flash", LATENT LONGCAT ", \"num_layers\": 2",
          "num_hidden_layers: 2 is not known; it must be twice num_layers" },
        { "longcat_flash", LATENT LONGCAT ", \"num_layers\": null",
          "num_layers: null is not known; it is needed" },
        { "longcat_flash", LATENT LONGCAT ", \"num_hidden_layers\": 3",
          "num_hidden_layers: 3 is not known; it must be twice num_layers" },
        { "longcat_flash", LATENT LONGCAT ", \"moe_topk\": 8, \"zero_expert_num\": null",
          "moe_topk: 8 is not known; it is more than there are experts" },
        { "longcat_flash", LATENT LONGCAT ", \"n_routed_experts\": 0",
          "n_routed_experts: 0; allowed: an integer, at least 1" },
        { "mimo_v2_flash", "\"num_experts_per_tok\": 2",
          "n_routed_experts is missing; the class needs it" },
        { "phimoe", "\"num_local_experts\": 4, \"num_experts_per_tok\": 3",
          "num_experts_per_tok: 3 is not known; only 2 is" },
        { "phimoe",
          "\"num_local_experts\": 4, \"rope_scaling\": {\"rope_type\": \"yarn\", \"factor\": 2.0}",
          "rope scaling yarn is not known; the class has numbers for default and longrope" },
        { "phimoe",
          "\"num_local_experts\": 4, \"rope_scaling\": {\"rope_type\": \"longrope\", \"factor\": "
          "2.0, \"original_max_position_embeddings\": 8}",
          "rope scaling longrope needs the number short_mscale" },
        { "phimoe",
          "\"num_local_experts\": 4, \"rope_scaling\": {\"rope_type\": \"longrope\", \"factor\": "
          "2.0, \"original_max_position_embeddings\": 8, \"short_mscale\": 1.0, \"long_mscale\": "
          "1.5}",
          "long_mscale must be the same number as short_mscale" },
        { "llama4_text", "\"num_local_experts\": 4, \"attn_temperature_tuning\": \"on\"",
          "attn_temperature_tuning: \"on\" is not known; known are true and false" },
        { "llama4_text", "\"num_local_experts\": 4, \"layer_types\": [\"sliding_attention\"]",
          "each layer is of type full_attention or chunked_attention" },
        { "llama4_text",
          "\"num_local_experts\": 4, \"layer_types\": [\"chunked_attention\", "
          "\"full_attention\"], \"attention_chunk_size\": null",
          "attention_chunk_size: null is not known; layers of chunked_attention need it" },
        { "llama4_text", "\"num_local_experts\": 4, \"attention_chunk_size\": -1",
          "attention_chunk_size: -1 is not known; allowed are a positive integer and null" },
        { "llama4_text", "\"num_local_experts\": 4, \"router_jitter_noise\": 0.1",
          "router_jitter_noise: 0.1 is not known; only 0.0 is" },
        { "llama4_text", "\"intermediate_size_mlp\": 20",
          "num_experts is missing; a mixture of experts needs it" },
        { "minimax_m2", "\"num_local_experts\": 4",
          "num_experts_per_tok is missing; a token needs an expert" },
        { "minimax_m2",
          "\"num_local_experts\": 4, \"num_experts_per_tok\": 2, \"scoring_func\": \"softmax\"",
          "scoring_func: \"softmax\" is not known; only sigmoid is" },
        { "minimax", "\"num_local_experts\": 4, \"sliding_window\": 0",
          "sliding_window: 0 is not known; allowed are a positive integer and null" },
        { "minimax", "\"num_local_experts\": 4, \"hidden_act\": \"gelu\"",
          "hidden_act: \"gelu\" is not known; only silu is, of queries, keys and values" },
        { "minimax", "\"num_local_experts\": 4, \"mlp_alpha_factor\": 0", "mlp_alpha_factor" },
        { "minimax", "\"num_local_experts\": 4, \"router_jitter_noise\": 0.1",
          "router_jitter_noise: 0.1 is not known; only 0.0 is" },
        { "minimax", "\"num_local_experts\": 4, \"layer_types\": [\"sliding_attention\"]",
          "each layer is of type full_attention or linear_attention" },
        { "ernie4_5_moe", ERNIE ", \"use_bias\": true",
          "use_bias: true is not known; only false is" },
        { "ernie4_5_moe", ERNIE ", \"moe_norm_min\": 0.1",
          "moe_norm_min: 0.1 is not known; only up to 1e-12 is" },
        { "ernie4_5_moe", "\"moe_num_experts\": 4",
          "moe_num_shared_experts is missing; the class needs it" },
        { "diffllama", "\"attention_dropout\": 0.1",
          "attention_dropout: 0.1 is not known; only 0.0 is: the class has none" },
        { "diffllama", "\"num_attention_heads\": 3, \"num_key_value_heads\": 3, \"head_dim\": 4",
          "num_key_value_heads: 3 is not known; only even numbers are: heads come in pairs" },
        { "exaone", "\"embed_dropout\": 0.1", "embed_dropout: 0.1 is not known; only 0.0 is" },
        { "iquestcoder", "\"clip_qkv\": 8.0", "clip_qkv: 8.0 is not known; only null is" },
        { "iquestcoder", "\"use_sliding_window\": true",
          "use_sliding_window: true is not known; only false is" },
        { "internlm3", "\"qkv_bias\": true",
          "qkv_bias: true is not known; it must be what bias is" },
        { "gpt_neo", "\"attention_types\": [[[\"global\", \"near\"], 1]]",
          "attention_types: a list of 1 is not known; each layer is global or local" },
        { "gpt_neo", "\"attention_types\": [[[\"global\"], 3]]",
          "attention_types: a list of 1 is not known" },
        { "gpt_neo", "\"attention_types\": [[[\"global\"], 1]]",
          "attention_types: a list of 1 is not known" },
        { "gpt_neo", "\"attention_types\": null",
          "num_hidden_layers: 2 is not known; without attention_types only 24 is" },
        { "gpt_neo", "\"window_size\": 0, \"attention_types\": [[[\"local\"], 2]]",
          "window_size: 0 is not known; allowed are a positive integer and null" },
        { "granite_swa", "\"layer_rope_theta\": [0]",
          "layer_rope_theta: a list of 1 is not known; it must have a number for each layer" },
        { "granite_swa", "\"layer_rope_theta\": [0, -1.0]",
          "layer_rope_theta: a list of 2 is not known; each is a number above 0, or 0" },
        { "granite", "\"attention_multiplier\": null",
          "attention_multiplier: null is not known; allowed is a number above 0" },
        { "granitemoehybrid",
          "\"mamba_n_heads\": 4, \"num_local_experts\": 4, \"shared_intermediate_size\": 0",
          "shared_intermediate_size: 0 is not known; the class needs its expert" },
        { "persimmon", "\"hidden_dropout\": 0.1", "hidden_dropout: 0.1 is not known; only 0.0 is" },
        { "mellum", "\"num_experts\": 4, \"num_experts_per_tok\": 2",
          "rope_parameters is missing; the class needs them" },
        { "biogpt", "\"layerdrop\": 0.1", "layerdrop: 0.1 is not known; only 0.0 is" },
        { "biogpt", "\"activation_dropout\": 0.1",
          "activation_dropout: 0.1 is not known; only 0.0 is" },
        { "ctrl", "\"hidden_size\": 9, \"num_attention_heads\": 3",
          "hidden_size: 9 is not known; only even numbers are" },
        { "xglm", "\"layerdrop\": 0.1", "layerdrop: 0.1 is not known; only 0.0 is" },
        { "xglm", "\"activation_dropout\": 0.1",
          "activation_dropout: 0.1 is not known; only 0.0 is" },
        { "xglm", "\"add_cross_attention\": true", "add_cross_attention: true is not known" },
        { "xglm", "\"pad_token_id\": 2", "pad_token_id: 2 is not known; only 0, 1 and null are" },
        { "xglm", "\"d_model\": 2, \"attention_heads\": 1",
          "d_model: 2 is not known; only even numbers from 4 on are" },
        { "cohere_compass_text", "\"logit_scale\": 0.5",
          "rope_parameters is missing; the class needs them" },
        { "cohere_compass_text", "\"rope_parameters\": {\"rope_theta\": 500.0}",
          "each type of layer needs an object in it" },
        { "cohere_compass_text",
          "\"logit_scale\": 0, \"rope_parameters\": {\"full_attention\": null}",
          "logit_scale: 0 is not known; allowed are null and a number above 0" },
        { "bitnet",
          "\"quantization_config\": {\"quant_method\": \"bitnet\", \"linear_class\": \"linear\"}",
          "linear_class: \"linear\" is not known; known are bitlinear and autobitlinear" },
        { "bitnet",
          "\"quantization_config\": {\"quant_method\": \"bitnet\", \"quantization_mode\": "
          "\"later\"}",
          "quantization_mode: \"later\" is not known; known are offline and online" },
        { "bitnet",
          "\"quantization_config\": {\"quant_method\": \"bitnet\", \"use_rms_norm\": true}",
          "use_rms_norm: true is not known; only false is" },
        { "bitnet",
          "\"quantization_config\": {\"quant_method\": \"bitnet\", \"modules_to_not_convert\": []}",
          "modules_to_not_convert: a list of 0 is not known; known are null and [\"lm_head\"]" },
        { "llama",
          "\"quantization_config\": {\"quant_method\": \"bitnet\", \"modules_to_not_convert\": "
          "[\"lm_head\", \"down_proj\"]}",
          "known are null and [\"lm_head\"]" },
        { "phi3", "\"quantization_config\": {\"quant_method\": \"bitnet\"}",
          "the class joins weights that are rounded by themselves here" },
        { "bitnet", "\"head_dim\": 8", "the class has hidden_size / num_attention_heads" },
        { "opt", "\"layerdrop\": 0.1", "layerdrop: 0.1 is not known; only 0.0 is" },
        { "bloom", "\"apply_residual_connection_post_layernorm\": true",
          "apply_residual_connection_post_layernorm: true is not known; only false is" },
        { "bloom", "\"head_dim\": 3", "the class has hidden_size / num_attention_heads" },
        { "mpt", "\"expansion_ratio\": 3", "expansion_ratio: 3 is not known; only 4 is" },
        { "mpt", "\"no_bias\": false", "no_bias: false is not known; only true is" },
        { "mpt", "\"logit_scale\": \"inv_sqrt_d_model\"", "only null is" },
        { "mpt", "\"norm_type\": \"rmsnorm\"", "norm_type: \"rmsnorm\" is not known" },
        { "mpt", "\"embedding_fraction\": 0.1", "embedding_fraction: 0.1 is not known" },
        { "mpt", "\"emb_pdrop\": 0.1", "emb_pdrop: 0.1 is not known; only 0.0 is" },
        { "mpt", "\"resid_pdrop\": 0.1", "resid_pdrop: 0.1 is not known; only 0.0 is" },
        { "mpt", "\"attn_config\": []", "attn_config: a list of 0 is not known; it is an object" },
        { "mpt", "\"attn_config\": {\"alibi\": false}", "alibi: false is not known; only true is" },
        { "mpt", "\"attn_config\": {\"qk_ln\": true}", "qk_ln: true is not known; only false is" },
        { "mpt", "\"attn_config\": {\"prefix_lm\": true}", "prefix_lm: true is not known" },
        { "mpt", "\"attn_config\": {\"attn_uses_sequence_id\": true}",
          "attn_uses_sequence_id: true is not known; only false is" },
        { "mpt", "\"attn_config\": {\"attn_type\": \"multiquery_attention\"}",
          "attn_type: \"multiquery_attention\" is not known; only multihead_attention is" },
        { "mpt", "\"attn_config\": {\"alibi_bias_max\": 0}", "alibi_bias_max" },
        { "cohere", "\"logit_scale\": 0.0",
          "logit_scale: 0.0 is not known; allowed is a number above 0" },
        { "gptj", "\"rotary_dim\": null",
          "rotary_dim: null is not known; the class needs a number of features that turn" },
        { "gptj", "\"rotary_dim\": 6",
          "rotary_dim 6 of a head of 4 is not known; so many that turn must be" },
        { "gptj", "\"rotary_dim\": 4, \"qk_layernorm\": true",
          "qk_layernorm: true is not known; only false is" },
        { "stablelm", "\"partial_rotary_factor\": 0.5, \"hidden_dropout\": 0.1",
          "hidden_dropout: 0.1 is not known; only 0.0 is" },
        { "cohere2", "\"use_qk_norm\": true", "use_qk_norm: true is not known" },
        { "llama", "\"clip_qkv\": 8.0", "clip_qkv: 8.0 is not known; only null is" },
        { "olmo", "\"clip_qkv\": 0.0", "clip_qkv: 0.0" },
        { "glm4_moe", "\"n_routed_experts\": 4", "n_shared_experts is missing" },
        { "qwen2_moe", "\"num_experts\": 4", "shared_expert_intermediate_size is missing" },
        { "glm4_moe",
          "\"n_routed_experts\": 4, \"n_shared_experts\": 1, \"num_experts_per_tok\": 2, "
          "\"moe_intermediate_size\": 4, \"first_k_dense_replace\": 1, \"norm_topk_prob\": true, "
          "\"n_group\": 3",
          "n_group: 3 is not known; groups must be of equal size" },
        { "gpt_oss", "\"num_local_experts\": 4",
          "rope_parameters is missing; the class needs them" },
        { "apertus", "\"hidden_act\": \"relu\"",
          "rope_parameters is missing; the class needs them" },
        { "llama", "\"hidden_act\": \"xielu\"", "hidden_act: \"xielu\" is not known" },
        { "gpt_oss", "\"num_local_experts\": 4, \"rope_scaling\": null",
          "rope_parameters is missing" },
        { "exaone4", "\"sliding_window_pattern\": \"LLLG\"",
          "sliding_window_pattern: \"LLLG\" is not known; known are positive integers" },
        { "afmoe",
          "\"num_experts\": 4, \"num_shared_experts\": 1, \"num_experts_per_tok\": 2, "
          "\"moe_intermediate_size\": 4, \"num_dense_layers\": 1, \"n_group\": 2",
          "topk_group is missing; it must equal n_group" },
        { "gpt_oss", "\"num_local_experts\": 4, \"swiglu_limit\": 5.0",
          "swiglu_limit: 5.0 is not known; only 7.0 is" },
        { "gpt_oss", "\"num_local_experts\": 4, \"swiglu_alpha\": 1.5", "only 1.702 is" },
        { "gpt_oss", "\"num_local_experts\": 4, \"hidden_act\": \"gelu\"", "only silu is" },
        { "deepseek_v3", LATENT "\"q_lora_rank\": null, \"rope_interleave\": false",
          "rope_interleave: false is not known; only true is" },
        { "deepseek_v3", "\"kv_lora_rank\": 4", "qk_nope_head_dim is missing; the class needs it" },
        { "youtu", LATENT "\"attention_bias\": true",
          "q_lora_rank is missing; the class needs it" },
        { "youtu", LATENT "\"q_lora_rank\": 4, \"partial_rotary_factor\": 0.5",
          "partial_rotary_factor 0.5 of a head of 2 is not known; whole heads turn" },
        { "deepseek_v2", LATENT ROUTED "\"norm_topk_prob\": true",
          "norm_topk_prob: true is not known; only false is" },
        { "deepseek_v2", LATENT ROUTED "\"topk_method\": \"noaux_tc\"",
          "topk_method: \"noaux_tc\" is not known; known are greedy and group_limited_greedy" },
        { "deepseek_v3", LATENT ROUTED "\"norm_topk_prob\": true, \"topk_method\": \"greedy\"",
          "topk_method: \"greedy\" is not known; only noaux_tc is" },
        { "deepseek_v3", LATENT ROUTED "\"norm_topk_prob\": true, \"scoring_func\": \"softmax\"",
          "scoring_func: \"softmax\" is not known; only sigmoid is" },
        { "deepseek_v2", LATENT ROUTED "\"scoring_func\": \"sigmoid\"", "only softmax is" },
        { "deepseek_v2", LATENT ROUTED "\"moe_layer_freq\": 2", "moe_layer_freq: 2 is not known" },
        { "deepseek_v2", LATENT ROUTED "\"mlp_bias\": true", "mlp_bias: true is not known" },
        { "deepseek_v32", LATENT ROUTED "\"layer_types\": [\"full_attention\"]",
          "each layer is of type indexed_attention" },
        { "deepseek_v32", LATENT ROUTED "\"index_head_dim\": 3",
          "index_head_dim: 3 is not known; it must be an even number, qk_rope_head_dim or above" },
        { "deepseek_v32", LATENT ROUTED "\"indexer_rope_interleave\": true",
          "indexer_rope_interleave: true is not known; only false is" },
        { "deepseek_v32", LATENT "\"q_lora_rank\": null",
          "q_lora_rank: null is not known; the class always has such a vector" },
        { "axk2", LATENT ROUTED "\"n_group\": 2, \"topk_group\": 1",
          "n_group: 2 is not known; it must equal topk_group" },
        { "hy_v4", LATENT ROUTED "\"indexer_types\": [\"shared\", \"full\"]",
          "no layer before the first has an indexer" },
        { "hy_v4", LATENT ROUTED "\"swiglu_limit\": 0.0", "swiglu_limit" },
        { "hy_v4", LATENT ROUTED "\"hc_mult\": 1", "hc_mult" },
        { "hy_v4", LATENT ROUTED "\"index_head_dim\": 3", "index_head_dim: 3 is not known" },
        { "axk2", LATENT "\"q_lora_rank\": null", "the class always has such a vector" },
        { "axk2", LATENT ROUTED "\"gated_norm_rank\": 0", "gated_norm_rank" },
        { "axk2", LATENT ROUTED "\"moe_layer_freq\": 2", "moe_layer_freq: 2 is not known" },
        { "glm_moe_dsa", LATENT ROUTED "\"indexer_rope_interleave\": false", "only true is" },
        { "glm_moe_dsa", LATENT ROUTED "\"indexer_types\": [\"full\"]",
          "each layer is full or shared" },
        { "glm_moe_dsa", LATENT ROUTED "\"indexer_types\": [\"shared\", \"full\"]",
          "no layer before the first has an indexer" },
        { "glm_moe_dsa", LATENT ROUTED "\"index_topk_pattern\": \"FX\"",
          "its letters are F and S" },
        { "glm_moe_dsa", LATENT ROUTED "\"index_topk_pattern\": \"F\"",
          "it says something of each layer" },
        { "glm_moe_dsa", LATENT ROUTED "\"index_topk_pattern\": 2",
          "allowed are letters F and S, and a list" },
        { "glm4_moe_lite",
          LATENT ROUTED "\"norm_topk_prob\": true, \"mlp_layer_types\": [\"dense\"]",
          "each layer is dense or sparse" },
        { "glm4_moe_lite",
          LATENT ROUTED "\"norm_topk_prob\": true, \"mlp_layer_types\": [\"dense\", \"full\"]",
          "each layer is dense or sparse" },
    };
    Arena *a = arena_new();
    for (size_t i = 0; i < sizeof row / sizeof *row; i++)
        hf_refuses(a,
                   arena_printf(a,
                                "\"model_type\": \"%s\", \"vocab_size\": 16, \"hidden_size\": 8, "
                                "\"intermediate_size\": 12, \"num_hidden_layers\": 2, "
                                "\"num_attention_heads\": 2, \"num_key_value_heads\": 2, ",
                                row[i].type),
                   row[i].more, row[i].error);
    hf_refuses(a,
               "\"model_type\": \"codegen\", \"vocab_size\": 16, \"n_embd\": 6, \"n_layer\": 2, "
               "\"n_head\": 3",
               ", \"rotary_dim\": 2", "n_embd: 6 is not known; it must be a multiple of 4");
    arena_free(a);
}
