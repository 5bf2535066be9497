/* test_ranks.c - `run --ranks N`: the ranks of one process train together, and end together. */
#include "data/pbin.h"
#include "end_to_end/training.h"
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define N_STEPS "settings.training_target.num_target_steps="
#define ACCUMULATION "settings.step_profile.gradient_accumulation_steps="
#define NO_DROPOUT "model_raw.config.dropout=0.0"

static const char *const two[] = { "--ranks", "2", NULL };

static int count(const char *text, const char *what)
{
    int n = 0;
    for (const char *at = text; (at = strstr(at, what)); at++) n++;
    return n;
}

/* Masks go by the place of a sample in the step, whichever rank has it. */
TEST(ranks_with_dropout_learn_what_one_rank_with_dropout_learns)
{
    static const char *const layout[] = { "device_mesh.config.data_parallel_shard_degree=-1",
                                          "device_mesh.config.data_parallel_replicate_degree=2" };
    Bench b = bench_new();
    const char *const alone[] = { "--set", ACCUMULATION "4", NULL };
    assert_ended_well(bench_run(&b, "one", NULL, alone, NULL));
    for (int i = 0; i < 2; i++) {
        const char *id = i ? "copies" : "shards";
        const char *const both[] = { "--ranks", "2", "--set", layout[i], NULL };
        assert_ended_well(bench_run(&b, id, NULL, both, NULL));
        assert_last_result_near(&b, id, "one", "train loss avg", 2e-5);
        assert_last_result_near(&b, id, "one", "grad norm avg", 2e-5);
    }
    arena_free(b.arena);
}

/* Each has its share of what is free. */
TEST(ranks_of_one_machine_share_its_memory)
{
    Bench b = bench_new();
    const char *const limited[] = { "MODALITIES_MEMORY_LIMIT=1000000", NULL };
    assert_ended_well(bench_run(&b, "one", NULL, NULL, limited));
    Outcome o = bench_run(&b, "two", NULL, two, limited);
    assert_refused(o, 1, "the training program needs");
    assert_contains(o.text, "but only 500 kB are free");
    arena_free(b.arena);
}

/* Each rank has its own samples, and together they are those of one rank. */
TEST(two_ranks_learn_what_one_rank_learns)
{
    Bench b = bench_new();
    Outcome o =
        bench_run(&b, "one", NULL,
                  (const char *[]){ "--set", ACCUMULATION "4", "--set", NO_DROPOUT, NULL }, NULL);
    assert_ended_well(o);
    o = bench_run(&b, "two", NULL,
                  (const char *[]){ "--ranks", "2", "--set", NO_DROPOUT, "--test_comm", NULL },
                  NULL);
    assert_ended_well(o);
    assert_contains(o.text, "communication test with 2 ranks: PASSED");
    assert_int_equal(count(o.text, "Start model training"), 1);
    assert_int_equal(count(o.text, "| step: 3 |"), 1);
    assert_int_equal(count(o.text, "hint: "), 1);
    assert_last_result_near(&b, "two", "one", "train loss avg", 2e-5);
    assert_last_result_near(&b, "two", "one", "grad norm avg", 2e-5);
    assert_last_result_near(&b, "two", "one", "consumed tokens", 2e-5);
    arena_free(b.arena);
}

TEST(ranks_that_are_stopped_save_and_resume_with_as_many)
{
    Bench b = bench_new(), with_many = b;
    with_many.pbin = write_many_tokens(b.arena);
    static const char *const more[] = {
        "--ranks", "2",
        "--set",   N_STEPS "30000",
        "--set",   "settings.intervals.checkpointing_interval_in_steps=30000",
        "--set",   "settings.intervals.evaluation_interval_in_steps=30000",
        NULL
    };
    pid_t child = command_start(b.arena, bench_words(&with_many, "run", NULL, more), NULL, NULL);
    const char *results = arena_printf(b.arena, "%s/run/evaluation_results.jsonl", b.root);
    for (int i = 0; i < 6000 && !file_exists(results); i++) usleep(10 * 1000);
    kill(child, SIGINT);
    Outcome o = command_wait(b.arena, child, NULL);
    assert_refused(o, EXIT_STOPPED, "Stopped by signal 2 after step");
    assert_int_equal(count(o.text, "To go on:"), 1);
    int64_t steps;
    bench_last_checkpoint(&b, "run", &steps);
    const char *folder = arena_printf(b.arena, "%s/run", b.root);
    const char *target = arena_printf(b.arena, N_STEPS "%lld", (long long)steps + 2);
    static const char every[] = "settings.intervals.checkpointing_interval_in_steps=1";
    const char *words[] = { "resume", folder, "--set", target, "--set", every, NULL };
    o = command_output(b.arena, words, NULL);
    assert_ended_well(o);
    assert_contains(o.text, "world_size: 2");
    assert_contains(o.text, "done and saved");
    int64_t after;
    bench_last_checkpoint(&b, "run", &after);
    assert_int_equal(after, steps + 2);
    arena_free(b.arena);
}

/* The last half of a run, as if it had not been interrupted; dropout and evaluation included. */
TEST(ranks_that_resume_end_with_the_same_bits)
{
    Bench b = bench_new();
    assert_ended_well(bench_run(&b, "whole", NULL, two, NULL));
    static const char *const half[] = { "--ranks",   "2",     "--set",
                                        N_STEPS "4", "--set", "lr_scheduler.config.total_steps=8",
                                        NULL };
    assert_ended_well(bench_run(&b, "half", NULL, half, NULL));
    assert_goes_on_as(&b, "half", "whole");
    arena_free(b.arena);
}

TEST(an_error_of_one_rank_ends_all_and_names_it)
{
    Bench b = bench_new();
    static const char *const wrong[] = {
        "--ranks", "2", "--set",
        "eval_dataloaders.0.config.batch_sampler.config.batch_size=${cuda_env:RANK}", NULL
    };
    Outcome o = bench_run(&b, "x", NULL, wrong, NULL);
    assert_refused(o, 2, "rank 0: ");
    assert_null(strstr(o.text, "rank 1: "));
    assert_int_equal(count(o.text, "allowed: an integer"), 1);
    assert_false(file_exists(path_join(b.arena, b.root, "x")));
    arena_free(b.arena);
}

TEST(an_error_of_all_ranks_is_told_once)
{
    Bench b = bench_new();
    static const char *const wrong[] = { "--ranks", "3", "--set", "model_raw.config.n_layr=1",
                                         NULL };
    Outcome o = bench_run(&b, "x", NULL, wrong, NULL);
    assert_refused(o, 2, "n_layr");
    assert_int_equal(count(o.text, "unknown key"), 1);
    assert_null(strstr(o.text, "rank"));
    arena_free(b.arena);
}

TEST(a_failing_rank_leaves_its_error_log)
{
    Bench b = bench_new();
    const char *logs = path_join(b.arena, b.root, "logs");
    const char *const wrong[] = {
        "--ranks",
        "2",
        "--error_log_folder",
        logs,
        "--set",
        "eval_dataloaders.0.config.batch_sampler.config.batch_size=${cuda_env:RANK}",
        NULL
    };
    assert_refused(bench_run(&b, "x", NULL, wrong, NULL), 2, "rank 0: ");
    PathList files = { 0 };
    assert_no_error(files_below(b.arena, logs, ".log", &files));
    assert_int_equal(files.n, 1);
    assert_contains(files.item[0], "_0.log");
    arena_free(b.arena);
}

TEST(ranks_where_no_folder_can_be_made_are_refused_once)
{
    Bench b = bench_new();
    const char *file = path_join(b.arena, b.root, "file");
    assert_no_error(file_write(file, "", 0));
    b.root = path_join(b.arena, file, "below");
    Outcome o = bench_run(&b, "x", NULL, two, NULL);
    assert_refused(o, 1, "Not a directory");
    assert_int_equal(count(o.text, "Not a directory"), 1);
    arena_free(b.arena);
}

TEST(ranks_that_are_started_twice_in_one_folder_are_refused)
{
    Bench b = bench_new();
    assert_ended_well(bench_run(&b, "x", NULL, two, NULL));
    Outcome o = bench_run(&b, "x", NULL, two, NULL);
    assert_refused(o, 1, "holds the results of another run");
    assert_int_equal(count(o.text, "holds the results"), 1);
    assert_true(bench_has_checkpoint(&b, "x"));
    arena_free(b.arena);
}

/* 3000 tokens are 5 samples of 599: none for the last of 8 ranks, or for a batch of 2. */
TEST(ranks_without_samples_end_with_the_others)
{
    Bench b = bench_new();
    static const char *const many[] = { "--ranks",
                                        "8",
                                        "--set",
                                        "settings.step_profile.sequence_length=600",
                                        "--set",
                                        "model_raw.config.sequence_length=600",
                                        "--set",
                                        "settings.consistency_enforcement."
                                        "enforce_enough_tokens_in_dataset=false",
                                        NULL };
    Outcome o = bench_run(&b, "x", NULL, many, NULL);
    assert_ended_well(o);
    assert_contains(o.text, "the training data ended after step 0 of 8");
    arena_free(b.arena);
}

TEST(the_number_of_ranks_is_said_once)
{
    Bench b = bench_new();
    static const char *const torchrun[] = {
        "RANK=0", "LOCAL_RANK=0", "WORLD_SIZE=4", "LOCAL_WORLD_SIZE=4", "TORCHELASTIC_RUN_ID=x",
        NULL
    };
    static const char *const four[] = { "RANK=0", "WORLD_SIZE=4", NULL };
    assert_refused(bench_run(&b, "x", NULL, two, torchrun), 2,
                   "--ranks 2: this process is rank 0 of 4 by torchrun");
    assert_refused(bench_run(&b, "x", NULL, two, four), 2,
                   "--ranks 2: this process is rank 0 of 4 by its variables");
    static const char *const mpirun[] = { "OMPI_COMM_WORLD_RANK=1", "OMPI_COMM_WORLD_SIZE=4",
                                          "OMPI_COMM_WORLD_LOCAL_RANK=1",
                                          "OMPI_COMM_WORLD_LOCAL_SIZE=4", NULL };
    assert_refused(bench_run(&b, "x", NULL, two, mpirun), 2,
                   "--ranks 2: this process is rank 1 of 4 by mpirun or srun");
    static const char *const fixed[] = { "--ranks", "2", "--set",
                                         "device_mesh.config.data_parallel_shard_degree=4", NULL };
    Outcome o = bench_run(&b, "x", NULL, fixed, NULL);
    assert_refused(o, 1, "multiply to 4, but the world size is 2");
    assert_contains(o.text, "--ranks 4, or mpirun -n 4");
    arena_free(b.arena);
}

/* The NaN is in one rank's samples, or in the weights of all: all go the same way. */
TEST(what_is_not_finite_is_found_by_the_ranks_together)
{
    Bench b = bench_new();
    static const char *const wild[] = { "--ranks", "2",
                                        "--set",   "lr_scheduler.config.max_lr=1e30",
                                        "--set",   "gradient_clipper.config.max_norm=1e30",
                                        NULL };
    Outcome o = bench_run(&b, "x", NULL, wild, NULL);
    assert_refused(o, 1, "the first NaN or infinity comes from");
    assert_int_equal(count(o.text, "the first NaN"), 1);
    static const char *const skipped[] = { "--ranks", "2",
                                           "--set",   "lr_scheduler.config.max_lr=1e30",
                                           "--set",   "gradient_clipper.config.max_norm=1e30",
                                           "--set",   "settings.on_nonfinite=skip",
                                           NULL };
    o = bench_run(&b, "y", NULL, skipped, NULL);
    assert_ended_well(o);
    assert_contains(o.text, "the update is skipped");
    arena_free(b.arena);
}
