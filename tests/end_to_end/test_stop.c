/* test_stop.c - signals and lost readers: what stops a program, what does not, and its status. */
#include "base/file.h"
#include "end_to_end/training.h"
#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#define FORTY_STEPS                                                                                \
    "--set", "settings.training_target.num_target_steps=40", "--set",                              \
        "settings.intervals.checkpointing_interval_in_steps=40"

static const char *const forty[] = { FORTY_STEPS, NULL };

static void read_until(int from, const char *mark)
{
    Text said = { 0 };
    char buffer[256];
    ssize_t n;
    while ((!said.ptr || !strstr(said.ptr, mark)) && (n = read(from, buffer, sizeof buffer)) > 0)
        text_add(&said, buffer, (size_t)n);
    if (!said.ptr || !strstr(said.ptr, mark)) fail_msg("no \"%s\" in: %s", mark, said.ptr);
    text_free(&said);
}

/* A run of forty steps whose output was read up to step 3; the pipe holds it back. */
static pid_t run_to_step_3(const Bench *b, const char *id, int ends[2])
{
    assert_int_equal(pipe2(ends, O_CLOEXEC), 0);
    assert_true(fcntl(ends[0], F_SETPIPE_SZ, 4096) > 0);
    pid_t child = command_start(b->arena, bench_words(b, id, NULL, forty), NULL, ends);
    read_until(ends[0], "step: 3 |");
    return child;
}

/* `run 2>&1 | tee log`, Ctrl-C: tee dies first. */
TEST(stop_when_the_pipe_s_reader_dies_first_still_saves)
{
    Bench b = bench_new();
    int ends[2];
    pid_t child = run_to_step_3(&b, "cut", ends);
    assert_int_equal(kill(child, SIGSTOP), 0);
    close(ends[0]);
    assert_int_equal(kill(child, SIGINT), 0);
    assert_int_equal(kill(child, SIGCONT), 0);
    assert_int_equal(command_wait(b.arena, child, ends).status, EXIT_STOPPED);
    int64_t steps;
    bench_last_checkpoint(&b, "cut", &steps);
    assert_in_range(steps, 3, 39);
    arena_free(b.arena);
}

TEST(stop_is_not_asked_for_by_a_reader_that_is_gone)
{
    Bench b = bench_new();
    int ends[2];
    pid_t child = run_to_step_3(&b, "unread", ends);
    close(ends[0]);
    assert_int_equal(command_wait(b.arena, child, ends).status, 0);
    int64_t steps;
    bench_last_checkpoint(&b, "unread", &steps);
    assert_int_equal(steps, 40);
    arena_free(b.arena);
}

/* A launcher passes on the Ctrl-C that the terminal sent to it and to the program. */
TEST(stop_asked_for_twice_at_once_is_asked_for_once)
{
    Bench b = bench_new();
    int ends[2];
    pid_t child = run_to_step_3(&b, "twice", ends);
    assert_int_equal(kill(child, SIGINT), 0);
    assert_int_equal(kill(child, SIGTERM), 0);
    assert_int_equal(kill(child, SIGINT), 0);
    close(ends[0]);
    assert_int_equal(command_wait(b.arena, child, ends).status, EXIT_STOPPED);
    assert_true(bench_has_checkpoint(&b, "twice"));
    arena_free(b.arena);
}

TEST(stop_signals_that_were_ignored_at_the_start_stay_ignored)
{
    Bench b = bench_new();
    int ends[2];
    signal(SIGHUP, SIG_IGN); /* as nohup does */
    pid_t child = run_to_step_3(&b, "nohup", ends);
    signal(SIGHUP, SIG_DFL);
    assert_int_equal(kill(child, SIGHUP), 0);
    close(ends[0]);
    assert_int_equal(command_wait(b.arena, child, ends).status, 0);
    int64_t steps;
    bench_last_checkpoint(&b, "nohup", &steps);
    assert_int_equal(steps, 40);
    arena_free(b.arena);
}

/* Data commands, too, do their work where nobody reads what they say. */
TEST(stop_is_no_data_command_s_answer_to_a_lost_reader)
{
    Bench b = bench_new();
    const char *lines = path_join(b.arena, b.root, "lines.jsonl"), *text = "{\"text\": \"a\"}\n";
    assert_no_error(file_write(lines, text, strlen(text)));
    const char *const words[] = { "data", "create_raw_index", lines, NULL };
    int ends[2];
    assert_int_equal(pipe2(ends, O_CLOEXEC), 0);
    pid_t child = command_start(b.arena, words, NULL, ends);
    close(ends[0]);
    assert_int_equal(command_wait(b.arena, child, ends).status, 0);
    assert_true(file_exists(path_join(b.arena, b.root, "lines.idx")));
    arena_free(b.arena);
}

/* The limit of a file's size is an error with the file's name, not the end of the process. */
TEST(stop_at_the_limit_of_a_file_s_size_is_an_error)
{
    Bench b = bench_new();
    const struct rlimit small = { 4096, RLIM_INFINITY }, none = { RLIM_INFINITY, RLIM_INFINITY };
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &small), 0);
    int ends[2];
    assert_int_equal(pipe2(ends, O_CLOEXEC), 0);
    pid_t child = command_start(b.arena, bench_words(&b, "large", NULL, NULL), NULL, ends);
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &none), 0);
    read_until(ends[0], "File too large");
    close(ends[0]);
    assert_int_equal(command_wait(b.arena, child, ends).status, 1);
    arena_free(b.arena);
}

/* Built before the first step: hundreds of layers, which take a while. */
TEST(stop_before_the_first_step_is_heeded_and_the_run_can_be_gone_on)
{
    static const char *const deep[] = { "--set", "model_raw.config.n_layer=500", NULL };
    Bench b = bench_new();
    const char *record = path_join(b.arena, b.root, "deep/run.json");
    pid_t child = command_start(b.arena, bench_words(&b, "deep", NULL, deep), NULL, NULL);
    for (int i = 0; i < 6000 && !file_exists(record); i++) usleep(10 * 1000);
    assert_int_equal(kill(child, SIGTERM), 0);
    Outcome o = command_wait(b.arena, child, NULL);
    assert_int_equal(o.status, EXIT_STOPPED);
    assert_contains(o.text, "Stopped by signal 15 after step 0 of 8; nothing new was learnt");
    const char *const fewer[] = { "resume", path_join(b.arena, b.root, "deep"), "--set",
                                  "model_raw.config.n_layer=2", NULL };
    assert_ended_well(command_output(b.arena, fewer, NULL));
    arena_free(b.arena);
}
