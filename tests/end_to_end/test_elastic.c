/* test_elastic.c - `run --elastic N`: a job of processes goes on when one of them is killed, with
 * the curve of an uninterrupted one. */
#include "base/clock.h"
#include "base/rng.h"
#include "comm/mpirun.h"
#include "end_to_end/job_ranks.h"
#include "end_to_end/kill_points.h"
#include "end_to_end/training.h"
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define EVERY(n) "--set", "settings.intervals.checkpointing_interval_in_steps=" #n
#define LOGGED "--set", "settings.intervals.evaluation_interval_in_steps=8"
#define ACCUMULATION(n) "--set", "settings.step_profile.gradient_accumulation_steps=" #n
#define NO_DROPOUT "--set", "model_raw.config.dropout=0.0"

static Words words_of(const Bench *b, const char *id, int n, Words more)
{
    const char **words = NEW_N(b->arena, const char *, 40);
    int k = 0;
    words[k++] = "--elastic";
    words[k++] = arena_printf(b->arena, "%d", n);
    for (int i = 0; more[i]; i++) words[k++] = more[i];
    return bench_words(b, id, NULL, words);
}

/* A rank of the job whose driver this is; 0: there is none just now. */
static pid_t rank_of(pid_t driver, int which)
{
    const pid_t mpirun = find_child(driver, 0);
    return mpirun ? find_child(mpirun, which) : 0;
}

static void kill_ranks(const Bench *b, int n_kills)
{
    static const char *const more[] = { EVERY(1), LOGGED, ACCUMULATION(1), NULL };
    const uint64_t seed = kill_seed();
    const double start = clock_seconds();
    assert_ended_well(command_output(b->arena, words_of(b, "whole", 2, more), NULL));
    const double took = clock_seconds() - start;
    pid_t driver = command_start(b->arena, words_of(b, "x", 2, more), NULL, NULL);
    for (int i = 0; i < n_kills; i++) {
        pid_t rank = 0;
        usleep((useconds_t)(1e6 * took * (0.2 + 0.6 * rng_uniform(seed, (uint64_t)i))));
        for (int wait = 0; wait < 200 && !rank; wait++) {
            rank = rank_of(driver, i % 2);
            if (!rank) usleep(10 * 1000);
        }
        if (rank) kill(rank, SIGKILL);
    }
    Outcome o = command_wait(b->arena, driver, NULL);
    assert_ended_well(o);
    int n_starts = 0;
    for (const char *at = o.text; (at = strstr(at, "elastic: start ")); at++) n_starts++;
    test_note("%d starts", n_starts);
    assert_contains(o.text, "elastic: 4 samples per step fit on 2 (accumulation 1), 1 "
                            "(accumulation 2) ranks");
    assert_same_state(b, "x", "whole");
    assert_curve_within(b, "x", "whole");
    assert_curve_within(b, "whole", "x");
}

TEST(an_elastic_job_goes_on_when_a_rank_is_killed)
{
    Bench b = bench_new();
    mpirun_prepare(b.arena);
    kill_ranks(&b, is_long_kill_test() ? 20 : 1);
    arena_free(b.arena);
}

/* Half of the places are on a host that is not there. */
TEST(an_elastic_job_runs_on_the_hosts_that_answer_with_the_same_steps)
{
    Bench b = bench_new();
    static const char hosts[] = "# two machines\nlocalhost slots=1\nnowhere.invalid slots=1\n";
    const char *file = path_join(b.arena, path_absolute(b.arena, test_folder()), "hosts");
    const char *const more[] = { "--hostfile", file, NO_DROPOUT, ACCUMULATION(1), LOGGED, NULL },
                      *const two[] = { "--ranks", "2", NO_DROPOUT, ACCUMULATION(1), LOGGED, NULL };
    mpirun_prepare(b.arena);
    assert_no_error(file_write(file, hosts, strlen(hosts)));
    assert_ended_well(bench_run(&b, "two", NULL, two, NULL));
    Outcome o = command_output(b.arena, words_of(&b, "x", 2, more), NULL);
    assert_ended_well(o);
    assert_contains(o.text, "host nowhere.invalid does not answer: its 1 places are left out");
    assert_contains(o.text, "start 1, on 1 ranks, accumulation 2");
    assert_last_result_near(&b, "x", "two", "train loss avg", 2e-5);
    assert_last_result_near(&b, "x", "two", "consumed tokens", 2e-5);
    arena_free(b.arena);
}

TEST(an_elastic_job_says_before_it_starts_on_how_many_ranks_it_fits)
{
    Bench b = bench_new();
    static const char hosts[] = "localhost slots=3\n";
    const char *file = path_join(b.arena, path_absolute(b.arena, test_folder()), "hosts");
    mpirun_prepare(b.arena);
    assert_no_error(file_write(file, hosts, strlen(hosts)));
    const char *const more[] = { "--hostfile",
                                 file,
                                 ACCUMULATION(1),
                                 "--set",
                                 "device_mesh.config.data_parallel_shard_degree=4",
                                 NULL };
    Outcome o = command_output(b.arena, words_of(&b, "x", 4, more), NULL);
    assert_refused(o, 1,
                   "only 3 of 4 ranks have a place, on which the training does not fit. With "
                   "8 samples per step it fits on 4 (accumulation 1); not 3: ");
    assert_false(bench_has_checkpoint(&b, "x"));
    o = command_output(
        b.arena, bench_words(&b, "y", NULL, (const char *[]){ "--hostfile", file, NULL }), NULL);
    assert_refused(o, 2, "--hostfile is for --elastic");
    arena_free(b.arena);
}

TEST(an_elastic_job_without_mpirun_says_so_at_once)
{
    Bench b = bench_new();
    const char *const nowhere[] = { "PATH=/nowhere", NULL };
    Outcome o = command_output(b.arena, words_of(&b, "x", 2, (const char *[]){ NULL }), nowhere);
    assert_refused(o, 1, "mpirun cannot be started: is it installed, and in PATH?");
    arena_free(b.arena);
}

/* The output of a job under an mpirun that first does what a script says, whose $here is a folder.
 */
static Outcome under_script(const Bench *b, const char *shell, const char *script, Words more)
{
    const char *folder = path_absolute(b->arena, test_folder()),
               *fake = path_join(b->arena, folder, "mpirun"),
               *text =
                   arena_printf(b->arena, "#!/bin/%s\nPATH='%s' here='%s'\n%sexec mpirun \"$@\"\n",
                                shell, getenv("PATH"), folder, script);
    const char *const path[] = { arena_printf(b->arena, "PATH=%s:%s", folder, getenv("PATH")),
                                 NULL };
    mpirun_prepare(b->arena);
    assert_no_error(file_write(fake, text, strlen(text)));
    assert_int_equal(chmod(fake, 0755), 0);
    return command_output(b->arena, words_of(b, "x", 2, more), path);
}

/* As mpirun does at times whose ranks die while they start: here one that never asks for the end
 * of its only child, the first time. */
TEST(an_elastic_job_outlives_an_mpirun_that_does_not_end)
{
    Bench b = bench_new();
    static const char *const more[] = { EVERY(8), LOGGED, ACCUMULATION(1), NULL };
    Outcome o = under_script(
        &b, "sh",
        "if [ ! -e \"$here/seen\" ]; then : > \"$here/seen\"; true & exec sleep 1000; fi\n", more);
    assert_ended_well(o);
    assert_contains(o.text,
                    "the job ended with status 137: a rank was killed; it is started again");
    arena_free(b.arena);
}

/* Where ranks are on other hosts mpirun has no child of its own once they are started. */
TEST(an_elastic_job_with_hosts_lets_an_mpirun_without_children_be)
{
    Bench b = bench_new();
    const char *file = path_join(b.arena, path_absolute(b.arena, test_folder()), "hosts");
    static const char hosts[] = "localhost slots=2\n";
    const char *const more[] = { "--hostfile", file, EVERY(8), LOGGED, ACCUMULATION(1), NULL };
    assert_no_error(file_write(file, hosts, strlen(hosts)));
    Outcome o = under_script(&b, "bash",
                             "if [[ $* == *--resume_if_started* ]]; then sleep 0.7; "
                             "mkfifo \"$here/n\"; exec 3<>\"$here/n\"; read -rt 7 -u 3; fi\n",
                             more);
    assert_ended_well(o);
    assert_null(strstr(o.text, "is started again"));
    arena_free(b.arena);
}

TEST(an_elastic_job_that_fails_by_itself_is_given_up)
{
    Bench b = bench_new();
    mpirun_prepare(b.arena);
    static const char *const more[] = { EVERY(4), ACCUMULATION(1), NULL };
    const char *const broken[] = { "CRASH_PATH=seen_steps_8", "CRASH_AT=create:1", "CRASH_MODE=EIO",
                                   arena_printf(
                                       b.arena, "OMPI_MCA_mca_base_env_list=LD_PRELOAD=%s",
                                       path_absolute(b.arena, test_tool(b.arena, "crash_shim.so"))),
                                   NULL };
    Outcome o = command_output(b.arena, words_of(&b, "x", 2, more), broken);
    assert_refused(o, 1, "without a further checkpoint");
    assert_contains(o.text, "checkpoint after step 8: ");
    int64_t steps;
    bench_last_checkpoint(&b, "x", &steps);
    assert_int_equal(steps, 4);
    arena_free(b.arena);
}

TEST(an_elastic_job_that_is_stopped_saves_and_goes_on_later)
{
    Bench b = bench_new();
    static const char *const more[] = { EVERY(8), LOGGED, ACCUMULATION(1), NULL };
    mpirun_prepare(b.arena);
    assert_ended_well(command_output(b.arena, words_of(&b, "whole", 2, more), NULL));
    pid_t driver = command_start(b.arena, words_of(&b, "x", 2, more), NULL, NULL);
    const char *results = arena_printf(b.arena, "%s/x/evaluation_results.jsonl", b.root);
    for (int i = 0; i < 6000 && !file_exists(results); i++) usleep(5 * 1000);
    kill(driver, SIGTERM);
    Outcome o = command_wait(b.arena, driver, NULL);
    if (o.status) assert_int_equal(o.status, 75);
    assert_ended_well(command_output(b.arena, words_of(&b, "x", 2, more), NULL));
    assert_same_state(&b, "x", "whole");
    arena_free(b.arena);
}
