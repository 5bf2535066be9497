/* test_background.c - checkpoints that are written while the training goes on. */
#include "cli/command_line.h"
#include "end_to_end/training.h"
#include <signal.h>
#include <string.h>
#include <unistd.h>

#define BACKGROUND "--set", "checkpoint_saving.config.in_background=true"
#define KEEP_ALL "--set", "checkpoint_saving.config.checkpoint_saving_strategy.config.k=-1"
#define EVERY(n) "--set", "settings.intervals.checkpointing_interval_in_steps=" #n

static Words shim(Arena *a, const char *path, const char *at, const char *mode)
{
    const char **words = NEW_N(a, const char *, 6);
    words[0] = arena_printf(a, "LD_PRELOAD=%s", test_tool(a, "crash_shim.so"));
    words[1] = "ASAN_OPTIONS=verify_asan_link_order=0";
    words[2] = arena_printf(a, "CRASH_PATH=%s", path);
    words[3] = arena_printf(a, "CRASH_AT=%s", at);
    words[4] = arena_printf(a, "CRASH_MODE=%s", mode);
    return words;
}

static void assert_same_training(const char *ranks)
{
    Bench b = bench_new();
    const char *const waited[] = { "--ranks", ranks, EVERY(2), NULL }, *const beside[] = {
        "--ranks", ranks, BACKGROUND, EVERY(2), NULL
    };
    assert_ended_well(bench_run(&b, "waited", NULL, waited, NULL));
    Outcome o = bench_run(&b, "beside", NULL, beside, NULL);
    assert_ended_well(o);
    assert_contains(o.text, "for the copy that is saved in the background");
    assert_contains(o.text, "done and saved");
    int64_t steps;
    bench_last_checkpoint(&b, "beside", &steps);
    assert_int_equal(steps, 8);
    assert_same_state(&b, "beside", "waited");
    assert_curve_within(&b, "beside", "waited");
    arena_free(b.arena);
}

TEST(checkpoints_in_the_background_are_those_that_are_waited_for)
{
    assert_same_training("1");
}
TEST(checkpoints_of_ranks_in_the_background_are_those_that_are_waited_for)
{
    assert_same_training("2");
}

/* Rank 0 writes what the others send it. */
TEST(whole_files_of_ranks_are_the_same_when_waited_for_in_the_background_and_in_parts)
{
    Bench b = bench_new();
    static const char *const parts[] = { "--ranks", "2", EVERY(2), NULL },
                             *const waited[] = { "--ranks", "2", EVERY(2), FSDP1_FILES, NULL },
                             *const beside[] = { "--ranks",   "2",        EVERY(2),
                                                 FSDP1_FILES, BACKGROUND, NULL };
    assert_ended_well(bench_run(&b, "parts", NULL, parts, NULL));
    assert_ended_well(bench_run(&b, "waited", NULL, waited, NULL));
    Outcome o = bench_run(&b, "beside", NULL, beside, NULL);
    assert_ended_well(o);
    assert_contains(o.text, "for the copy that is saved in the background");
    assert_same_checkpoint(&b, "waited", "parts");
    assert_same_checkpoint(&b, "beside", "parts");
    arena_free(b.arena);
}

/* By files of each rank, whose bytes are the same, and by whole ones. */
TEST(parameters_in_halves_are_saved_as_whole_ones_in_every_way)
{
#define BF16 "--set", "wrapped_model.config.mixed_precision_settings.param_dtype=BF_16"
#define RANKS "--ranks", "2", EVERY(2), BF16
    static const struct {
        const char *id;
        const char *const words[14];
    } runs[] = {
        { "whole", { RANKS, "--set", "optimizer.config.master_weights=FP_32", NULL } },
        { "waited", { RANKS, NULL } },
        { "beside", { RANKS, BACKGROUND, NULL } },
        { "one-file", { RANKS, FSDP1_FILES, NULL } },
        { "one-file-beside", { RANKS, FSDP1_FILES, BACKGROUND, NULL } },
    };
    Bench b = bench_new();
    for (int i = 0; i < 5; i++) {
        assert_ended_well(bench_run(&b, runs[i].id, NULL, runs[i].words, NULL));
        if (i) assert_curve_within(&b, runs[i].id, "whole");
        if (i == 1 || i == 2) assert_same_state(&b, runs[i].id, "whole");
        if (i) assert_same_checkpoint(&b, runs[i].id, "whole");
    }
    arena_free(b.arena);
}
FENCED(parameters_in_halves_are_saved_as_whole_ones_in_every_way)

TEST(a_checkpoint_that_fails_in_the_background_is_a_warning_and_the_training_goes_on)
{
    Bench b = bench_new();
    for (int ranks = 1; ranks <= 2; ranks++) {
        const char *id = arena_printf(b.arena, "x%d", ranks);
        const char *const words[] = { "--ranks", arena_printf(b.arena, "%d", ranks), BACKGROUND,
                                      EVERY(4), NULL };
        Outcome o = bench_run(&b, id, NULL, words, shim(b.arena, "seen_steps_4", "write:4", "EIO"));
        assert_ended_well(o);
        assert_contains(o.text, "warning: checkpoint after step 4: ");
        assert_contains(o.text, "Input/output error; the training goes on");
        int64_t steps;
        bench_last_checkpoint(&b, id, &steps);
        assert_int_equal(steps, 8);
    }
    arena_free(b.arena);
}

TEST(a_checkpoint_that_fails_in_the_background_ends_the_training_where_that_is_asked_for)
{
    Bench b = bench_new();
    static const char *const words[] = { "--ranks",  "2",
                                         BACKGROUND, EVERY(2),
                                         "--set",    "checkpoint_saving.config.on_failure=stop",
                                         NULL };
    Outcome o = bench_run(&b, "x", NULL, words, shim(b.arena, "seen_steps_4", "write:4", "EIO"));
    assert_refused(o, 1, "checkpoint after step 4: ");
    int64_t steps;
    bench_last_checkpoint(&b, "x", &steps);
    assert_true(steps == 2 || steps > 4); /* what was learnt meanwhile is kept */
    arena_free(b.arena);
}

TEST(a_checkpoint_that_fails_need_not_end_a_training_that_waits_for_it)
{
    Bench b = bench_new();
    static const char *const words[] = { "--set", "checkpoint_saving.config.on_failure=go_on",
                                         EVERY(4), NULL };
    Outcome o = bench_run(&b, "x", NULL, words, shim(b.arena, "seen_steps_4", "write:4", "ENOSPC"));
    assert_ended_well(o);
    assert_contains(o.text, "the training goes on without a checkpoint of its own");
    arena_free(b.arena);
}

TEST(a_checkpoint_that_is_due_too_early_is_skipped_or_waited_for)
{
    Bench b = bench_new();
    static const char *const skip[] = { BACKGROUND, EVERY(1), "--set",
                                        "checkpoint_saving.config.when_busy=skip", NULL };
    static const char *const wait[] = { BACKGROUND, EVERY(4), NULL };
    Outcome o =
        bench_run(&b, "skip", NULL, skip, shim(b.arena, "seen_steps_1-", "fsync:1", "slow"));
    assert_ended_well(o);
    assert_contains(o.text, "warning: no checkpoint after step 2: the one before is still being");
    assert_null(strstr(o.text, "no checkpoint after step 1:"));
    assert_contains(o.text, "done");
    o = bench_run(&b, "wait", NULL, wait, shim(b.arena, "seen_steps_", "fsync:1", "slow"));
    assert_ended_well(o);
    int64_t steps;
    bench_last_checkpoint(&b, "wait", &steps);
    assert_int_equal(steps, 8);
    arena_free(b.arena);
}

/* The folder of a checkpoint. */
static const char *checkpoint_after(const Bench *b, const char *id, int steps)
{
    const char *output;
    const int status =
        shell_run(b->arena,
                  arena_printf(b->arena, "ls -d '%s/%s/checkpoints'/eid_*seen_steps_%d-*", b->root,
                               id, steps),
                  &output);
    if (status) fail_msg("%s: no checkpoint after step %d: %s", id, steps, output);
    return arena_string_n(b->arena, output, strcspn(output, "\n"));
}

/* Each event at a file takes longer than a step, so that updates come before anything is read. */
static void assert_unchanged_on_slow_disk(const char *ranks, const char *set)
{
    Bench b = bench_new();
    const char *const waited[] = { "--ranks", ranks, EVERY(2), KEEP_ALL, "--set", set, NULL },
                      *const beside[] = { "--ranks", ranks, EVERY(2),   KEEP_ALL,
                                          "--set",   set,   BACKGROUND, NULL };
    assert_ended_well(bench_run(&b, "waited", NULL, waited, NULL));
    assert_ended_well(
        bench_run(&b, "beside", NULL, beside, shim(b.arena, "seen_steps_2-", "create:1", "slow")));
    const char *const compare[] = { "checkpoint", "diff", checkpoint_after(&b, "waited", 2),
                                    checkpoint_after(&b, "beside", 2), NULL };
    assert_ended_well(command_output(b.arena, compare, NULL));
    arena_free(b.arena);
}

#define PARAM_DTYPE "wrapped_model.config.mixed_precision_settings.param_dtype="

TEST(steps_do_not_change_what_a_slow_disk_has_yet_to_take)
{
    assert_unchanged_on_slow_disk("1", PARAM_DTYPE "FP_32");
}
TEST(steps_of_ranks_do_not_change_what_a_slow_disk_has_yet_to_take)
{
    assert_unchanged_on_slow_disk("2", PARAM_DTYPE "FP_32");
}
TEST(steps_do_not_change_halves_of_parameters_that_a_slow_disk_has_yet_to_take)
{
    assert_unchanged_on_slow_disk("2", PARAM_DTYPE "BF_16");
}

/* The signal comes while the first checkpoint is being written. */
TEST(a_stop_waits_until_the_checkpoint_in_the_background_is_safe)
{
    Bench b = bench_new();
    static const char *const words[] = { "--ranks", "2", BACKGROUND, EVERY(2), NULL };
    assert_ended_well(bench_run(&b, "whole", NULL, words, NULL));
    pid_t child = command_start(b.arena, bench_words(&b, "x", NULL, words),
                                shim(b.arena, "/checkpoints", "fsync:1", "slow"), NULL);
    const char *folder = arena_printf(b.arena, "%s/x/checkpoints", b.root);
    for (int i = 0; i < 6000 && !file_exists(folder); i++) usleep(5 * 1000);
    usleep(300 * 1000);
    kill(child, SIGINT);
    Outcome o = command_wait(b.arena, child, NULL);
    if (o.status)
        assert_int_equal(o.status, 75); /* on a busy machine maybe before its first step */
    const char *const again[] = {
        "--ranks", "2", BACKGROUND, EVERY(2), "--resume_if_started", NULL
    };
    assert_ended_well(bench_run(&b, "x", NULL, again, NULL));
    assert_same_state(&b, "x", "whole");
    arena_free(b.arena);
}

/* The part of the second one cannot be written, is lost by the disk, or the process dies in it.
 * That is the fifth event: whole blocks of a file, its end, a flush, and closing are four. */
TEST(a_training_that_keeps_one_checkpoint_goes_on_from_it_whatever_happens_to_the_next)
{
    static const char *const modes[] = { "EIO", "lost", "kill" };
    Bench b = bench_new();
    const char *const words[] = { "--set",
                                  "checkpoint_saving.config.checkpoint_saving_strategy.config.k=1",
                                  EVERY(4), NULL };
    assert_ended_well(bench_run(&b, "whole", NULL, words, NULL));
    for (int i = 0; i < 3; i++) {
        Outcome o = bench_run(&b, modes[i], NULL, words,
                              shim(b.arena, "__0_0.distcp", "write:5", modes[i]));
        if (i == 0) assert_refused(o, 1, "checkpoint after step 8: ");
        if (i == 1) assert_contains(o.text, "no old checkpoint is deleted, as the new one cannot");
        if (i == 2) assert_int_equal(o.status, -SIGKILL);
        const char *const again[] = { "resume", checkpoint_after(&b, modes[i], 4), NULL };
        assert_ended_well(command_output(b.arena, again, NULL));
        assert_same_state(&b, modes[i], "whole");
    }
    arena_free(b.arena);
}
