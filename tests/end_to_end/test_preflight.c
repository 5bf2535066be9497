/* test_preflight.c - what the first checkpoint needs is tried before the first step, and told. */
#include "end_to_end/training.h"
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

/* Before any step, and without a folder in the way of the next attempt. */
static void assert_no_step(const Bench *b, const char *id, Outcome o, const char *says)
{
    assert_refused(o, 1, says);
    assert_null(strstr(o.text, " step 1 "));
    assert_null(strstr(o.text, "train loss"));
    assert_false(file_exists(path_join(b->arena, b->root, id)));
}

TEST(a_negative_seed_is_saved)
{
    Bench b = bench_new();
    static const char *const set[] = { "--set", "model_raw.config.seed=-1", NULL };
    assert_ended_well(bench_run(&b, "x", NULL, set, NULL));
    assert_true(bench_has_checkpoint(&b, "x"));
    Str manifest;
    assert_no_error(file_read(
        b.arena, path_join(b.arena, bench_last_checkpoint(&b, "x", NULL), "manifest.json"),
        &manifest));
    assert_contains(manifest.ptr, "\"seed\": -1");
    arena_free(b.arena);
}

TEST(an_experiment_id_too_long_for_checkpoints_is_refused_before_the_first_step)
{
    Bench b = bench_new();
    char id[201];
    memset(id, 'i', 200);
    id[200] = 0;
    assert_no_step(&b, id, bench_run(&b, id, NULL, NULL, NULL),
                   "the experiment_id must be shorter by ");
    id[150] = 0;
    assert_ended_well(bench_run(&b, id, NULL, NULL, NULL));
    arena_free(b.arena);
}

TEST(a_limit_on_the_size_of_files_is_told_before_the_first_step)
{
    Bench b = bench_new();
    struct rlimit old, limit;
    assert_int_equal(getrlimit(RLIMIT_FSIZE, &old), 0);
    limit = old;
    limit.rlim_cur = 100000;
    Words words = bench_words(&b, "x", NULL, NULL);
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &limit), 0);
    Outcome o = command_output(b.arena, words, NULL);
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &old), 0);
    assert_no_step(&b, "x", o, "but files may have no more than 100 kB (ulimit -f)");
    arena_free(b.arena);
}

TEST(a_full_disk_is_told_before_the_first_step)
{
    Bench b = bench_new();
    const char *const faults[] = { arena_printf(b.arena, "LD_PRELOAD=%s",
                                                test_tool(b.arena, "crash_shim.so")),
                                   "ASAN_OPTIONS=verify_asan_link_order=0",
                                   "CRASH_PATH=.saving",
                                   "CRASH_AT=create:1",
                                   "CRASH_MODE=ENOSPC",
                                   NULL };
    assert_no_step(&b, "x", bench_run(&b, "x", NULL, NULL, faults), "no checkpoint could be saved");
    arena_free(b.arena);
}

TEST(steps_tokens_checkpoints_and_time_are_told)
{
    Bench b = bench_new();
    Outcome o = bench_run(&b, "x", NULL, NULL, NULL);
    assert_ended_well(o);
    assert_contains(o.text, "to do: 8 steps, 512 tokens, 2 checkpoints of ");
    assert_contains(o.text, " free\n");
    assert_contains(o.text, " for the 3 steps to go, ");
    assert_null(strstr(o.text, "zig-zag")); /* of ranks along cp, of which there are none */
    static const char *const one[] = {
        "--set", "checkpoint_saving.config.checkpoint_saving_strategy.config.k=1", NULL
    };
    assert_contains(bench_run(&b, "y", NULL, one, NULL).text, ", the newest 1 stays = ");
    static const char *const none[] = {
        "--set", "checkpoint_saving.config.checkpoint_saving_strategy.config.k=0", NULL
    };
    assert_contains(bench_run(&b, "z", NULL, none, NULL).text,
                    "to do: 8 steps, 512 tokens, no checkpoints, as checkpoint_saving_strategy");
    static const char *const half[] = {
        "--set", "settings.training_target.num_target_steps=5",
        "--set", "lr_scheduler.config.total_steps=8",
        "--set", "settings.intervals.checkpointing_interval_in_steps=5",
        NULL
    };
    assert_ended_well(bench_run(&b, "half", NULL, half, NULL));
    static const char *const on[] = { "--set", "settings.training_target.num_target_steps=8",
                                      "--set", "settings.training_target.num_target_tokens=512",
                                      NULL };
    assert_contains(bench_run(&b, "on", "half", on, NULL).text, "to do: 3 steps, 192 tokens, ");
    arena_free(b.arena);
}

/* The words before " NAME" in a line. */
static const char *bytes_before(Arena *a, const char *text, const char *name)
{
    const char *end = strstr(text, name);
    if (!end) fail_msg("no \"%s\" in: %s", name, text);
    const char *from = end;
    for (int words = 0; from > text; from--)
        if (from[-1] == ' ' && from < end && ++words == 2) break;
    return arena_string_n(a, from, (size_t)(end - from));
}

TEST(activations_are_the_same_in_a_run_its_plan_and_the_inspection_of_its_model)
{
    static const char *const variant[][3] = {
        { "--set", "settings.step_profile.sequence_length=16", NULL },
        { "--set", "wrapped_model.config.mixed_precision_settings.param_dtype=BF_16", NULL },
    };
    Bench b = bench_new();
    assert_int_equal(setenv("TRAIN_PBIN", b.pbin, 1), 0);
    for (int i = 0; i < 2; i++) {
        Arena *a = b.arena;
        const char *file[] = { "--config_file_path", "tests/end_to_end/train.yaml" };
        const char *const inspect[] = { "model",       "inspect",     file[0], file[1],
                                        variant[i][0], variant[i][1], NULL };
        const char *const planned[] = {
            "plan", file[0], file[1], variant[i][0], variant[i][1], NULL
        };
        Outcome ran = bench_run(&b, i ? "bf16" : "f32", NULL, variant[i], NULL),
                inspected = command_output(a, inspect, NULL),
                plan = command_output(a, planned, NULL);
        assert_ended_well(ran);
        assert_ended_well(inspected);
        assert_ended_well(plan);
        const char *took = bytes_before(a, ran.text, " for activations");
        assert_string_equal(bytes_before(a, inspected.text, "  activations and"), took);
        assert_string_equal(bytes_before(a, plan.text, "  activations and"), took);
        assert_contains(inspected.text, "a training step, in microbatches of 2 x 16 tokens");
    }
    arena_free(b.arena);
}
