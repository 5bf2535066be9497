/* test_multi_token.c - a training that predicts later tokens, too: its results, how it goes on, and
 * what its checkpoints are for. */
#include "base/file.h"
#include "end_to_end/training.h"
#include <string.h>

#define SET "--set"
#define DECODER                                                                                    \
    "{component_key: model, variant_key: decoder, config: {sample_key: input_ids, "                \
    "prediction_key: logits, vocab_size: 64, sequence_length: 64, n_layer: 2, n_embd: 32, "        \
    "n_head_q: 4, n_head_kv: 4, ffn_hidden: 24, norm: {eps: 1e-6}, rope: {base: 10000.0}, "        \
    "latent: {key_rank: 8, rope_width: 4, value_width: 8}, multi_token: {depth: 2, weight: 0.5}}}"
#define MODEL SET, "model_raw=" DECODER, SET, "wrapped_model.config.block_names=[DecoderBlock]"

TEST(a_training_of_later_tokens_tells_their_losses_and_goes_on)
{
    Bench b = bench_new();
    const Outcome o = bench_run(&b, "whole", NULL, (const char *[]){ MODEL, NULL }, NULL);
    assert_ended_well(o);
    assert_contains(o.text, " | train loss of token +2: ");
    assert_contains(o.text, " | train loss of token +3: ");
    assert_null(strstr(o.text, "token +4"));
    assert_ended_well(
        bench_run(&b, "half", NULL,
                  (const char *[]){ MODEL, SET, "settings.training_target.num_target_steps=4", SET,
                                    "lr_scheduler.config.total_steps=8", NULL },
                  NULL));
    assert_goes_on_as(&b, "half", "whole");
    assert_ended_well(
        bench_run(&b, "two", NULL, (const char *[]){ "--ranks", "2", MODEL, NULL }, NULL));
    assert_results_near(&b, "two", "whole", "train loss of token +2", 0.5);
    arena_free(b.arena);
}

/* Whoever reads them has no blocks for later tokens. */
TEST(a_checkpoint_with_blocks_of_later_tokens_is_exported_without_them)
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
    const Outcome o = command_output(b.arena, words, NULL);
    assert_ended_well(o);
    assert_contains(o.text, "the blocks of multi_token stay behind");
    Str json;
    assert_no_error(file_read(b.arena, path_join(b.arena, out, "config.json"), &json));
    assert_contains(arena_string_n(b.arena, json.ptr, json.len), "\"YoutuForCausalLM\"");
    arena_free(b.arena);
}
