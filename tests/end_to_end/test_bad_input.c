/* test_bad_input.c - one clear error for each mistake, the right exit status, and nothing lost. */
#include "end_to_end/training.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* An override, the exit status, and what the message must say. */
typedef struct Mistake {
    const char *set;
    int status;
    const char *says;
} Mistake;

static const Mistake mistakes[] = {
    { "settings.step_profile.sequence_length=abc", 2,
      "settings.step_profile.sequence_length: \"abc\"; allowed: an integer, at least 1" },
    { "settings.intervals.training_log_interval_in_steps=0", 2,
      "training_log_interval_in_steps: 0; allowed: an integer, at least 1" },
    { "model_raw.config.dropout=1.5", 2, "dropout 1.5: allowed are 0 <= dropout < 1" },
    { "optimizer.variant_key=adamw", 2, "no variant_key \"adamw\"; did you mean \"adam_w\"?" },
    { "optimizer.component_key=optimzer", 2, "did you mean \"optimizer\"?" },
    { "optimizer.config.weight_decai=0", 2, "did you mean \"weight_decay\"" },
    { "wrapped_model.config.model.instance_key=initialized_model", 1,
      "train.yaml:179:12: wrapped_model.config.model: the components need each other: "
      "initialized_model -> wrapped_model -> initialized_model" },
    { "app_state.config.model.instance_key=initialised_model", 2,
      "did you mean \"initialized_model\"" },
    { "model_raw.config.n_embd=${model_raw.config.n_embd}", 2, "depends on itself" },
    { "settings.paths.train_dataset_path=/no/such.pbin", 1,
      "cannot open /no/such.pbin: No such file or directory" },
    { "model_raw.config.vocab_size=60", 1, "the model's vocabulary allows 0 to 59" },
    { "settings.on_nonfinite=stopp", 2, "did you mean \"stop\"? allowed: one of" },
    { "optimizer.config.eps=.nan", 2, "optimizer.config.eps: .nan; allowed: a number, at least 0" },
    { "optimizer.config.eps=1e400", 2,
      "optimizer.config.eps: 1e400 is not finite; allowed: a number, at least 0" },
    { "optimizer.config.weight_decay=.inf", 2,
      "optimizer.config.weight_decay: .inf is not finite" },
    { "optimizer.config.lr=-1", 2, "optimizer.config.lr: -1; allowed: a number, at least 0" },
    { "model_raw.config.ffn_norm_config.config.eps=1e400", 2, "eps: 1e400 is not finite" },
    { "model_raw.config.n_layer=1000000000", 2,
      "n_layer: 1000000000; allowed: an integer, at least 1 and at most 1000" },
    { "model_raw.config.ffn_hidden=9223372036854775807", 2,
      "ffn_hidden: 9223372036854775807; allowed: an integer, at least 1 and at most 2147483647" },
    { "checkpoint_saving.config.checkpoint_saving_execution.config.experiment_id=../../x", 2,
      "experiment_id \"../../x\"; allowed: a name without \"/\"" },
    { "device_mesh.config={device_type: cpu, data_parallel_replicate_degree: 4294967296, "
      "data_parallel_shard_degree: 4294967296, world_size: 1}",
      1, "the product of the degrees is beyond 64 bits" },
    { "foo", 2, "--set foo: the form is --set key.path=value" },
    { "a.b.c=1", 2, "--set a.b.c=1: there is no \"a\" in the file" },
};

TEST(bad_input_of_each_kind_is_one_clear_error)
{
    Bench b = bench_new();
    for (size_t i = 0; i < sizeof mistakes / sizeof *mistakes; i++) {
        const Mistake *m = &mistakes[i];
        assert_refused(bench_run(&b, "x", NULL, (const char *[]){ "--set", m->set, NULL }, NULL),
                       m->status, m->says);
        assert_false(file_exists(path_join(b.arena, b.root, "x"))); /* there was no step */
    }
    arena_free(b.arena);
}

TEST(bad_input_of_a_file_that_several_components_need_is_told_once)
{
    Bench b = bench_new();
    const char *const set[] = { "--set", "settings.paths.train_dataset_path=/no/such.pbin", "--set",
                                "settings.paths.eval_dataset_path=/no/such.pbin", NULL };
    Outcome o = bench_run(&b, "x", NULL, set, NULL);
    assert_refused(o, 1,
                   "cannot open /no/such.pbin: No such file or directory (also at "
                   "tests/end_to_end/train.yaml:");
    assert_null(strstr(strstr(o.text, "/no/such.pbin: ") + 1, "/no/such.pbin: "));
    arena_free(b.arena);
}

/* What a folder held before stays, whatever happens to the run. */
TEST(bad_input_leaves_an_experiment_that_was_there_alone)
{
    Bench b = bench_new();
    const char *note = path_join(b.arena, b.root, "x/note.txt");
    assert_no_error(make_directories(path_folder(b.arena, note)));
    assert_no_error(file_write(note, "mine", 4));
    const char *const set[] = { "--set", "settings.paths.train_dataset_path=/no/such.pbin", NULL };
    assert_refused(bench_run(&b, "x", NULL, set, NULL), 1, "/no/such.pbin");
    assert_true(file_exists(note));
    assert_ended_well(bench_run(&b, "x", NULL, NULL, NULL));
    assert_refused(bench_run(&b, "x", NULL, set, NULL), 1, "holds the results of another run");
    assert_true(bench_has_checkpoint(&b, "x"));
    arena_free(b.arena);
}

TEST(bad_input_of_a_key_that_nothing_uses_is_a_warning)
{
    static const char *const cases[][2] = {
        { "settings.training_target.num_target_stepz=3",
          "warning: --set settings.training_target.num_target_stepz=3: "
          "settings.training_target.num_target_stepz: nothing uses this key; did you mean "
          "\"num_target_steps\"?" },
        { "settings.colour=3",
          "settings.colour: nothing uses this key; known are experiment_id, " },
        { "settings.intervals={training_log_interval_in_steps: 1, checkpointing_interval_in_steps: "
          "4, "
          "evaluation_interval_in_steps: 4, x: \"${.y}\", y: 1}",
          "settings.intervals.x: nothing uses this key" },
    };
    Bench b = bench_new();
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const char *const set[] = { "--set", cases[i][0], NULL };
        Outcome o = bench_run(&b, arena_printf(b.arena, "x%zu", i), NULL, set, NULL);
        assert_ended_well(o);
        assert_contains(o.text, cases[i][1]);
        assert_null(strstr(o.text, "settings.intervals.y"));
    }
    Outcome o = bench_run(&b, "x", NULL, NULL, NULL);
    assert_null(strstr(o.text, "nothing uses"));
    arena_free(b.arena);
}

TEST(bad_input_of_another_progress_than_the_checkpoints_is_named)
{
    Bench b = bench_new();
    assert_ended_well(bench_run(&b, "whole", NULL, NULL, NULL));
    const char *const steps[] = {
        "--set", "settings.training_progress.num_seen_steps=7",
        "--set", "settings.training_progress.last_step=6",
        "--set", "settings.consistency_enforcement.enforce_tokens_per_step_consistency=false",
        NULL
    };
    assert_refused(bench_run(&b, "on", "whole", steps, NULL), 1,
                   " has seen_steps 8, but settings.training_progress.num_seen_steps is 7");
    const char *const tokens[] = {
        "--set", "settings.training_progress.global_num_seen_tokens=5",
        "--set", "settings.training_target.num_target_steps=9",
        "--set", "settings.consistency_enforcement.enforce_tokens_per_step_consistency=false",
        NULL
    };
    assert_refused(
        bench_run(&b, "on", "whole", tokens, NULL), 1,
        " has seen_tokens 512, but settings.training_progress.global_num_seen_tokens is 5");
    arena_free(b.arena);
}

TEST(bad_input_of_a_data_file_cut_short_names_the_file)
{
    Bench b = bench_new();
    Str file;
    assert_no_error(file_read(b.arena, b.pbin, &file));
    assert_no_error(file_write(b.pbin, file.ptr, file.len / 2));
    assert_refused(bench_run(&b, "x", NULL, NULL, NULL), 1, "tokens.pbin: cut short: its header");
    arena_free(b.arena);
}

TEST(bad_input_of_yaml_syntax_names_line_and_column)
{
    Bench b = bench_new();
    const char *yaml = path_join(b.arena, b.root, "bad.yaml"), *text = "a: [1, 2\nb: 3\n";
    assert_no_error(file_write(yaml, text, strlen(text)));
    const char *const words[] = { "run",  "--config_file_path",
                                  yaml,   "--experiments_root_path",
                                  b.root, NULL };
    assert_refused(command_output(b.arena, words, NULL), 1, "bad.yaml:2:2: ");
    arena_free(b.arena);
}

TEST(bad_input_of_print_graph_lists_the_passes)
{
    Bench b = bench_new();
    const char *const wrong[] = { "--print_graph", "after:fuze", NULL };
    assert_refused(bench_run(&b, "x", NULL, wrong, NULL), 2,
                   "--print_graph after:fuze: the form is before:PASS or after:PASS; allowed are "
                   "all, initialize, adapters, freeze, read_averages, watch_logits, stages, "
                   "autodiff, precision, ternary, float8, "
                   "recompute, shard, pipeline, data_parallel, "
                   "fuse, async_tensor, epilogues, optimize");
    Outcome o =
        bench_run(&b, "x", NULL, (const char *[]){ "--print_graph", "after:fuse", NULL }, NULL);
    assert_ended_well(o);
    assert_contains(o.text, "# after fuse\n");
    arena_free(b.arena);
}

TEST(bad_input_of_two_ranks_of_which_one_is_here_is_refused)
{
    Bench b = bench_new();
    assert_refused(bench_run(&b, "x", NULL, NULL, (const char *[]){ "WORLD_SIZE=2", NULL }), 1,
                   "WORLD_SIZE is 2, but LOCAL_WORLD_SIZE is not set");
    arena_free(b.arena);
}

TEST(bad_input_of_a_warm_start_with_the_file_of_a_fresh_run_is_refused)
{
    Bench b = bench_new();
    assert_ended_well(bench_run(&b, "first", NULL, NULL, NULL));
    const char *info =
        arena_printf(b.arena, "%s/first/checkpoints/last_checkpoint_info.json", b.root);
    const char *const words[] = { "warmstart",
                                  "--config_file_path",
                                  "tests/end_to_end/train.yaml",
                                  "--experiments_root_path",
                                  b.root,
                                  "--experiment_id",
                                  "on",
                                  "--last_checkpoint_info_file_path",
                                  info,
                                  NULL };
    assert_refused(command_output(b.arena, words, NULL), 1,
                   "train.yaml: nothing in it loads the checkpoint, so warmstart would begin anew");
    assert_false(bench_has_checkpoint(&b, "on"));
    arena_free(b.arena);
}

TEST(bad_input_of_a_full_disk_leaves_the_former_checkpoint)
{
    Bench b = bench_new();
    const char *const faults[] = { arena_printf(b.arena, "LD_PRELOAD=%s",
                                                test_tool(b.arena, "crash_shim.so")),
                                   "ASAN_OPTIONS=verify_asan_link_order=0",
                                   "CRASH_PATH=seen_steps_8",
                                   "CRASH_AT=write:5",
                                   "CRASH_MODE=ENOSPC",
                                   NULL };
    Outcome o = bench_run(&b, "x", NULL, NULL, faults);
    assert_refused(o, 1, "checkpoint after step 8: ");
    assert_contains(o.text, "No space left on device");
    int64_t steps;
    bench_last_checkpoint(&b, "x", &steps);
    assert_int_equal(steps, 4);
    assert_ended_well(bench_run(&b, "whole", NULL, NULL, NULL));
    assert_ended_well(bench_run(&b, "on", "x", NULL, NULL));
    assert_same_state(&b, "on", "whole");
    arena_free(b.arena);
}

TEST(bad_input_of_a_damaged_checkpoint_names_the_tensor)
{
    Bench b = bench_new();
    assert_ended_well(bench_run(&b, "whole", NULL, NULL, NULL));
    const char *part = path_join(b.arena, bench_last_checkpoint(&b, "whole", NULL), "__0_0.distcp");
    Str file;
    assert_no_error(file_read(b.arena, part, &file));
    ((char *)file.ptr)[file.len - 100] ^= 4;
    assert_no_error(file_write(part, file.ptr, file.len));
    const char *const further[] = { "--set", "settings.training_target.num_target_steps=12",
                                    "--set", "settings.training_target.num_target_tokens=768",
                                    NULL };
    assert_refused(bench_run(&b, "on", "whole", further, NULL), 1, "the file is damaged");
    arena_free(b.arena);
}

TEST(bad_input_of_too_little_memory_is_refused_with_map_and_remedies)
{
    Bench b = bench_new();
    Outcome o =
        bench_run(&b, "x", NULL, NULL, (const char *[]){ "MODALITIES_MEMORY_LIMIT=100000", NULL });
    assert_refused(o, 1, "the training program needs ");
    assert_contains(o.text, "but only 100 kB are free");
    assert_contains(o.text, "for parameters, optimizer states and gradients");
    assert_contains(o.text, "scratch; of these at the peak:\n  ");
    assert_contains(o.text, "Cheapest remedies: a smaller local_train_micro_batch_size");
    assert_contains(o.text, "Not even a microbatch of one sample would fit");
    assert_ended_well(bench_run(&b, "y", NULL, NULL,
                                (const char *[]){ "MODALITIES_MEMORY_LIMIT=100000000", NULL }));
    arena_free(b.arena);
}

static Outcome run_in_memory(const Bench *b, const char *id, int64_t samples, bool again)
{
    const char *more[] = {
        "--set",
        "settings.step_profile.sequence_length=64",
        "--set",
        arena_printf(b->arena, "settings.step_profile.local_train_micro_batch_size=%d",
                     (int)samples),
        "--set",
        "settings.training_target.num_target_steps=1",
        "--set",
        "settings.consistency_enforcement.enforce_enough_tokens_in_dataset=false",
        again ? "--set" : NULL,
        "wrapped_model={component_key: model, variant_key: "
        "activation_checkpointed, config: {model: {instance_key: model_raw, "
        "pass_type: BY_REFERENCE}, ac_variant: full_activation_checkpointing, "
        "layers_fqn: transformer.h, ac_fun_params: {}}}",
        NULL
    };
    return bench_run(b, id, NULL, more,
                     (const char *[]){ "MODALITIES_MEMORY_LIMIT=1500000", NULL });
}

/* What the error says is so, and one sample more does not fit. */
TEST(bad_input_of_too_large_a_microbatch_is_refused_with_one_that_fits)
{
    Bench b = bench_new();
    const Outcome o = run_in_memory(&b, "large", 20, false);
    int less = 0, again = 0;
    assert_refused(o, 1, "the training program needs ");
    const char *said = strstr(o.text, "What would fit: ");
    if (!said) fail_msg("%s", o.text);
    if (sscanf(said, "What would fit: local_train_micro_batch_size %d, or %d with all blocks",
               &less, &again) != 2)
        fail_msg("%s", said);
    test_note("%d, %d", less, again);
    assert_in_range(less, 1, 18);
    assert_in_range(again, less + 1, 20);
    assert_ended_well(run_in_memory(&b, "fits", less, false));
    assert_refused(run_in_memory(&b, "more", less + 1, false), 1, "the training program needs ");
    assert_ended_well(run_in_memory(&b, "again", again, true));
    assert_refused(run_in_memory(&b, "most", again + 1, true), 1, "the training program needs ");
    arena_free(b.arena);
}

TEST(bad_input_of_an_evaluation_without_batches_is_a_warning)
{
    Bench b = bench_new();
    const char *const set[] = { "--set",
                                "eval_dataloaders.0.config.batch_sampler.config.batch_size=3000",
                                NULL };
    Outcome o = bench_run(&b, "x", NULL, set, NULL);
    assert_ended_well(o);
    assert_contains(o.text, "'val' has no whole batch of 3000 samples: nothing is evaluated");
    assert_null(strstr(o.text, "nan"));
    arena_free(b.arena);
}
