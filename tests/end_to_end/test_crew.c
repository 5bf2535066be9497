/* test_crew.c - of the processes that torchrun starts on one machine one runs all ranks: they end
 * together, with one status, whichever of them is stopped or killed. */
#include "base/clock.h"
#include "data/pbin.h"
#include "end_to_end/training.h"
#include <dirent.h>
#include <sched.h>
#include <signal.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum { N = 3 };
#define LONG                                                                                       \
    "--set", "settings.training_target.num_target_steps=30000", "--set",                           \
        "settings.intervals.checkpointing_interval_in_steps=30000", "--set",                       \
        "settings.intervals.evaluation_interval_in_steps=30000"

static const char *const long_run[] = { LONG, NULL };

typedef struct CrewTest {
    Bench b;
    const char *many, *port;
    pid_t pid[N];
} CrewTest;

static CrewTest crew_new(void)
{
    CrewTest c = { .b = bench_new() };
    c.many = write_many_tokens(c.b.arena);
    c.port = arena_printf(c.b.arena, "MASTER_PORT=%d", (int)getpid());
    return c;
}

/* What torchrun sets for a process, and more. */
static Words variables_of(const CrewTest *c, int rank, Words more)
{
    Arena *a = c->b.arena;
    const char **v = NEW_N(a, const char *, 16);
    int n = 0;
    v[n++] = arena_printf(a, "RANK=%d", rank);
    v[n++] = arena_printf(a, "LOCAL_RANK=%d", rank);
    v[n++] = arena_printf(a, "WORLD_SIZE=%d", N);
    v[n++] = arena_printf(a, "LOCAL_WORLD_SIZE=%d", N);
    v[n++] = "MASTER_ADDR=localhost";
    v[n++] = c->port;
    v[n++] = "OMP_NUM_THREADS=1";
    for (; more && *more; more++) v[n++] = *more;
    return v;
}

static void start(CrewTest *c, int rank, Words words)
{
    c->pid[rank] = command_start(c->b.arena, words, variables_of(c, rank, NULL), NULL);
}

/* Those that wait begin first, except that the last comes late. */
static void start_all(CrewTest *c, Words words)
{
    start(c, 1, words);
    start(c, 0, words);
    usleep(200 * 1000);
    start(c, 2, words);
}

static void start_long(CrewTest *c, const char *id)
{
    Bench b = c->b;
    b.pbin = c->many;
    start_all(c, bench_words(&b, id, NULL, long_run));
}

static bool is_training(const CrewTest *c, const char *id)
{
    const char *path = arena_printf(c->b.arena, "%s/%s/evaluation_results.jsonl", c->b.root, id);
    return file_exists(path);
}

static void wait_until_it_trains(const CrewTest *c, const char *id)
{
    for (int i = 0; i < 6000 && !is_training(c, id); i++) usleep(10 * 1000);
    assert_true(is_training(c, id));
}

static Outcome end_of(CrewTest *c, int rank)
{
    return command_wait(c->b.arena, c->pid[rank], NULL);
}

TEST(a_crew_runs_its_ranks_in_one_process)
{
    CrewTest c = crew_new();
    start_all(&c, bench_words(&c.b, "one", NULL, NULL));
    Outcome worker = end_of(&c, 0);
    assert_ended_well(worker);
    assert_contains(worker.text, "3 processes were started; the one with LOCAL_RANK=0 trains");
    assert_contains(worker.text, "world_size: 3");
    assert_contains(worker.text, "step: 8 ");
    assert_contains(worker.text, "consumed tokens: 1536.0");
    for (int i = 1; i < N; i++) {
        Outcome waiting = end_of(&c, i);
        assert_ended_well(waiting);
        assert_string_equal(waiting.text, "");
    }
    start_all(&c, bench_words(&c.b, "two", "one", NULL)); /* warmstart; the same port again */
    for (int i = 0; i < N; i++) assert_ended_well(end_of(&c, i));
    arena_free(c.b.arena);
}

/* Alone, with a clock that goes 2000 times as fast. */
static Outcome wait_in_vain(const CrewTest *c, int rank)
{
    Arena *a = c->b.arena;
    const char *const fast[] = { arena_printf(a, "LD_PRELOAD=%s",
                                              path_absolute(a, test_tool(a, "clock_shim.so"))),
                                 "ASAN_OPTIONS=verify_asan_link_order=0", "CLOCK_RATE=2000", NULL };
    return bench_run(&c->b, "alone", NULL, NULL, variables_of(c, rank, fast));
}

TEST(a_process_whose_crew_does_not_come_gives_up_after_ten_minutes)
{
    CrewTest c = crew_new();
    Outcome o = wait_in_vain(&c, 1);
    assert_refused(o, 1,
                   "1 process of this job did not come within 10 minutes (LOCAL_RANK=1, "
                   "LOCAL_WORLD_SIZE=3)");
    static const char notice[] =
        "LOCAL_RANK=1 of LOCAL_WORLD_SIZE=3: waiting for 1 process of this job to start";
    const char *said = strstr(o.text, notice);
    assert_true(said && !strstr(said + 1, notice)); /* once */
    assert_refused(wait_in_vain(&c, 0), 1,
                   "2 processes of this job did not come within 10 minutes");
    arena_free(c.b.arena);
}

TEST(a_crew_has_the_status_of_one_that_fails_at_once)
{
    CrewTest c = crew_new();
    static const char *const wrong[] = { "--set", "model_raw.config.n_layr=1", NULL };
    start_all(&c, bench_words(&c.b, "wrong", NULL, wrong));
    Outcome worker = end_of(&c, 0);
    assert_in_range(worker.status, 1, 2);
    assert_contains(worker.text, "n_layr");
    for (int i = 1; i < N; i++) {
        Outcome waiting = end_of(&c, i);
        assert_int_equal(waiting.status, worker.status);
        assert_string_equal(waiting.text, "");
    }
    arena_free(c.b.arena);
}

static int count_threads(Arena *a, pid_t pid)
{
    DIR *d = opendir(arena_printf(a, "/proc/%d/task", (int)pid));
    assert_non_null(d);
    int n = 0;
    for (const struct dirent *e; (e = readdir(d));) n += e->d_name[0] != '.';
    closedir(d);
    return n;
}

/* torchrun sends them to all of its processes. */
TEST(a_crew_that_is_stopped_saves_and_ends_together)
{
    CrewTest c = crew_new();
    start_long(&c, "stopped");
    wait_until_it_trains(&c, "stopped");
    cpu_set_t cpus;
    assert_int_equal(sched_getaffinity(0, sizeof cpus, &cpus), 0);
    assert_true(count_threads(c.b.arena, c.pid[0]) >= CPU_COUNT(&cpus)); /* in spite of OMP_... */
    for (int i = N; i-- > 0;) kill(c.pid[i], SIGTERM);
    for (int i = N; i-- > 0;) kill(c.pid[i], SIGINT);
    for (int i = 0; i < N; i++) assert_int_equal(end_of(&c, i).status, EXIT_STOPPED);
    assert_true(bench_has_checkpoint(&c.b, "stopped"));
    arena_free(c.b.arena);
}

TEST(a_crew_saves_and_ends_when_one_that_waits_is_killed)
{
    CrewTest c = crew_new();
    start_long(&c, "lost");
    wait_until_it_trains(&c, "lost");
    kill(c.pid[1], SIGKILL);
    assert_int_equal(end_of(&c, 1).status, -SIGKILL);
    Outcome worker = end_of(&c, 0);
    assert_int_equal(worker.status, EXIT_STOPPED);
    assert_contains(worker.text, "the process with LOCAL_RANK=1 has ended before this one");
    assert_int_equal(end_of(&c, 2).status, EXIT_STOPPED);
    assert_true(bench_has_checkpoint(&c.b, "lost"));
    arena_free(c.b.arena);
}

TEST(a_crew_ends_at_once_when_the_one_that_trains_is_killed)
{
    CrewTest c = crew_new();
    start_long(&c, "killed");
    wait_until_it_trains(&c, "killed");
    double since = clock_seconds();
    kill(c.pid[0], SIGKILL);
    for (int i = 1; i < N; i++) assert_int_equal(end_of(&c, i).status, 1);
    assert_true(clock_seconds() - since < 3); /* less than 1 on a machine that is not busy */
    assert_int_equal(end_of(&c, 0).status, -SIGKILL);
    /* nothing of it confuses the next */
    start_all(&c, bench_words(&c.b, "next", NULL, NULL));
    for (int i = 0; i < N; i++) assert_ended_well(end_of(&c, i));
    arena_free(c.b.arena);
}

/* Only what is still to come is a matter of the name; those who have met go their own way. */
TEST(a_crew_can_begin_while_another_with_its_name_trains)
{
    CrewTest first = crew_new(), second = first;
    start_long(&first, "first");
    wait_until_it_trains(&first, "first");
    start_all(&second, bench_words(&second.b, "second", NULL, NULL));
    for (int i = 0; i < N; i++) assert_ended_well(end_of(&second, i));
    for (int i = 0; i < N; i++) kill(first.pid[i], SIGTERM);
    for (int i = 0; i < N; i++) assert_int_equal(end_of(&first, i).status, EXIT_STOPPED);
    arena_free(first.b.arena);
}

TEST(a_crew_whose_beginning_is_stopped_is_gone)
{
    CrewTest c = crew_new();
    Words words = bench_words(&c.b, "begun", NULL, NULL);
    start(&c, 0, words);
    start(&c, 1, words);
    usleep(300 * 1000);
    kill(c.pid[0], SIGTERM);
    assert_int_equal(end_of(&c, 0).status, -SIGTERM);
    assert_int_equal(end_of(&c, 1).status, 1);
    start(&c, 2, words);
    usleep(300 * 1000);
    kill(c.pid[2], SIGTERM);
    assert_int_equal(end_of(&c, 2).status, -SIGTERM);
    arena_free(c.b.arena);
}

TEST(two_processes_with_one_rank_are_refused)
{
    CrewTest c = crew_new();
    Words words = bench_words(&c.b, "twice", NULL, NULL);
    start(&c, 0, words);
    start(&c, 1, words);
    pid_t other = c.pid[1];
    start(&c, 1, words);
    assert_refused(end_of(&c, 0), 1, "two processes with LOCAL_RANK=1 have come");
    kill(other, SIGTERM); /* one of the two may still look for a job that wants it */
    kill(c.pid[1], SIGTERM);
    assert_int_not_equal(command_wait(c.b.arena, other, NULL).status, 0);
    assert_int_not_equal(end_of(&c, 1).status, 0);
    arena_free(c.b.arena);
}

TEST(several_machines_need_another_launcher)
{
    Bench b = bench_new();
    static const char *const machines[] = { "RANK=0", "LOCAL_RANK=0", "WORLD_SIZE=8",
                                            "LOCAL_WORLD_SIZE=4", NULL };
    static const char *const untold[] = { "RANK=0", "WORLD_SIZE=8", NULL };
    Outcome o = bench_run(&b, "x", NULL, NULL, machines);
    assert_refused(o, 1, "mpirun or srun");
    assert_refused(bench_run(&b, "x", NULL, NULL, untold), 1,
                   "WORLD_SIZE is 8, but LOCAL_WORLD_SIZE is not set; for 8 ranks in one process: "
                   "--ranks 8");
    assert_false(file_exists(path_join(b.arena, b.root, "x")));
    arena_free(b.arena);
}

TEST(checking_a_configuration_takes_the_number_of_ranks_as_it_stands)
{
    Bench b = bench_new();
    static const char *const eight[] = { "WORLD_SIZE=8", NULL };
    bench_words(&b, "x", NULL, NULL);
    static const char *const words[] = { "config", "resolve", "--config_file_path",
                                         "tests/end_to_end/train.yaml", NULL };
    Outcome o = command_output(b.arena, words, eight);
    assert_ended_well(o);
    assert_contains(o.text, "world_size: 8");
    arena_free(b.arena);
}
