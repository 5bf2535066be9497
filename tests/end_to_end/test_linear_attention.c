/* test_linear_attention.c - trainings of layers of linear attention and of state spaces, and of
 * blocks of one layer, from YAML: how they go on, and the class that they are exported as. */
#include "base/file.h"
#include "end_to_end/training.h"
#include <string.h>

#define SET "--set"
#define DECODER(layers)                                                                            \
    "{component_key: model, variant_key: decoder, config: {sample_key: input_ids, "                \
    "prediction_key: logits, vocab_size: 64, sequence_length: 64, n_layer: 4, n_embd: 32, "        \
    "n_head_q: 4, n_head_kv: 2, ffn_hidden: 24, layers: [{count: 3, linear: true}, {}], " layers   \
    "}}"
#define LINEAR                                                                                     \
    DECODER(                                                                                       \
        "norm: {eps: 1e-6, from_one: true}, rope: {base: 10000.0, width: 4}, qk_norm: head, "      \
        "attention_gate: feature, linear_attention: {key_heads: 2, value_heads: 4, key_width: "    \
        "8, value_width: 6}")
#define SPACE                                                                                      \
    DECODER("residual_scale: 0.5, state_space: {heads: 8, head_width: 8, state_width: 6, "         \
            "n_groups: 2, most_step: 0.5}")
#define ALONE                                                                                      \
    "{component_key: model, variant_key: decoder, config: {sample_key: input_ids, "                \
    "prediction_key: logits, vocab_size: 64, sequence_length: 64, n_layer: 4, n_embd: 32, "        \
    "n_head_q: 4, n_head_kv: 2, ffn_hidden: 24, gated: false, activation: relu_squared, layers: "  \
    "[{linear: true, no_ffn: true}, {no_mixer: true}, {no_ffn: true}, {no_mixer: true}], "         \
    "state_space: {heads: 8, head_width: 8, state_width: 6, n_groups: 2}}}"
#define CONV                                                                                       \
    "{component_key: model, variant_key: decoder, config: {sample_key: input_ids, "                \
    "prediction_key: logits, vocab_size: 64, sequence_length: 64, n_layer: 4, n_embd: 32, "        \
    "n_head_q: 4, n_head_kv: 2, ffn_hidden: 24, rope: {base: 1000.0}, qk_norm: head, layers: "     \
    "[{count: 3, conv: true}, {}], short_conv: {bias: true}}}"
#define BESIDE                                                                                     \
    "{component_key: model, variant_key: decoder, config: {sample_key: input_ids, "                \
    "prediction_key: logits, vocab_size: 64, sequence_length: 64, n_layer: 4, n_embd: 32, "        \
    "n_head_q: 4, n_head_kv: 2, ffn_hidden: 24, rope: {base: 1000.0}, layers: [{side_by_side: "    \
    "true}], state_space: {heads: 8, head_width: 4, state_width: 6, n_groups: 2, norm: false}, "   \
    "multipliers: {linear_in: 0.5, ffn_out: 2.0}}}"
#define SELECTIVE DECODER("selective_scan: {width: 64, state_width: 6, norms: weight, eps: 1e-5}")
#define RECURRENT DECODER("gated_recurrence: {width: 64, n_groups: 4}")
#define MODEL(decoder)                                                                             \
    SET, "model_raw=" decoder, SET, "wrapped_model.config.block_names=[DecoderBlock]"
#define HALF                                                                                       \
    SET, "settings.training_target.num_target_steps=4", SET, "lr_scheduler.config.total_steps=8"

static void check_goes_on(const char *const *whole, const char *const *half)
{
    Bench b = bench_new();
    assert_ended_well(bench_run(&b, "whole", NULL, whole, NULL));
    assert_ended_well(bench_run(&b, "half", NULL, half, NULL));
    assert_goes_on_as(&b, "half", "whole");
    arena_free(b.arena);
}

TEST(a_training_of_linear_attention_goes_on_as_if_it_had_not_stopped)
{
    check_goes_on((const char *[]){ MODEL(LINEAR), NULL },
                  (const char *[]){ MODEL(LINEAR), HALF, NULL });
}

TEST(a_training_of_state_spaces_goes_on_as_if_it_had_not_stopped)
{
    check_goes_on((const char *[]){ MODEL(SPACE), NULL },
                  (const char *[]){ MODEL(SPACE), HALF, NULL });
}

TEST(a_training_of_short_convolutions_goes_on_as_if_it_had_not_stopped)
{
    check_goes_on((const char *[]){ MODEL(CONV), NULL },
                  (const char *[]){ MODEL(CONV), HALF, NULL });
}

TEST(a_training_of_selective_state_spaces_goes_on_as_if_it_had_not_stopped)
{
    check_goes_on((const char *[]){ MODEL(SELECTIVE), NULL },
                  (const char *[]){ MODEL(SELECTIVE), HALF, NULL });
}

TEST(a_training_of_gated_recurrences_goes_on_as_if_it_had_not_stopped)
{
    check_goes_on((const char *[]){ MODEL(RECURRENT), NULL },
                  (const char *[]){ MODEL(RECURRENT), HALF, NULL });
}

TEST(a_training_of_state_spaces_beside_attention_goes_on_as_if_it_had_not_stopped)
{
    check_goes_on((const char *[]){ MODEL(BESIDE), NULL },
                  (const char *[]){ MODEL(BESIDE), HALF, NULL });
}

TEST(a_training_of_blocks_of_one_layer_goes_on_as_if_it_had_not_stopped)
{
    check_goes_on((const char *[]){ MODEL(ALONE), NULL },
                  (const char *[]){ MODEL(ALONE), HALF, NULL });
}

/* The config.json of a trained model, whose settings are the text. */
static const char *exported(Bench *b, const char *const *set, const char *text)
{
    int64_t steps;
    assert_ended_well(bench_run(b, "run", NULL, set, NULL));
    const char *config = path_join(b->arena, b->root, "model.yaml"),
               *out = path_join(b->arena, b->root, "hf");
    assert_no_error(file_write_unsynced(config, text, strlen(text)));
    const char *words[] = { "convert_pytorch_to_hf_checkpoint",
                            "--config_file_path",
                            config,
                            "--checkpoint_path",
                            bench_last_checkpoint(b, "run", &steps),
                            "--output_hf_checkpoint_dir",
                            out,
                            NULL };
    assert_ended_well(command_output(b->arena, words, NULL));
    Str json;
    assert_no_error(file_read(b->arena, path_join(b->arena, out, "config.json"), &json));
    return arena_string_n(b->arena, json.ptr, json.len);
}

TEST(a_model_with_linear_attention_is_exported_as_the_class_that_has_it)
{
    Bench b = bench_new();
    const char *written =
        exported(&b, (const char *[]){ MODEL(LINEAR), NULL }, "model_raw: " LINEAR "\n");
    assert_contains(written, "\"Qwen3_5ForCausalLM\"");
    assert_contains(written, "\"linear_num_value_heads\": 4");
    arena_free(b.arena);
}

TEST(a_model_with_state_spaces_is_exported_as_the_class_that_has_them)
{
    Bench b = bench_new();
    const char *written =
        exported(&b, (const char *[]){ MODEL(SPACE), NULL }, "model_raw: " SPACE "\n");
    assert_contains(written, "\"GraniteMoeHybridForCausalLM\"");
    assert_contains(written, "\"mamba_n_heads\": 8");
    arena_free(b.arena);
}

TEST(a_model_of_blocks_of_one_layer_is_exported_as_the_class_that_has_them)
{
    Bench b = bench_new();
    const char *written =
        exported(&b, (const char *[]){ MODEL(ALONE), NULL }, "model_raw: " ALONE "\n");
    assert_contains(written, "\"NemotronHForCausalLM\"");
    assert_contains(written, "[\"linear_attention\", \"mlp\", \"full_attention\", \"mlp\"]");
    arena_free(b.arena);
}

TEST(a_model_with_short_convolutions_is_exported_as_the_class_that_has_them)
{
    Bench b = bench_new();
    const char *written =
        exported(&b, (const char *[]){ MODEL(CONV), NULL }, "model_raw: " CONV "\n");
    assert_contains(written, "\"Lfm2ForCausalLM\"");
    assert_contains(written, "\"conv_bias\": true");
    arena_free(b.arena);
}

TEST(a_model_with_state_spaces_beside_attention_is_exported_as_the_class_that_has_them)
{
    Bench b = bench_new();
    const char *written =
        exported(&b, (const char *[]){ MODEL(BESIDE), NULL }, "model_raw: " BESIDE "\n");
    assert_contains(written, "\"FalconH1ForCausalLM\"");
    assert_contains(written, "\"ssm_in_multiplier\": 0.5");
    arena_free(b.arena);
}

TEST(a_model_with_selective_state_spaces_is_exported_as_the_class_that_has_them)
{
    Bench b = bench_new();
    const char *written =
        exported(&b, (const char *[]){ MODEL(SELECTIVE), NULL }, "model_raw: " SELECTIVE "\n");
    assert_contains(written, "\"JambaForCausalLM\"");
    assert_contains(written, "\"attn_layer_offset\": 3");
    arena_free(b.arena);
}
