/* test_kill.c - a training that is killed at any moment goes on with the same bits.
 *
 * kill_points.h says at which writes, fsyncs, renames, removals and creations of checkpoints. */
#include "base/clock.h"
#include "base/rng.h"
#include "end_to_end/kill_points.h"
#include "end_to_end/training.h"
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Four checkpoints, each replacing the one before; with parameters in halves. */
static const char *const set[] = { "--set",
                                   "settings.intervals.checkpointing_interval_in_steps=2",
                                   "--set",
                                   "checkpoint_saving.config.checkpoint_saving_strategy.config.k=1",
                                   "--set",
                                   "wrapped_model.config.mixed_precision_settings.param_dtype="
                                   "BF_16",
                                   NULL };

static const char *shim(Arena *a)
{
    return arena_printf(a, "LD_PRELOAD=%s", test_tool(a, "crash_shim.so"));
}

/* What was killed goes on: every second one in its own folder, the others by a warm start, if there
 * is a checkpoint. Then it must have what the uninterrupted run has. */
static void check_recovery(const Bench *b, const char *id, bool in_same_folder)
{
    const char *const again[] = {
        set[0], set[1], set[2], set[3], set[4], set[5], "--resume_if_started", NULL
    };
    bool is_resumed = in_same_folder || !bench_has_checkpoint(b, id);
    const char *to = is_resumed ? id : arena_printf(b->arena, "%s-on", id);
    int64_t steps = 0;
    if (!is_resumed) bench_last_checkpoint(b, id, &steps);
    Outcome o = is_resumed ? bench_run(b, id, NULL, again, NULL) : bench_run(b, to, id, set, NULL);
    if (o.status) fail_msg("%s: status %d: %s", id, o.status, o.text);
    if (steps == 8) return; /* nothing was left to do */
    assert_same_state(b, to, "whole");
    assert_curve_within(b, to, "whole");
    if (is_resumed) assert_curve_within(b, "whole", to);
}

/* Runs with the fault CRASH_AT=`at`, which must kill. */
static void kill_at(const Bench *b, const char *at, int number)
{
    const char *id = arena_printf(b->arena, "killed-%d", number);
    const char *const faults[] = { shim(b->arena), "ASAN_OPTIONS=verify_asan_link_order=0",
                                   "CRASH_PATH=/checkpoints",
                                   arena_printf(b->arena, "CRASH_AT=%s", at), NULL };
    Outcome o = bench_run(b, id, NULL, set, faults);
    if (o.status != -SIGKILL) fail_msg("%s: status %d: %s", at, o.status, o.text);
    check_recovery(b, id, number % 2 == 0);
    assert_no_error(remove_tree(path_join(b->arena, b->root, id)));
}

/* The events of an uninterrupted run, one per line. */
static const char *log_events(const Bench *b)
{
    const char *path = path_join(b->arena, test_folder(), "events");
    const char *const faults[] = { shim(b->arena), "ASAN_OPTIONS=verify_asan_link_order=0",
                                   "CRASH_PATH=/checkpoints",
                                   arena_printf(b->arena, "CRASH_LOG=%s", path), NULL };
    assert_ended_well(bench_run(b, "whole", NULL, set, faults));
    Str events;
    assert_no_error(file_read(b->arena, path, &events));
    return events.ptr;
}

static int count(const char *events, const char *kind)
{
    int n = 0;
    for (const char *line = events; *line; line = strchr(line, '\n') + 1)
        n += str_starts(str_of(line), kind);
    return n;
}

TEST(killed_at_an_event_of_a_checkpoint_training_goes_on_with_the_same_bits)
{
    static const char *const kinds[] = { "create", "write", "fsync", "rename", "remove" };
    Bench b = bench_new();
    uint64_t seed = kill_seed();
    const char *events = log_events(&b);
    int number = 0;
    assert_in_range(count(events, ""), 40, 1000);
    kill_at(&b, "any:1", number++);
    for (int k = 0; k < 5; k++) {
        int n = count(events, kinds[k]), n_points = kill_points(n);
        assert_true(n >= 3);
        for (int i = 0; i < n_points; i++, number++)
            kill_at(&b, arena_printf(b.arena, "%s:%d", kinds[k], kill_point(seed, i, n)), number);
        kill_progress("training", kinds[k], n_points, n);
    }
    arena_free(b.arena);
}

TEST(killed_at_any_moment_training_goes_on_with_the_same_bits)
{
    Bench b = bench_new();
    double start = clock_seconds();
    assert_ended_well(bench_run(&b, "whole", NULL, set, NULL));
    double took = clock_seconds() - start;
    uint64_t seed = kill_seed();
    int n = is_long_kill_test() ? 16 * KILL_MOMENTS : 3;
    for (int i = 0; i < n; i++) {
        const char *id = arena_printf(b.arena, "killed-%d", i);
        double after = took * rng_uniform(seed, (uint64_t)i);
        pid_t child = command_start(b.arena, bench_words(&b, id, NULL, set), NULL, NULL);
        usleep((useconds_t)(after * 1e6));
        kill(child, SIGKILL);
        Outcome o = command_wait(b.arena, child, NULL);
        if (o.status && o.status != -SIGKILL) fail_msg("status %d: %s", o.status, o.text);
        check_recovery(&b, id, i % 2 == 0);
        kill_progress("training", "moment", i + 1, n);
    }
    arena_free(b.arena);
}
