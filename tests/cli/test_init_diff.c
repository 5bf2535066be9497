/* test_init_diff.c - a configuration made by `init` trains; `diff` of files and of runs. */
#include "base/file.h"
#include "end_to_end/training.h"
#include "test.h"
#include <string.h>

TEST(init_writes_a_short_configuration_that_trains)
{
    Bench b = bench_new();
    Arena *a = b.arena;
    const char *path = path_join(a, test_folder(), "train.yaml");
    const char *const init[] = { "init",
                                 b.pbin,
                                 "--size",
                                 "1m",
                                 "--vocab_size",
                                 "64",
                                 "--sequence_length",
                                 "16",
                                 "--batch",
                                 "2",
                                 "--tokens",
                                 "1300",
                                 "--output_path",
                                 path,
                                 NULL };
    Outcome o = command_output(a, init, NULL);
    assert_ended_well(o);
    assert_non_null(strstr(o.text, "40 steps of 32 tokens"));
    Str text;
    int n = 0;
    assert_no_error(file_read(a, path, &text));
    for (const char *c = text.ptr; *c; c++) n += *c == '\n';
    assert_true(n <= 40);
    const char *const run[] = { "run",  "--config_file_path", path, "--experiments_root_path",
                                b.root, "--experiment_id",    "x",  NULL };
    o = command_output(a, run, NULL);
    assert_ended_well(o);
    assert_contains(o.text, "All 40 steps are done and saved.");
    assert_null(strstr(o.text, "warning"));
    assert_refused(command_output(a, init, NULL), 1, "is there already");
    arena_free(a);
}

TEST(init_takes_a_number_of_steps_whose_last_is_evaluated_and_saved)
{
    Bench b = bench_new();
    Arena *a = b.arena;
    static const struct {
        int wanted, steps, log, evaluate, save;
    } pace[] = { { 2, 2, 1, 1, 2 },
                 { 7, 6, 1, 1, 3 },
                 { 39, 39, 1, 1, 3 },
                 { 41, 40, 1, 5, 20 },
                 { 259, 255, 1, 5, 15 },
                 { 999, 960, 2, 20, 80 },
                 { 1999, 1950, 5, 50, 150 },
                 { 4123, 4000, 10, 100, 500 },
                 { 12399, 12000, 10, 100, 500 } };
    const char *pbin = write_many_tokens(a);
    for (size_t i = 0; i < sizeof pace / sizeof *pace; i++) {
        const char *path = path_join(a, test_folder(), arena_printf(a, "%zu.yaml", i));
        const char *tokens = arena_printf(a, "%d", pace[i].wanted * 32 + 5);
        const char *const init[] = { "init",     pbin,   "--sequence_length", "16", "--batch", "2",
                                     "--tokens", tokens, "--output_path",     path, NULL };
        assert_ended_well(command_output(a, init, NULL));
        Str text;
        assert_no_error(file_read(a, path, &text));
        assert_contains(text.ptr, arena_printf(a, "num_target_steps: %d}", pace[i].steps));
        const int warmup = pace[i].steps < 50 ? 1 : pace[i].steps / 50;
        assert_contains(text.ptr, arena_printf(a, "{warmup_steps: %d,", warmup));
        assert_contains(text.ptr, arena_printf(a,
                                               "{training_log_interval_in_steps: %d, "
                                               "evaluation_interval_in_steps: %d, "
                                               "checkpointing_interval_in_steps: %d}",
                                               pace[i].log, pace[i].evaluate, pace[i].save));
    }
    arena_free(a);
}

TEST(init_refuses_a_budget_that_makes_no_steps)
{
    Bench b = bench_new();
    const char *const init[] = {
        "init", b.pbin,          "--sequence_length",
        "2048", "--output_path", path_join(b.arena, test_folder(), "t.yaml"),
        NULL
    };
    assert_refused(command_output(b.arena, init, NULL), 1, "make steps smaller");
    arena_free(b.arena);
}

TEST(diff_of_two_runs_names_settings_and_the_step_at_which_losses_part)
{
    Bench b = bench_new();
    Arena *a = b.arena;
    const char *const other[] = { "--set", "lr_scheduler.config.max_lr=2e-2", NULL };
    assert_ended_well(bench_run(&b, "one", NULL, NULL, NULL));
    assert_ended_well(bench_run(&b, "same", NULL, NULL, NULL));
    assert_ended_well(bench_run(&b, "other", NULL, other, NULL));
    const char *one = path_join(a, b.root, "one");
    const char *const to_same[] = { "diff", one, path_join(a, b.root, "same"), NULL };
    Outcome o = command_output(a, to_same, NULL);
    assert_ended_well(o);
    assert_non_null(strstr(o.text, "settings: no difference"));
    assert_non_null(strstr(o.text, "train train loss avg: the same at all 8 steps"));
    const char *const to_other[] = { "diff", one, path_join(a, b.root, "other"), NULL };
    o = command_output(a, to_other, NULL);
    assert_ended_well(o);
    assert_non_null(strstr(o.text, "lr_scheduler.config.max_lr"));
    assert_non_null(strstr(o.text, "0.02"));
    /* the first step still has the same parameters */
    assert_non_null(strstr(o.text, "train train loss avg: the same at 1 steps, then step 2: "));
    arena_free(a);
}

TEST(diff_of_configurations_resolves_them_first)
{
    Arena *a = arena_new();
    const char *x = path_join(a, test_folder(), "x.yaml"),
               *y = path_join(a, test_folder(), "y.yaml");
    const char *text = "a: {b: 1}\nc: ${a.b}\n";
    assert_no_error(file_write(x, text, strlen(text)));
    text = "extends: x.yaml\na: {b: 2}\n";
    assert_no_error(file_write(y, text, strlen(text)));
    const char *const words[] = { "diff", x, y, NULL };
    Outcome o = command_output(a, words, NULL);
    assert_ended_well(o);
    assert_non_null(strstr(o.text, "(and 1 that follow from it)"));
    arena_free(a);
}
