/* test_resume.c - a training that was stopped and goes on gives the same bits as one that was not.
 */
#include "end_to_end/training.h"
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* A checkpoint at the end only. */
#define SAVE_AT_40 "--set", "settings.intervals.checkpointing_interval_in_steps=40"

/* Variants of the configuration; each is a list of overrides. */
static const char *const plain[] = { NULL };
static const char *const bf16[] = { "--set",
                                    "wrapped_model.config.mixed_precision_settings.param_dtype="
                                    "BF_16",
                                    NULL };
/* The same numbers in other memory. */
static const char *const bf16_whole[] = {
    "--set", "wrapped_model.config.mixed_precision_settings.param_dtype=BF_16", "--set",
    "optimizer.config.master_weights=FP_32", NULL
};
static const char *const bf16_moment[] = {
    "--set", "wrapped_model.config.mixed_precision_settings.param_dtype=BF_16", "--set",
    "optimizer.config.exp_avg_dtype=BF_16", NULL
};
static const char *const adam_fewer_threads[] = {
    "--threads", "1",
    "--set",     "optimizer.variant_key=adam",
    "--set",     "train_dataloader.config.num_workers=0",
    "--set",     "loss_fn.config.normalization=global_tokens",
    NULL
};
static const char *const tied_swiglu[] = {
    "--set", "model_raw.config.use_weight_tying=true",
    "--set", "model_raw.config.activation_type=swiglu",
    "--set", "train_dataloader.config.batch_sampler.config.sampler.config.shuffle=false",
    NULL
};

TEST(resume_gives_the_same_bits_with_dropout_and_accumulation)
{
    assert_resumes(plain);
}
FENCED(resume_gives_the_same_bits_with_dropout_and_accumulation)
TEST(resume_gives_the_same_bits_in_bf16)
{
    assert_resumes(bf16);
}
FENCED(resume_gives_the_same_bits_in_bf16)
TEST(whole_parameters_go_on_from_halves_with_the_same_bits)
{
    assert_resumes_as(bf16, bf16_whole);
}
TEST(halves_go_on_from_whole_parameters_with_the_same_bits)
{
    assert_resumes_as(bf16_whole, bf16);
}
FENCED(halves_go_on_from_whole_parameters_with_the_same_bits)
TEST(resume_gives_the_same_bits_with_a_first_moment_in_bf16)
{
    assert_resumes(bf16_moment);
}
FENCED(resume_gives_the_same_bits_with_a_first_moment_in_bf16)
TEST(resume_gives_the_same_bits_with_adam_and_global_tokens)
{
    assert_resumes(adam_fewer_threads);
}
TEST(resume_gives_the_same_bits_with_tied_weights_and_swiglu)
{
    assert_resumes(tied_swiglu);
}

/* What is computed again in the backward pass changes no number. */
static const char *const checkpointed[] = {
    "--set",
    "wrapped_model.config.model={component_key: model, variant_key: activation_checkpointed, "
    "config: {ac_variant: full_activation_checkpointing, layers_fqn: transformer.h, model: "
    "{instance_key: model_raw, pass_type: BY_REFERENCE}, ac_fun_params: {}}}",
    NULL
};

TEST(resume_with_activation_checkpointing_gives_the_bits_without)
{
    assert_resumes_as(plain, checkpointed);
}

TEST(resume_without_activation_checkpointing_gives_the_bits_with)
{
    assert_resumes_as(checkpointed, plain);
}

/* `fused` stands in the optimizer's state, and changes no number. */
static void assert_differs_in_fused(Words before, Words after)
{
    Bench b = bench_new();
    bench_resume_in_the_middle(&b, before, after);
    const char *const words[] = { "checkpoint", "diff", bench_last_checkpoint(&b, "resumed", NULL),
                                  bench_last_checkpoint(&b, "whole", NULL), NULL };
    char *save = NULL, *text = (char *)command_output(b.arena, words, NULL).text;
    int n = 0;
    for (char *line = strtok_r(text, "\n", &save); line; line = strtok_r(NULL, "\n", &save), n++)
        assert_contains(line, ".fused: ");
    assert_true(n > 0);
    arena_free(b.arena);
}

static const char *const fused[] = { "--set", "optimizer.config.fused=true", NULL };

TEST(resume_with_a_fused_optimizer_gives_the_numbers_of_one_that_is_not)
{
    assert_differs_in_fused(plain, fused);
}

TEST(resume_without_a_fused_optimizer_gives_the_numbers_of_one_that_is)
{
    assert_differs_in_fused(fused, plain);
}

/* The same experiment again, other results: the comparison above can fail. */
TEST(resume_with_another_seed_gives_other_bits)
{
    Bench b = bench_new();
    assert_ended_well(bench_run(&b, "one", NULL, NULL, NULL));
    const char *const other[] = { "--set", "model_raw.config.seed=1", NULL };
    assert_ended_well(bench_run(&b, "two", NULL, other, NULL));
    Str part[2];
    for (int i = 0; i < 2; i++)
        assert_no_error(file_read(
            b.arena,
            path_join(b.arena, bench_last_checkpoint(&b, i ? "two" : "one", NULL), "__0_0.distcp"),
            &part[i]));
    assert_int_equal(part[0].len, part[1].len);
    assert_memory_not_equal(part[0].ptr, part[1].ptr, part[0].len);
    arena_free(b.arena);
}

/* Reads from the pipe until `mark` was seen; the program cannot run far ahead of the reader. */
static const char *read_until(Arena *a, int from, const char *mark)
{
    Text said = { 0 };
    char buffer[256];
    ssize_t n;
    while ((n = read(from, buffer, sizeof buffer)) > 0) {
        text_add(&said, buffer, (size_t)n);
        if (mark && strstr(said.ptr, mark)) break;
    }
    if (mark && !strstr(said.ptr, mark)) fail_msg("no \"%s\" in: %s", mark, said.ptr);
    const char *text = arena_string(a, said.ptr);
    text_free(&said);
    return text;
}

static void stop_by_signal(int number)
{
    Bench b = bench_new();
    const char *const set[] = { SAVE_AT_40, "--set", "settings.training_target.num_target_steps=40",
                                NULL };
    const char *const in_warmstart[] = { SAVE_AT_40, NULL };
    int ends[2];
    assert_int_equal(pipe2(ends, O_CLOEXEC), 0);
    assert_true(fcntl(ends[0], F_SETPIPE_SZ, 4096) > 0);
    pid_t child = command_start(b.arena, bench_words(&b, "stopped", NULL, set), NULL, ends);
    read_until(b.arena, ends[0], "step: 3 |");
    assert_int_equal(kill(child, number), 0);
    const char *said = read_until(b.arena, ends[0], NULL);
    Outcome o = command_wait(b.arena, child, ends);
    if (o.status != EXIT_STOPPED) fail_msg("status %d: %s", o.status, said);
    close(ends[0]);
    int64_t steps;
    bench_last_checkpoint(&b, "stopped", &steps);
    assert_in_range(steps, 3, 39);
    assert_contains(said, "\nstopping after this step; Ctrl-C or SIGTERM once more ends at once\n");
    assert_contains(said, arena_printf(b.arena, "Stopped by signal %d after step %lld of 40",
                                       number, (long long)steps));
    assert_contains(said,
                    arena_printf(b.arena, "To go on:\n  modalities resume %s/stopped\n", b.root));
    assert_ended_well(bench_run(&b, "resumed", "stopped", in_warmstart, NULL));
    assert_ended_well(bench_run(&b, "whole", NULL, set, NULL));
    assert_same_state(&b, "resumed", "whole");
    assert_curve_within(&b, "stopped", "whole");
    assert_curve_within(&b, "resumed", "whole");
    arena_free(b.arena);
}

TEST(resume_after_sigterm_gives_the_same_bits)
{
    stop_by_signal(SIGTERM);
}
TEST(resume_after_ctrl_c_gives_the_same_bits)
{
    stop_by_signal(SIGINT);
}
TEST(resume_after_a_lost_terminal_gives_the_same_bits)
{
    stop_by_signal(SIGHUP);
}
TEST(resume_after_a_job_scheduler_s_signal_gives_the_same_bits)
{
    stop_by_signal(SIGUSR1);
}

TEST(resume_is_not_needed_and_the_last_line_says_what_is_saved)
{
    Bench b = bench_new();
    const char *const never[] = { "--set", "settings.intervals.checkpointing_interval_in_steps=9",
                                  NULL };
    const char *const early[] = { "--set", "settings.intervals.checkpointing_interval_in_steps=5",
                                  NULL };
    assert_contains(bench_run(&b, "all", NULL, NULL, NULL).text, "All 8 steps are done and saved.");
    assert_contains(bench_run(&b, "none", NULL, never, NULL).text,
                    "All 8 steps are done; no checkpoint was written: "
                    "checkpointing_interval_in_steps is 9.");
    assert_contains(bench_run(&b, "some", NULL, early, NULL).text,
                    "All 8 steps are done; the last checkpoint is that of step 5.");
    arena_free(b.arena);
}

TEST(resume_of_a_finished_run_has_nothing_left_to_do)
{
    Bench b = bench_new();
    assert_ended_well(bench_run(&b, "whole", NULL, NULL, NULL));
    Outcome o = bench_run(&b, "again", "whole", NULL, NULL);
    assert_ended_well(o);
    assert_contains(o.text, "The target of 8 steps is reached already: nothing left to do.\n");
    assert_false(bench_has_checkpoint(&b, "again"));
    arena_free(b.arena);
}

/* As the original: what is due at the step of the checkpoint comes again, in the new experiment. */
TEST(a_warm_start_evaluates_and_saves_where_it_begins)
{
    Bench b = bench_new();
    static const char *const half[] = { "--set", "settings.training_target.num_target_steps=4",
                                        "--set", "lr_scheduler.config.total_steps=8", NULL };
    assert_ended_well(bench_run(&b, "half", NULL, half, NULL));
    static const char *const on[] = { "--set", "settings.training_target.num_target_steps=8",
                                      "--set", "settings.training_target.num_target_tokens=512",
                                      NULL };
    assert_ended_well(bench_run(&b, "on", "half", on, NULL));
    Str results;
    assert_no_error(
        file_read(b.arena, path_join(b.arena, b.root, "on/evaluation_results.jsonl"), &results));
    const char *first = arena_string_n(b.arena, results.ptr, strcspn(results.ptr, "\n"));
    assert_contains(first, "\"dataloader_tag\": \"val\"");
    assert_contains(first, "\"num_train_steps_done\": 4");
    assert_true(file_exists(path_join(b.arena, b.root,
                                      "on/checkpoints/eid_on-seen_steps_4-seen_tokens_256-target_"
                                      "steps_8-target_tokens_512")));
    arena_free(b.arena);
}

TEST(resume_finds_checkpoints_below_any_path)
{
    Bench b = bench_new();
    b.root = path_join(b.arena, b.root, "\xc3\xbc \xf0\x9f\x98\x80 \xff \"'\\ $x");
    assert_no_error(make_directories(b.root));
    const char *const further[] = { "--set", "settings.training_target.num_target_steps=12",
                                    "--set", "settings.training_target.num_target_tokens=768",
                                    NULL };
    assert_ended_well(bench_run(&b, "whole", NULL, NULL, NULL));
    assert_ended_well(bench_run(&b, "on", "whole", further, NULL));
    int64_t steps;
    assert_true(is_directory(bench_last_checkpoint(&b, "on", &steps)));
    assert_int_equal(steps, 12);
    arena_free(b.arena);
}

/* 187 samples are 46 steps of 4. */
static const char *const too_long[] = {
    "--set", "settings.training_target.num_target_steps=50",
    "--set", "settings.consistency_enforcement.enforce_enough_tokens_in_dataset=false",
    "--set", "settings.intervals.evaluation_interval_in_steps=1000",
    NULL
};

TEST(resume_is_offered_when_the_data_end_before_the_target)
{
    Bench b = bench_new();
    Outcome o = bench_run(&b, "short", NULL, too_long, NULL);
    assert_ended_well(o);
    assert_contains(o.text, "warning: the training dataset has 187 samples");
    assert_contains(o.text, "warning: the training data ended after step 46 of 50; the state is "
                            "saved. To go on:\n  modalities resume ");
    assert_contains(o.text, "\nTraining stopped at ");
    int64_t steps;
    bench_last_checkpoint(&b, "short", &steps);
    assert_int_equal(steps, 46);
    const char *const go_on[] = {
        "--set", "settings.consistency_enforcement.enforce_enough_tokens_in_dataset=false", NULL
    };
    o = bench_run(&b, "still_short", "short", go_on, NULL);
    assert_ended_well(o);
    assert_contains(o.text, "warning: the training data ended after step 46 of 50; nothing new was "
                            "learnt.");
    arena_free(b.arena);
}

TEST(resume_is_not_offered_where_no_checkpoint_is_wanted)
{
    Bench b = bench_new();
    const char *const none[] = {
        "--set",     "checkpoint_saving.config.checkpoint_saving_strategy.config.k=0",
        too_long[0], too_long[1],
        too_long[2], too_long[3],
        too_long[4], too_long[5],
        NULL
    };
    Outcome o = bench_run(&b, "none", NULL, none, NULL);
    assert_ended_well(o);
    assert_contains(o.text, "after step 46 of 50; nothing is saved, as checkpoint_saving_strategy "
                            "says.");
    assert_false(bench_has_checkpoint(&b, "none"));
    arena_free(b.arena);
}
