/* test_rank_deaths.c - a rank of a training that is killed or stopped is named by the others, which
 * leave; what was saved stays whole, and the training goes on from there. */
#include "base/clock.h"
#include "cli/command_line.h"
#include "comm/mpirun.h"
#include "end_to_end/job_ranks.h"
#include "end_to_end/training.h"
#include <jansson.h>
#include <regex.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/wait.h>
#include <unistd.h>

#define SET(x) "--set", x

/* What the survivors must say, and how soon: a death is told by the connection, silence after 8 s.
 */
typedef struct Fate {
    int signal;       /* 0: it goes on, but its training does not */
    const char *flag; /* of mpirun; NULL: none */
    const char *says; /* an extended regular expression */
} Fate;

/* Waits until the experiment has a checkpoint, that is until its ranks train. */
static void wait_for_checkpoint(const Bench *b, const char *id, pid_t job)
{
    for (int i = 0; !bench_has_checkpoint(b, id); i++) {
        assert_true(i < 6000);
        assert_int_equal(kill(job, 0), 0);
        usleep(20 * 1000);
    }
}

static bool matches(const char *text, const char *pattern)
{
    regex_t r;
    assert_int_equal(regcomp(&r, pattern, REG_EXTENDED | REG_NOSUB), 0);
    bool found = regexec(&r, text, 0, NULL, 0) == 0;
    regfree(&r);
    return found;
}

/* The end of what was said. */
static const char *tail(const char *text)
{
    enum { MOST = 700 };
    const size_t n = strlen(text);
    return n > MOST ? text + n - MOST : text;
}

/* The thread that trains rests until detach; the others of its process go on. */
static void hold_training(pid_t rank)
{
    if (ptrace(PTRACE_SEIZE, rank, NULL, NULL) != 0) test_skip("no process may be traced here");
    assert_int_equal(ptrace(PTRACE_INTERRUPT, rank, NULL, NULL), 0);
    assert_int_equal(waitpid(rank, NULL, __WALL), rank);
}

static void strike(pid_t rank, int signal)
{
    if (signal)
        assert_int_equal(kill(rank, signal), 0);
    else
        hold_training(rank);
}

static const char *log_folder(Arena *a)
{
    return path_join(a, path_absolute(a, test_folder()), "logs");
}

/* A training of n ranks that cannot end before a signal arrives, with its first checkpoint. */
static pid_t start_job(const Bench *b, const char *id, int n, const char *flag, const char *timeout)
{
    Arena *a = b->arena;
    const char *const flags[] = { flag, NULL };
    const char *const more[] = {
        SET("settings.intervals.checkpointing_interval_in_steps=100"),
        SET("settings.intervals.evaluation_interval_in_steps=30000"),
        SET("settings.intervals.training_log_interval_in_steps=100"),
        SET("settings.training_target.num_target_steps=30000"),
        SET("lr_scheduler.config.total_steps=30000"),
        SET(arena_printf(a, "settings.paths.train_dataset_path=%s", write_many_tokens(a))),
        SET(arena_printf(a, "settings.paths.eval_dataset_path=%s", b->pbin)),
        SET(arena_printf(a, "settings.comm_timeout=%s", timeout)),
        "--error_log_folder",
        log_folder(a),
        NULL
    };
    Words words = mpirun_words(a, n, flag ? flags : NULL, bench_words(b, id, NULL, more));
    pid_t job = command_start(a, words, NULL, NULL);
    wait_for_checkpoint(b, id, job);
    return job;
}

static void check_fate(const Fate *f)
{
    Bench b = bench_new();
    Arena *a = b.arena;
    mpirun_prepare(a);
    pid_t job = start_job(&b, "x", 2, f->flag, f->signal ? "300" : "3");
    pid_t victim = find_child(job, 0);
    assert_true(victim > 0);
    double start = clock_seconds();
    strike(victim, f->signal);
    const bool is_there = f->signal != SIGKILL;
    if (f->flag) { /* the other rank ends by itself; mpirun may wait for the one that is stopped */
        pid_t other = find_child(job, is_there);
        while (other && kill(other, 0) == 0 && find_child(job, is_there) &&
               clock_seconds() - start < 60)
            usleep(50 * 1000);
    }
    double took = clock_seconds() - start;
    if (!f->signal) ptrace(PTRACE_DETACH, victim, NULL, NULL);
    if (is_there) kill(victim, SIGKILL);
    if (f->flag) end_hanging_job(job);
    Outcome o = command_wait(a, job, NULL);
    test_note("told after %.1f s", took);
    /* with --enable-recovery mpirun's own status is 0, whatever its processes ended with */
    if ((o.status == 0 && !f->flag) || !matches(o.text, f->says))
        fail_msg("status %d, after %.1f s: %s", o.status, took, tail(o.text));
    assert_true(took < 40); /* 8 s and what a busy machine adds */
    int64_t steps;
    const char *folder = bench_last_checkpoint(&b, "x", &steps);
    assert_true(steps >= 100);
    const char *const verify[] = { "checkpoint", "verify", folder, NULL };
    assert_ended_well(command_output(a, verify, NULL));
    arena_free(a);
}

/* The call, the axis, the step and the node in which the other one waited. */
#define NODE                                                                                       \
    ", in node [0-9]+ of this group: [a-z_]+( in [a-z_.0-9]+)? \\([a-z_]+\\), "                    \
    "src/[a-z_/]+\\.c:[0-9]+"
#define WAITED                                                                                     \
    "; rank [01] waited in [a-z_]+ over (dp_shard(, layer [0-9]+)?, step [0-9]+" NODE              \
    "|all ranks, step [0-9]+|checkpoint)"

TEST(a_killed_rank_of_a_training_is_named_by_the_other)
{
    check_fate(&(Fate){ SIGKILL, "--enable-recovery",
                        "rank [01] \\(process [0-9]+ on [^)]+\\) has died" WAITED });
}
TEST(a_stopped_rank_of_a_training_is_named_by_the_other)
{
    check_fate(&(Fate){ SIGSTOP, "--enable-recovery",
                        "rank [01] \\(process [0-9]+ on [^)]+\\) is stopped: nothing was heard of "
                        "it for 8 s" WAITED });
}
TEST(a_killed_rank_of_a_training_is_named_before_mpirun_kills_the_other)
{
    check_fate(&(Fate){ SIGKILL, NULL, "rank [01] \\(process [0-9]+ on [^)]+\\) has died" });
}
TEST(a_rank_of_a_training_that_lives_but_does_not_come_is_named_after_comm_timeout)
{
    check_fate(&(Fate){ 0, "--enable-recovery", "rank [01] has waited 3 s for rank [01]" WAITED });
}

/* The rank that left this log, which says who has died. */
static int64_t check_log(Arena *a, const char *path, pid_t dead, int64_t *dead_rank)
{
    Str text;
    assert_no_error(file_read(a, path, &text));
    json_t *log = json_loads(text.ptr, 0, NULL);
    assert_non_null(log);
    const json_t *from = json_object_get(log, "environment");
    const int64_t rank = json_integer_value(json_object_get(from, "rank")),
                  local = json_integer_value(json_object_get(from, "local_rank"));
    assert_int_equal(json_integer_value(json_object_get(from, "world_size")), 3);
    assert_contains(path, arena_printf(a, "_%d.log", (int)local));
    const char *says = json_string_value(json_object_get(json_object_get(log, "error"), "error"));
    const char *named = strstr(says, arena_printf(a, " (process %d on ", (int)dead));
    if (!named || named - says < 6) fail_msg("%d has died, but: %s", (int)dead, says);
    assert_memory_equal(named - 6, "rank ", 5);
    *dead_rank = named[-1] - '0';
    assert_contains(named, ") has died; ");
    assert_contains(named, arena_printf(a, "; rank %d waited in ", (int)rank));
    json_decref(log);
    return rank;
}

/* Of three ranks, so that two are left. */
TEST(a_killed_rank_is_named_in_the_error_logs_of_all_others)
{
    Bench b = bench_new();
    Arena *a = b.arena;
    mpirun_prepare(a);
    const pid_t job = start_job(&b, "x", 3, "--enable-recovery", "300"), dead = find_child(job, 0);
    PathList logs = { 0 };
    assert_true(dead > 0);
    assert_int_equal(kill(dead, SIGKILL), 0);
    for (int i = 0; i < 1200 && find_child(job, 0); i++) usleep(50 * 1000);
    assert_int_equal(find_child(job, 0), 0);
    end_hanging_job(job);
    const Outcome o = command_wait(a, job, NULL);
    error_free(files_below(a, log_folder(a), "", &logs));
    if (logs.n != 2) fail_msg("%d logs: %s", (int)logs.n, tail(o.text));
    int64_t dead_rank[2], rank[2];
    for (int i = 0; i < 2; i++) rank[i] = check_log(a, logs.item[i], dead, &dead_rank[i]);
    assert_int_equal(dead_rank[0], dead_rank[1]);
    assert_int_equal(rank[0] + rank[1] + dead_rank[0], 0 + 1 + 2);
    assert_int_not_equal(rank[0], rank[1]);
    arena_free(a);
}

/* One rank alone, or all of them, as by an mpirun that is stopped. */
TEST(a_signal_to_any_rank_saves_and_stops_all)
{
    Bench b = bench_new();
    Arena *a = b.arena;
    mpirun_prepare(a);
    for (int n = 1; n <= 2; n++) {
        const char *id = n == 1 ? "one" : "all";
        const int signal = n == 1 ? SIGINT : SIGTERM;
        const pid_t job = start_job(&b, id, 2, NULL, "300"),
                    rank[] = { find_child(job, 0), find_child(job, 1) };
        for (int i = 0; i < n; i++) assert_int_equal(kill(rank[i], signal), 0);
        const Outcome o = command_wait(a, job, NULL);
        int64_t steps;
        const char *folder = bench_last_checkpoint(&b, id, &steps);
        assert_int_equal(o.status, EXIT_STOPPED);
        assert_contains(o.text, "stopping after this step");
        assert_contains(o.text, arena_printf(a,
                                             "Stopped by signal %d after step %lld of 30000; "
                                             "the state is saved",
                                             signal, (long long)steps));
        if (n == 2) assert_contains(o.text, "leaves them time; the last checkpoint stays whole");
        const char *const verify[] = { "checkpoint", "verify", folder, NULL };
        assert_ended_well(command_output(a, verify, NULL));
    }
    arena_free(a);
}

/* Rank 0 cannot write its report, because nobody reads it for a while. */
TEST(a_thread_rank_that_does_not_come_is_named_after_comm_timeout)
{
    Bench b = bench_new();
    Arena *a = b.arena;
    const char *const more[] = { "--ranks",
                                 "2",
                                 "--print_graph",
                                 "after:all",
                                 "--error_log_folder",
                                 log_folder(a),
                                 SET("settings.comm_timeout=1.5"),
                                 NULL };
    Text line = { 0 };
    const char *said, *errors = path_join(a, test_folder(), "errors");
    Words words = bench_words(&b, "x", NULL, more);
    text_printf(&line, "(%s", program_path());
    for (int i = 0; words[i]; i++) text_printf(&line, " %s", words[i]);
    text_printf(&line, " 2>%s; echo status $?) | (sleep 6; tail -n 1)", errors);
    assert_int_equal(shell_run(a, line.ptr, &said), 0);
    text_free(&line);
    assert_string_equal(said, "status 1\n");
    Str text;
    assert_no_error(file_read(a, errors, &text));
    assert_contains(text.ptr, "rank 1 has waited 1.5 s for rank 0");
    PathList logs = { 0 };
    assert_no_error(files_below(a, log_folder(a), "_1.log", &logs));
    assert_int_equal(logs.n, 1);
    assert_no_error(file_read(a, logs.item[0], &text));
    assert_contains(text.ptr, "rank 1 has waited 1.5 s for rank 0; rank 1 waited in ");
    arena_free(a);
}
