/* test_mpi_checkpoints.c - checkpoints of trainings whose ranks are processes: every process writes
 * its part, any other number of ranks goes on, and so does the job when one of them is killed. */
#include "base/clock.h"
#include "base/rng.h"
#include "comm/mpirun.h"
#include "end_to_end/job_ranks.h"
#include "end_to_end/kill_points.h"
#include "end_to_end/training.h"
#include <signal.h>
#include <unistd.h>

#define EVERY(n) "--set", "settings.intervals.checkpointing_interval_in_steps=" #n
#define STEPS(n) "--set", "settings.training_target.num_target_steps=" #n
#define SCHEDULE "--set", "lr_scheduler.config.total_steps=8"
#define BACKGROUND "--set", "checkpoint_saving.config.in_background=true"

static Words words_of(const Bench *b, const char *id, int n, Words flags, Words more)
{
    return mpirun_words(b->arena, n, flags, bench_words(b, id, NULL, more));
}

static Outcome run(const Bench *b, const char *id, int n, Words more)
{
    return command_output(b->arena, words_of(b, id, n, NULL, more), NULL);
}

TEST(processes_of_mpi_write_their_parts_and_threads_go_on)
{
    Bench b = bench_new();
    static const char *const whole[] = { "--ranks", "2", EVERY(4), NULL }, *const half[] = {
        EVERY(2), STEPS(4), SCHEDULE, BACKGROUND, NULL
    };
    mpirun_prepare(b.arena);
    assert_ended_well(bench_run(&b, "whole", NULL, whole, NULL));
    assert_ended_well(run(&b, "half", 2, half));
    const char *folder = bench_last_checkpoint(&b, "half", NULL);
    for (int r = 0; r < 2; r++)
        assert_true(
            file_exists(path_join(b.arena, folder, arena_printf(b.arena, "__%d_0.distcp", r))));
    assert_goes_on_as(&b, "half", "whole");
    arena_free(b.arena);
}

/* Ends what was killed, and compares. */
static void check_recovery(const Bench *b, const char *id, const char *whole, int n, Words more)
{
    const char *words[40];
    int k = 0;
    for (; more[k]; k++) words[k] = more[k];
    words[k++] = "--resume_if_started";
    words[k] = NULL;
    Outcome o = run(b, id, n, words);
    if (o.status) fail_msg("%s: status %d: %s", id, o.status, o.text);
    assert_same_state(b, id, whole);
    assert_curve_within(b, id, whole);
    assert_curve_within(b, whole, id);
    assert_no_error(remove_tree(path_join(b->arena, b->root, id)));
}

static void kill_at_moments(const Bench *b, const char *whole, int ranks, double took, Words more)
{
    const uint64_t seed = kill_seed();
    const int n = is_long_kill_test() ? 7 * KILL_MOMENTS : 1;
    for (int i = 0; i < n; i++) {
        const char *id = arena_printf(b->arena, "killed-%d-%d", ranks, i);
        const double after = took * rng_uniform(seed, (uint64_t)i);
        pid_t child = command_start(b->arena, words_of(b, id, ranks, NULL, more), NULL, NULL);
        usleep((useconds_t)(after * 1e6));
        const pid_t rank = find_child(child, i % ranks);
        if (rank) kill(rank, SIGKILL);
        if (rank) end_hanging_job(child);
        command_wait(b->arena, child, NULL); /* it may have been too late, or too early */
        check_recovery(b, id, whole, ranks, more);
        kill_progress("processes", "moment", i + 1, n);
    }
}

/* Every process at an event of its own checkpoints. */
static void kill_at_events(const Bench *b, const char *whole, int ranks, Words more)
{
    static const char *const kinds[] = { "write", "fsync", "rename" };
    const uint64_t seed = kill_seed();
    const int n = is_long_kill_test() ? KILL_POINTS : 1;
    const char *const flags[] = { "-x",
                                  arena_printf(b->arena, "LD_PRELOAD=%s",
                                               path_absolute(b->arena,
                                                             test_tool(b->arena, "crash_shim.so"))),
                                  NULL };
    for (int k = is_long_kill_test() ? 0 : 2; k < 3; k++) {
        for (int i = 0; i < n; i++) {
            const char *id = arena_printf(b->arena, "event-%d-%d-%d", ranks, k, i);
            const int at = 1 + (int)(rng_uniform(seed, (uint64_t)(100 + 50 * k + i)) * 12);
            const char *const faults[] = { "CRASH_PATH=/checkpoints",
                                           arena_printf(b->arena, "CRASH_AT=%s:%d", kinds[k], at),
                                           NULL };
            pid_t child =
                command_start(b->arena, words_of(b, id, ranks, flags, more), faults, NULL);
            end_hanging_job(child);
            command_wait(b->arena, child, NULL);
            check_recovery(b, id, whole, ranks, more);
            kill_progress("processes", kinds[k], i + 1, n);
        }
    }
}

static void kill_processes(int ranks, Words more)
{
    Bench b = bench_new();
    mpirun_prepare(b.arena);
    const double start = clock_seconds();
    assert_ended_well(run(&b, "whole", ranks, more));
    const double took = clock_seconds() - start;
    if (is_long_kill_test() || ranks == 2) kill_at_events(&b, "whole", ranks, more);
    if (is_long_kill_test() || ranks != 2) kill_at_moments(&b, "whole", ranks, took, more);
    arena_free(b.arena);
}

TEST(killed_processes_of_two_go_on_with_the_same_bits)
{
    kill_processes(2, (const char *[]){ EVERY(2), NULL });
}
TEST(killed_processes_of_four_that_save_in_the_background_go_on_with_the_same_bits)
{
    kill_processes(4, (const char *[]){ EVERY(1), BACKGROUND, NULL });
}
