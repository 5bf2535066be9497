/* test_fsdp1_warmstart.c - a warm start from the two files of FSDP1: the model has its parameters
 * from one, the optimizer its states from the other. */
#include "end_to_end/training.h"
#include <stdlib.h>
#include <string.h>

#define EXECUTION "checkpoint_saving.config.checkpoint_saving_execution."
#define PAIR(kind)                                                                                 \
    "%s/pair/checkpoints/eid_pair-" kind                                                           \
    "-seen_steps_4-seen_tokens_256-target_steps_8-target_tokens_512.bin"
#define SEEN "${settings.warmstart_checkpoint_paths.model_checkpoint_path}"
#define MODEL "{instance_key: initialized_model, pass_type: BY_REFERENCE}"
#define LOADING                                                                                    \
    "checkpoint_loading: {component_key: checkpoint_loading, variant_key: fsdp1, config: "         \
    "{global_rank: 0, block_names: [GPT2Block], mixed_precision_settings: FP_32, "                 \
    "sharding_strategy: FULL_SHARD}}"

TEST(a_warm_start_from_the_pair_of_fsdp1_gives_the_same_bits)
{
    static const char *const fsdp1[] = { "--set", EXECUTION "variant_key=fsdp1", NULL };
    Bench b = bench_new();
    Arena *a = b.arena;
    assert_ended_well(bench_run(&b, "whole", NULL, NULL, NULL));
    assert_ended_well(bench_run(&b, "pair", NULL, fsdp1, NULL));
    const char *folder = path_join(a, b.root, "middle/checkpoints");
    const char *info =
        arena_printf(a,
                     "{\"model_checkpoint_path\": \"" PAIR(
                         "model") "\", \"optimizer_checkpoint_path\": \"" PAIR("optimizer") "\"}",
                     b.root, b.root);
    assert_no_error(make_directories(folder));
    assert_no_error(
        file_write(path_join(a, folder, "last_checkpoint_info.json"), info, strlen(info)));
    static const char *const keys[] = { "training_progress.global_num_seen_tokens",
                                        "training_progress.num_seen_steps",
                                        "training_progress.last_step",
                                        "training_target.num_target_steps",
                                        "training_target.num_target_tokens" };
    const char *word[64];
    int n = 0;
    for (int i = 0; i < 5; i++) {
        word[n++] = "--set";
        word[n++] = arena_printf(a, "settings.%s.config.checkpoint_path=" SEEN, keys[i]);
    }
    word[n++] = "--set";
    word[n++] =
        "app_state={component_key: app_state, variant_key: raw, config: {model: "
        "{component_key: model, variant_key: fsdp1_checkpointed, config: {model: " MODEL
        ", checkpoint_path: \"" SEEN "\", " LOADING "}}, optimizer: {component_key: "
        "optimizer, variant_key: fsdp1_checkpointed, config: {optimizer: {instance_key: "
        "optimizer, pass_type: BY_REFERENCE}, wrapped_model: " MODEL
        ", checkpoint_path: \"${settings.warmstart_checkpoint_paths.optimizer_checkpoint_path}"
        "\", " LOADING "}}, lr_scheduler: {instance_key: lr_scheduler, pass_type: "
        "BY_REFERENCE}}}";
    word[n] = NULL;
    const char *check[64] = { "config",
                              "check",
                              "--config_file_path",
                              "tests/end_to_end/warmstart.yaml",
                              "--experiments_root_path",
                              b.root,
                              "--last_checkpoint_info_file_path",
                              path_join(a, folder, "last_checkpoint_info.json") };
    memcpy(check + 8, word, sizeof *word * (size_t)(n + 1));
    assert_int_equal(setenv("TRAIN_PBIN", b.pbin, 1), 0);
    Outcome checked = command_output(a, check, NULL);
    assert_ended_well(checked); /* each file has what is asked of it */
    assert_contains(checked.text, "no mistake found\n");
    Outcome o = bench_run(&b, "on", "middle", word, NULL);
    assert_ended_well(o);
    assert_contains(o.text, "step: 5 |");
    assert_same_state(&b, "on", "whole");
    assert_curve_within(&b, "on", "whole");
    arena_free(a);
}
