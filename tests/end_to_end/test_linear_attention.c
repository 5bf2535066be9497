/* test_linear_attention.c - a training of layers of linear attention from YAML: how it goes on, and
 * the class that it is exported as. */
#include "base/file.h"
#include "end_to_end/training.h"
#include <string.h>

#define SET "--set"
#define DECODER                                                                                    \
    "{component_key: model, variant_key: decoder, config: {sample_key: input_ids, "                \
    "prediction_key: logits, vocab_size: 64, sequence_length: 64, n_layer: 4, n_embd: 32, "        \
    "n_head_q: 4, n_head_kv: 2, ffn_hidden: 24, norm: {eps: 1e-6, from_one: true}, rope: {base: "  \
    "10000.0, width: 4}, qk_norm: head, attention_gate: feature, layers: [{count: 3, linear: "     \
    "true}, {}], linear_attention: {key_heads: 2, value_heads: 4, key_width: 8, value_width: "     \
    "6}}}"
#define MODEL SET, "model_raw=" DECODER, SET, "wrapped_model.config.block_names=[DecoderBlock]"

TEST(a_training_of_linear_attention_goes_on_as_if_it_had_not_stopped)
{
    Bench b = bench_new();
    assert_ended_well(bench_run(&b, "whole", NULL, (const char *[]){ MODEL, NULL }, NULL));
    assert_ended_well(
        bench_run(&b, "half", NULL,
                  (const char *[]){ MODEL, SET, "settings.training_target.num_target_steps=4", SET,
                                    "lr_scheduler.config.total_steps=8", NULL },
                  NULL));
    assert_goes_on_as(&b, "half", "whole");
    arena_free(b.arena);
}

TEST(a_model_with_linear_attention_is_exported_as_the_class_that_has_it)
{
    Bench b = bench_new();
    int64_t steps;
    assert_ended_well(bench_run(&b, "run", NULL, (const char *[]){ MODEL, NULL }, NULL));
    const char *config = path_join(b.arena, b.root, "model.yaml"),
               *out = path_join(b.arena, b.root, "hf");
    static const char text[] = "model_raw: " DECODER "\n";
    assert_no_error(file_write_unsynced(config, text, strlen(text)));
    const char *words[] = { "convert_pytorch_to_hf_checkpoint",
                            "--config_file_path",
                            config,
                            "--checkpoint_path",
                            bench_last_checkpoint(&b, "run", &steps),
                            "--output_hf_checkpoint_dir",
                            out,
                            NULL };
    assert_ended_well(command_output(b.arena, words, NULL));
    Str json;
    assert_no_error(file_read(b.arena, path_join(b.arena, out, "config.json"), &json));
    const char *written = arena_string_n(b.arena, json.ptr, json.len);
    assert_contains(written, "\"Qwen3_5ForCausalLM\"");
    assert_contains(written, "\"linear_num_value_heads\": 4");
    arena_free(b.arena);
}
