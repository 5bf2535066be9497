/* test_slurm.c - configs/slurm/train.sbatch without Slurm: told that its time is over, the job is
 * queued again, and goes on until it is done. */
#include "cli/command_line.h"
#include "comm/mpirun.h"
#include "end_to_end/training.h"
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const char *const settings[] = { "--set", "settings.training_target.num_target_steps=40",
                                        "--set",
                                        "settings.intervals.checkpointing_interval_in_steps=40",
                                        NULL };
/* Long enough that it cannot end before it is told. */
static const char *const elastic[] = {
    "--elastic", "2",
    "--set",     "settings.training_target.num_target_steps=400",
    "--set",     "settings.intervals.checkpointing_interval_in_steps=400",
    "--set",     "settings.intervals.evaluation_interval_in_steps=400",
    "--set",     "settings.step_profile.gradient_accumulation_steps=4",
    NULL
};

/* A folder of programs: this one as `modalities`, and a scontrol that notes what it is asked. */
static void put_programs_on_path(const Bench *b)
{
    Arena *a = b->arena;
    const char *output;
    const char *command =
        arena_printf(a,
                     "mkdir '%s/bin' && ln -s '%s' '%s/bin/modalities' && "
                     "printf '#!/bin/sh\\necho \"$*\" >> \"%s/asked\"\\n' > '%s/bin/scontrol' && "
                     "chmod +x '%s/bin/scontrol'",
                     b->root, path_absolute(a, program_path()), b->root, b->root, b->root, b->root);
    assert_int_equal(shell_run(a, command, &output), 0);
    setenv("PATH", arena_printf(a, "%s/bin:%s", b->root, getenv("PATH")), 1);
}

/* The job as Slurm starts it; `ends` as in command_start. */
static pid_t start_job(const Bench *b, Words more, int *ends)
{
    const char *words[16] = { "configs/slurm/train.sbatch" };
    for (int i = 0; more[i]; i++) words[i + 1] = more[i];
    setenv("TRAIN_PBIN", b->pbin, 1);
    setenv("CONFIG", "tests/end_to_end/train.yaml", 1);
    setenv("EXPERIMENTS", b->root, 1);
    setenv("SLURM_JOB_ID", "7", 1);
    setenv("MODALITIES_PROGRAM", "/bin/bash", 1);
    return command_start(b->arena, words, NULL, ends);
}

/* Told after its first step: by its results, since mpirun holds back what it says. */
static void check_queued_again(Bench b, Words more)
{
    const char *results = path_join(b.arena, b.root, "job_7/evaluation_results.jsonl");
    const char *program = path_absolute(b.arena, program_path());
    assert_ended_well(bench_run(&b, "whole", NULL, more, NULL));
    put_programs_on_path(&b);
    int ends[2];
    assert_int_equal(pipe2(ends, O_CLOEXEC), 0);
    assert_true(fcntl(ends[0], F_SETPIPE_SZ, 4096) > 0);
    pid_t job = start_job(&b, more, ends);
    Text said = { 0 };
    char buffer[64];
    bool is_told = false;
    for (ssize_t n = 1; n > 0;) {
        if (!is_told && file_exists(results)) {
            assert_int_equal(kill(job, SIGUSR1), 0);
            is_told = true;
        }
        if (poll(&(struct pollfd){ .fd = ends[0], .events = POLLIN }, 1, 10) == 0) continue;
        n = read(ends[0], buffer, sizeof buffer);
        if (n > 0) text_add(&said, buffer, (size_t)n);
    }
    assert_int_equal(command_wait(b.arena, job, ends).status, 0);
    assert_contains(said.ptr, "stopped before the target: job 7 is queued again");
    Str asked;
    const char *note = path_join(b.arena, b.root, "asked");
    assert_no_error(file_read(b.arena, note, &asked));
    assert_string_equal(asked.ptr, "requeue 7\n");

    assert_ended_well(command_wait(b.arena, start_job(&b, more, NULL), NULL));
    assert_no_error(file_read(b.arena, note, &asked));
    assert_string_equal(asked.ptr, "requeue 7\n");
    assert_same_state(&b, "job_7", "whole");
    assert_curve_within(&b, "job_7", "whole");
    setenv("MODALITIES_PROGRAM", program, 1);
    text_free(&said);
    close(ends[0]);
    arena_free(b.arena);
}

TEST(a_slurm_job_whose_time_is_over_is_queued_again_until_it_is_done)
{
    check_queued_again(bench_new(), settings);
}

TEST(an_elastic_slurm_job_whose_time_is_over_is_queued_again_until_it_is_done)
{
    Bench b = bench_new();
    mpirun_prepare(b.arena);
    setenv("EVAL_PBIN", b.pbin, 1);
    b.pbin = write_many_tokens(b.arena);
    check_queued_again(b, elastic);
}

TEST(a_slurm_job_that_fails_stays_failed)
{
    Bench b = bench_new();
    put_programs_on_path(&b);
    pid_t job = start_job(&b, settings, NULL);
    assert_int_equal(command_wait(b.arena, job, NULL).status, 0);
    setenv("CONFIG", "missing.yaml", 1);
    const char *const words[] = { "configs/slurm/train.sbatch", NULL };
    assert_refused(command_output(b.arena, words, NULL), 2, "missing.yaml");
    assert_false(file_exists(path_join(b.arena, b.root, "asked")));
    arena_free(b.arena);
}
