/* test_going_on.c - `modalities resume`: a training that was stopped or killed goes on in its own
 * folder, and leaves there what an uninterrupted one leaves, to the bit. */
#include "base/file.h"
#include "cli/command_line.h"
#include "end_to_end/training.h"
#include "monitor/run_record.h"
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define SET(what) "--set", what
#define STEPS SET("settings.training_target.num_target_steps=24")
/* Intervals that stops fall between: sums of a log line and evaluations are pending. */
#define INTERVALS                                                                                  \
    SET("settings.intervals.training_log_interval_in_steps=3"),                                    \
        SET("settings.intervals.evaluation_interval_in_steps=4")
static const char *const usual[] = { STEPS, INTERVALS,
                                     SET("settings.intervals.checkpointing_interval_in_steps=4"),
                                     NULL };
static const char *const no_checkpoint[] = {
    STEPS, INTERVALS, SET("settings.intervals.checkpointing_interval_in_steps=24"), NULL
};

static const char *in(const Bench *b, const char *id, const char *name)
{
    return arena_printf(b->arena, "%s/%s/%s", b->root, id, name);
}

/* Starts a run, reads until it says `mark`, sends the signal; `status` is how it must end. */
static void run_until(const Bench *b, const char *id, Words set, const char *mark, int number,
                      int status)
{
    int ends[2];
    assert_int_equal(pipe2(ends, O_CLOEXEC), 0);
    assert_true(fcntl(ends[0], F_SETPIPE_SZ, 4096) > 0);
    pid_t child = command_start(b->arena, bench_words(b, id, NULL, set), NULL, ends);
    Text said = { 0 };
    char buffer[64];
    ssize_t n;
    while ((!said.ptr || !strstr(said.ptr, mark)) && (n = read(ends[0], buffer, sizeof buffer)) > 0)
        text_add(&said, buffer, (size_t)n);
    if (!said.ptr || !strstr(said.ptr, mark)) fail_msg("no \"%s\" in: %s", mark, said.ptr);
    assert_int_equal(kill(child, number), 0);
    while ((n = read(ends[0], buffer, sizeof buffer)) > 0) text_add(&said, buffer, (size_t)n);
    if (number != SIGKILL)
        assert_contains(said.ptr, resume_command(b->arena, path_join(b->arena, b->root, id)));
    text_free(&said);
    close(ends[0]);
    assert_int_equal(command_wait(b->arena, child, ends).status, status);
}

static Outcome resume(const Bench *b, const char *folder)
{
    unsetenv("TRAIN_PBIN"); /* what was taken from there is kept */
    const char *const words[] = { "resume", folder, NULL };
    return command_output(b->arena, words, NULL);
}

/* The results without times, a line each. */
static const char *results_of(const Bench *b, const char *id)
{
    Str all;
    assert_no_error(file_read(b->arena, in(b, id, "evaluation_results.jsonl"), &all));
    Text kept = { 0 };
    for (const char *line = all.ptr; *line; line += strcspn(line, "\n") + 1) {
        const char *end = strstr(line, ", \"throughput_metrics\"");
        assert_non_null(end);
        text_add(&kept, line, (size_t)(end - line));
        text_putc(&kept, '\n');
    }
    const char *text = arena_string(b->arena, kept.ptr);
    text_free(&kept);
    return text;
}

static void assert_same_run(const Bench *b, const char *id, const char *other)
{
    assert_same_state(b, id, other);
    assert_string_equal(results_of(b, id), results_of(b, other));
}

static RunState state_of(const Bench *b, const char *id)
{
    RunRecord r;
    assert_no_error(run_record_read(b->arena, path_join(b->arena, b->root, id), &r));
    return r.state;
}

TEST(going_on_after_a_stop_between_all_intervals_gives_the_same_run)
{
    Bench b = bench_new();
    run_until(&b, "cut", usual, "step: 6 |", SIGTERM, EXIT_STOPPED);
    assert_int_equal(state_of(&b, "cut"), RUN_STOPPED);
    Outcome o = resume(&b, path_join(b.arena, b.root, "cut"));
    assert_ended_well(o);
    assert_contains(o.text, "going on after step ");
    assert_int_equal(state_of(&b, "cut"), RUN_DONE);
    assert_ended_well(bench_run(&b, "whole", NULL, usual, NULL));
    assert_same_run(&b, "cut", "whole");
    arena_free(b.arena);
}

/* Results after the last checkpoint are there twice, but for the cut. */
TEST(going_on_after_a_kill_gives_the_same_run)
{
    Bench b = bench_new();
    run_until(&b, "cut", usual, "step: 15 |", SIGKILL, -SIGKILL);
    assert_int_equal(state_of(&b, "cut"), RUN_KILLED);
    const char *half = "{\"dataloader_tag\": \"train\", \"num_tr";
    assert_no_error(file_append(in(&b, "cut", "evaluation_results.jsonl"), half, strlen(half)));
    assert_ended_well(resume(&b, path_join(b.arena, b.root, "cut")));
    assert_ended_well(bench_run(&b, "whole", NULL, usual, NULL));
    assert_same_run(&b, "cut", "whole");
    arena_free(b.arena);
}

TEST(going_on_without_a_checkpoint_begins_anew_and_says_so)
{
    Bench b = bench_new();
    run_until(&b, "cut", no_checkpoint, "step: 6 |", SIGKILL, -SIGKILL);
    assert_false(bench_has_checkpoint(&b, "cut"));
    Outcome o = resume(&b, path_join(b.arena, b.root, "cut"));
    assert_ended_well(o);
    assert_contains(o.text, "has no checkpoint yet: the training begins anew");
    assert_ended_well(bench_run(&b, "whole", NULL, no_checkpoint, NULL));
    assert_same_run(&b, "cut", "whole");
    arena_free(b.arena);
}

/* In the last step a signal may cut short the evaluation, or come too late for anything. */
TEST(going_on_after_a_stop_in_the_last_step_gives_the_same_run)
{
    Bench b = bench_new();
    int ends[2];
    assert_int_equal(pipe2(ends, O_CLOEXEC), 0);
    pid_t child = command_start(b.arena, bench_words(&b, "cut", NULL, usual), NULL, ends);
    Text said = { 0 };
    char buffer[64];
    ssize_t n;
    bool is_told = false;
    while ((n = read(ends[0], buffer, sizeof buffer)) > 0) {
        text_add(&said, buffer, (size_t)n);
        if (!is_told && strstr(said.ptr, "step: 24 |")) is_told = kill(child, SIGTERM) == 0;
    }
    close(ends[0]);
    int status = command_wait(b.arena, child, ends).status;
    if (status && status != EXIT_STOPPED) fail_msg("status %d: %s", status, said.ptr);
    text_free(&said);
    assert_ended_well(resume(&b, path_join(b.arena, b.root, "cut")));
    assert_ended_well(bench_run(&b, "whole", NULL, usual, NULL));
    assert_same_run(&b, "cut", "whole");
    arena_free(b.arena);
}

TEST(going_on_with_a_finished_run_is_one_line)
{
    Bench b = bench_new();
    assert_ended_well(bench_run(&b, "whole", NULL, usual, NULL));
    const char *before = results_of(&b, "whole");
    Outcome o = resume(&b, path_join(b.arena, b.root, "whole"));
    assert_ended_well(o);
    assert_contains(o.text, "the target of 24 steps is reached; nothing is left to do\n");
    assert_null(strstr(o.text, "Training Report"));
    assert_string_equal(results_of(&b, "whole"), before);
    const char *const unsaved[] = { SET("settings.intervals.checkpointing_interval_in_steps=9"),
                                    NULL };
    assert_ended_well(bench_run(&b, "unsaved", NULL, unsaved, NULL));
    assert_contains(resume(&b, path_join(b.arena, b.root, "unsaved")).text,
                    "the target of 8 steps is reached; nothing is left to do\n");
    arena_free(b.arena);
}

/* All ranks by the same record: one that is ahead of the others holds the experiment already. */
TEST(going_on_with_a_finished_run_of_ranks_ends_them_all)
{
    Bench b = bench_new();
    const char *const unsaved[] = { "--ranks", "2",
                                    SET("settings.intervals.checkpointing_interval_in_steps=9"),
                                    NULL };
    assert_ended_well(bench_run(&b, "x", NULL, unsaved, NULL));
    for (int i = 0; i < 5; i++) {
        const Outcome o = resume(&b, path_join(b.arena, b.root, "x"));
        assert_ended_well(o);
        assert_contains(o.text, "the target of 8 steps is reached; nothing is left to do\n");
        assert_null(strstr(o.text, "Training Report"));
    }
    arena_free(b.arena);
}

/* From a checkpoint that is not the last one, in another folder than the run was started in, with
 * paths that are relative, and checkpoints outside of the experiment. */
TEST(going_on_from_anywhere_with_checkpoints_elsewhere)
{
    Bench b = bench_new();
    const char *here = path_absolute(b.arena, "."), *yaml = "tests/end_to_end/train.yaml";
    const char *base = path_folder(b.arena, b.root);
    const char *const words[] = { "run",
                                  "--config_file_path",
                                  path_join(b.arena, here, yaml),
                                  "--experiments_root_path",
                                  "experiments",
                                  "--experiment_id",
                                  "far",
                                  STEPS,
                                  INTERVALS,
                                  SET("settings.paths.checkpoint_saving_path=saved"),
                                  SET("settings.intervals.checkpointing_interval_in_steps=4"),
                                  NULL };
    const char *const variables[] = { "TRAIN_PBIN=tokens.pbin", NULL };
    const char *program = program_path();
    setenv("MODALITIES_PROGRAM", path_absolute(b.arena, program), 1);
    assert_int_equal(chdir(base), 0);
    const char *resumed = path_join(b.arena, base,
                                    "saved/eid_far-seen_steps_20-seen_tokens_1280-"
                                    "target_steps_24-target_tokens_1536");
    assert_ended_well(command_output(b.arena, words, variables));
    const char *before = results_of(&b, "far");
    assert_int_equal(chdir("/"), 0);
    assert_true(is_directory(resumed));
    Outcome o = resume(&b, resumed);
    assert_ended_well(o);
    assert_contains(o.text, "going on after step 20");
    assert_string_equal(results_of(&b, "far"), before);
    arena_free(b.arena);
}

TEST(going_on_with_a_further_target_reaches_all_that_follows_from_it)
{
    Bench b = bench_new();
    static const char *const short_run[] = {
        SET("settings.training_target.num_target_steps=12"),
        SET("lr_scheduler.variant_key=constant_lr"),
        SET("lr_scheduler.config={optimizer: {instance_key: optimizer, pass_type: BY_REFERENCE}, "
            "factor: 1.0, total_iters: 1}"),
        NULL
    };
    assert_ended_well(bench_run(&b, "more", NULL, short_run, NULL));
    const char *const words[] = { "resume", path_join(b.arena, b.root, "more"),
                                  SET("settings.training_target.num_target_steps=16"), NULL };
    assert_ended_well(command_output(b.arena, words, NULL));
    int64_t steps;
    assert_contains(bench_last_checkpoint(&b, "more", &steps), "target_tokens_1024");
    assert_int_equal(steps, 16);
    /* what was set stays set */
    assert_contains(resume(&b, words[1]).text, "the target of 16 steps is reached");
    arena_free(b.arena);
}

TEST(going_on_is_what_a_run_does_that_is_started_again)
{
    Bench b = bench_new();
    const char *const again[] = { STEPS, INTERVALS, "--resume_if_started",
                                  SET("settings.intervals.checkpointing_interval_in_steps=4"),
                                  NULL };
    run_until(&b, "job", again, "step: 6 |", SIGUSR1, EXIT_STOPPED);
    assert_ended_well(bench_run(&b, "job", NULL, again, NULL));
    assert_contains(bench_run(&b, "job", NULL, again, NULL).text, "nothing is left to do");
    assert_ended_well(bench_run(&b, "whole", NULL, usual, NULL));
    assert_same_run(&b, "job", "whole");
    arena_free(b.arena);
}

TEST(going_on_keeps_no_more_checkpoints_than_the_strategy_says)
{
    Bench b = bench_new();
    static const char *const two[] = {
        SET("checkpoint_saving.config.checkpoint_saving_strategy.config.k=2"), STEPS, INTERVALS,
        SET("settings.intervals.checkpointing_interval_in_steps=2"), NULL
    };
    run_until(&b, "few", two, "step: 9 |", SIGTERM, EXIT_STOPPED);
    assert_ended_well(resume(&b, path_join(b.arena, b.root, "few")));
    const char *output;
    Arena *a = b.arena;
    assert_int_equal(
        shell_run(a, arena_printf(a, "ls -d '%s'/eid_*", in(&b, "few", "checkpoints")), &output),
        0);
    int n = 0;
    for (const char *at = output; *at; at++) n += *at == '\n';
    assert_int_equal(n, 2);
    arena_free(b.arena);
}

/* Paths of the experiment follow it. */
TEST(going_on_in_a_folder_that_was_moved)
{
    Bench b = bench_new();
    run_until(&b, "old", usual, "step: 6 |", SIGTERM, EXIT_STOPPED);
    assert_int_equal(rename(path_join(b.arena, b.root, "old"), path_join(b.arena, b.root, "new")),
                     0);
    assert_ended_well(resume(&b, path_join(b.arena, b.root, "new")));
    assert_false(file_exists(path_join(b.arena, b.root, "old")));
    assert_ended_well(bench_run(&b, "whole", NULL, usual, NULL));
    assert_string_equal(results_of(&b, "new"), results_of(&b, "whole"));
    int64_t steps;
    bench_last_checkpoint(&b, "new", &steps);
    assert_int_equal(steps, 24);
    arena_free(b.arena);
}

/* Its YAML reads the state and the progress from the checkpoint that it was begun with. */
TEST(going_on_with_a_warm_start)
{
    Bench b = bench_new();
    run_until(&b, "first", usual, "step: 6 |", SIGTERM, EXIT_STOPPED);
    const char *const set[] = { STEPS, SET("settings.training_target.num_target_tokens=1536"),
                                INTERVALS,
                                SET("settings.intervals.checkpointing_interval_in_steps=4"), NULL };
    int ends[2];
    assert_int_equal(pipe2(ends, O_CLOEXEC), 0);
    assert_true(fcntl(ends[0], F_SETPIPE_SZ, 4096) > 0);
    Words words = bench_words(&b, "warm", "first", set);
    pid_t child = command_start(b.arena, words, NULL, ends);
    Text said = { 0 };
    char buffer[64];
    ssize_t n;
    while ((n = read(ends[0], buffer, sizeof buffer)) > 0) {
        text_add(&said, buffer, (size_t)n);
        if (strstr(said.ptr, "step: 15 |")) kill(child, SIGKILL);
    }
    text_free(&said);
    close(ends[0]);
    assert_int_equal(command_wait(b.arena, child, ends).status, -SIGKILL);
    assert_ended_well(resume(&b, path_join(b.arena, b.root, "warm")));
    assert_ended_well(bench_run(&b, "other", "first", set, NULL));
    assert_same_run(&b, "warm", "other");
    arena_free(b.arena);
}

TEST(going_on_is_refused_where_another_process_trains)
{
    Bench b = bench_new();
    run_until(&b, "one", usual, "step: 6 |", SIGTERM, EXIT_STOPPED);
    int lock;
    const char *folder = path_join(b.arena, b.root, "one");
    assert_no_error(run_lock_take(b.arena, folder, &lock));
    assert_true(run_lock_is_held(b.arena, folder));
    assert_int_equal(state_of(&b, "one"), RUN_RUNNING);
    assert_refused(resume(&b, folder), 1, "another process trains in ");
    close(lock);
    assert_false(run_lock_is_held(b.arena, folder));
    assert_ended_well(resume(&b, folder));
    arena_free(b.arena);
}

TEST(a_run_is_refused_in_the_folder_of_another_and_names_the_way_on)
{
    Bench b = bench_new();
    assert_ended_well(bench_run(&b, "one", NULL, NULL, NULL));
    const char *before = results_of(&b, "one");
    assert_refused(bench_run(&b, "one", NULL, NULL, NULL), 1,
                   resume_command(b.arena, path_join(b.arena, b.root, "one")));
    assert_refused(bench_run(&b, "one", "one", NULL, NULL), 1, "holds the results of another run");
    assert_string_equal(results_of(&b, "one"), before);
    assert_refused(resume(&b, b.root), 1, "there is nothing to go on with");
    arena_free(b.arena);
}

/* The file and the folder that name the last checkpoint mean it, as for other commands; of a moved
 * experiment, the one that has moved with it. */
TEST(going_on_by_the_file_that_names_the_last_checkpoint)
{
    Bench b = bench_new();
    const char *const told[] = { "one/checkpoints/last_checkpoint_info.json", "one/checkpoints" };
    assert_ended_well(bench_run(&b, "whole", NULL, usual, NULL));
    for (int i = 0; i < 2; i++) {
        run_until(&b, "old", usual, "step: 6 |", SIGTERM, EXIT_STOPPED);
        assert_int_equal(
            rename(path_join(b.arena, b.root, "old"), path_join(b.arena, b.root, "one")), 0);
        assert_ended_well(resume(&b, path_join(b.arena, b.root, told[i])));
        assert_false(file_exists(path_join(b.arena, b.root, "old")));
        assert_string_equal(results_of(&b, "one"), results_of(&b, "whole"));
        assert_int_equal(state_of(&b, "one"), RUN_DONE);
        assert_no_error(remove_tree(path_join(b.arena, b.root, "one")));
    }
    assert_refused(resume(&b, b.pbin), 1, "there is nothing to go on with");
    arena_free(b.arena);
}

TEST(an_experiment_given_for_a_checkpoint_is_told_where_its_last_one_is)
{
    Bench b = bench_new();
    assert_ended_well(bench_run(&b, "one", NULL, NULL, NULL));
    const char *const folders[] = { "one", "one/checkpoints" };
    for (int i = 0; i < 2; i++) {
        const char *folder = path_join(b.arena, b.root, folders[i]), *says;
        const char *const words[] = { "checkpoint", "inspect", folder, NULL };
        says = arena_printf(b.arena, "its last one is meant by %s%s/last_checkpoint_info.json",
                            folder, i ? "" : "/checkpoints");
        assert_refused(command_output(b.arena, words, NULL), 1, says);
    }
    arena_free(b.arena);
}

/* Some network drives have no locks. */
TEST(where_nothing_can_be_locked_a_training_says_so_and_goes_on)
{
    Bench b = bench_new();
    const char *const variables[] = { arena_printf(b.arena, "LD_PRELOAD=%s",
                                                   test_tool(b.arena, "lock_shim.so")),
                                      "ASAN_OPTIONS=verify_asan_link_order=0", NULL };
    Outcome o = bench_run(&b, "one", NULL, NULL, variables);
    assert_ended_well(o);
    assert_contains(o.text, "run.lock cannot be locked (");
    assert_contains(o.text, "see to it that only one process trains there");
    int64_t steps;
    bench_last_checkpoint(&b, "one", &steps);
    assert_int_equal(steps, 8);
    arena_free(b.arena);
}

/* By its folder, or by one of the two files beside that. */
TEST(going_on_from_a_former_checkpoint_of_fsdp1)
{
    static const char *const kinds[] = { "", "model-", "optimizer-" };
    Bench b = bench_new();
    const char *const set[] = { FSDP1_FILES, NULL };
    assert_ended_well(bench_run(&b, "one", NULL, set, NULL));
    const char *before = results_of(&b, "one");
    for (int i = 0; i < 3; i++) {
        const char *former =
            arena_printf(b.arena,
                         "%s/eid_one-%sseen_steps_4-seen_tokens_256-target_steps_8-"
                         "target_tokens_512%s",
                         in(&b, "one", "checkpoints"), kinds[i], i ? ".bin" : "");
        const Outcome o = resume(&b, former);
        assert_ended_well(o);
        assert_contains(o.text, "going on after step 4");
        assert_string_equal(results_of(&b, "one"), before);
    }
    const char *folder = bench_last_checkpoint(&b, "one", NULL),
               *alone = path_join(b.arena, b.root, path_name(folder)), *output;
    const char *copies = arena_printf(b.arena, "cp -r '%s' '%s'", folder, alone);
    assert_int_equal(shell_run(b.arena, copies, &output), 0);
    const char *const words[] = { "checkpoint", "verify", alone, NULL };
    assert_refused(command_output(b.arena, words, NULL), 1,
                   ".bin is missing: the files of FSDP1 lie beside the folder of their checkpoint");
    arena_free(b.arena);
}
