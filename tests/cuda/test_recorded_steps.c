/* test_recorded_steps.c - steps that a GPU is given as one graph: the same bits, also where a step
 * is left out, an evaluation comes between, or nothing can be recorded. */
#include "end_to_end/training.h"
#include "trainings.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *const plain[] = { NULL };
/* Attention goes through cuDNN. */
static const char *const bf16[] = {
    "--set", "wrapped_model.config.mixed_precision_settings.param_dtype=BF_16",
    "--set", "model_raw.config.dropout=0",
    "--set", "settings.intervals.evaluation_interval_in_steps=3",
    NULL
};
/* On two streams. */
static const char *const offloaded[] = {
    "--set", OFFLOADED_MODEL,
    "--set", "settings.training_target.num_target_steps=4",
    "--set", "settings.intervals.evaluation_interval_in_steps=8",
    NULL
};
/* With steps that are left out. */
static const char *const f16[] = {
    "--set",
    "wrapped_model.config.mixed_precision_settings={param_dtype: FP_16, reduce_dtype: FP_32}",
    "--set",
    "initialized_model.config.model_initializer.config.std=1.5",
    "--set",
    "model_raw.config.dropout=0",
    NULL
};

#define ON_GPU "MODALITIES_DEVICE=cuda", "MODALITIES_MOCK_PINNED=1"
static const char *const one_by_one[] = { ON_GPU, "MODALITIES_CUDA_GRAPH=off",
                                          "MODALITIES_MOCK_GRAPHS=told", NULL };
static const char *const as_graph[] = { ON_GPU, "MODALITIES_MOCK_GRAPHS=told", NULL };
static const char *const impossible[][4] = { { ON_GPU, "MODALITIES_MOCK_GRAPHS=none", NULL },
                                             { ON_GPU, "MODALITIES_MOCK_GRAPHS=never", NULL } };

/* How often graphs were launched, and how often ahead of the step before. */
static void count_launches(const char *text, int *times, int *ahead)
{
    static const char *const told = "mock of CUDA: a graph was launched ";
    *times = *ahead = 0;
    for (const char *at = text; (at = strstr(at, told)); at++) {
        int n = 0, first = 0;
        assert_int_equal(sscanf(at + strlen(told), "%d times, %d ahead", &n, &first), 2);
        *times += n;
        *ahead += first;
    }
}

/* Steps at whose end nothing is due go ahead of their verdict. An evaluation may move the program's
 * memory, and so end a graph. */
static void assert_same_training(Words variant, int least, int most, int ahead)
{
    Bench b = bench_with_short_evaluations();
    const Outcome one = bench_run(&b, "one", NULL, variant, one_by_one),
                  graph = bench_run(&b, "graph", NULL, variant, as_graph);
    assert_ended_well(one);
    assert_ended_well(graph);
    assert_null(strstr(graph.text, "steps are not recorded"));
    if (is_mock()) {
        int n, n_ahead;
        assert_null(strstr(one.text, "a graph was launched"));
        count_launches(graph.text, &n, &n_ahead);
        assert_in_range(n, least, most);
        assert_int_equal(n_ahead, ahead);
    }
    assert_same_state(&b, "one", "graph");
    assert_curve_within(&b, "one", "graph");
    arena_free(b.arena);
}

TEST(recorded_steps_of_a_gpu_have_the_same_bits)
{
    assert_same_training(plain, 6, 6, 6);
}

TEST(recorded_steps_of_a_gpu_in_bf16_have_the_same_bits)
{
    assert_same_training(bf16, 6, 6, 4);
}

TEST(recorded_steps_of_a_gpu_that_are_left_out_have_the_same_bits)
{
    assert_same_training(f16, 7, 10, 6); /* some are done again: how many, rounding decides */
}

TEST(recorded_steps_of_a_gpu_with_two_streams_have_the_same_bits)
{
    assert_same_training(offloaded, 3, 3, 3);
}

/* Threads of one process, each with a GPU of its own: what lies between their transfers is recorded
 * when it comes again, in each of the forward and backward passes and the update of both. */
TEST(ranks_on_two_gpus_learn_what_cpus_learn_also_where_parts_of_their_steps_are_recorded)
{
    static const char *const two[] = {
        "--ranks", "2",
        "--set",   "device_mesh.config.data_parallel_shard_degree=2",
        "--set",   "device_mesh.config.world_size=2",
        "--set",   "settings.training_target.num_target_steps=3",
        "--set",   "settings.intervals.checkpointing_interval_in_steps=3",
        NULL
    };
    static const char *const on_cpu[] = { "MODALITIES_DEVICE=cpu", NULL };
    const char *each[8] = { "MODALITIES_MOCK_GPUS=2" }, *parts[8] = { "MODALITIES_MOCK_GPUS=2" };
    for (int i = 0; one_by_one[i]; i++) each[1 + i] = one_by_one[i];
    for (int i = 0; as_graph[i]; i++) parts[1 + i] = as_graph[i];
    Bench b = bench_with_short_evaluations();
    int n, ahead;
    assert_ended_well(bench_run(&b, "cpu", NULL, two, on_cpu));
    const Outcome one = bench_run(&b, "one", NULL, two, each),
                  graphs = bench_run(&b, "graphs", NULL, two, parts);
    assert_ended_well(one);
    assert_ended_well(graphs);
    assert_null(strstr(one.text, "a graph was launched"));
    assert_null(strstr(graphs.text, "are not recorded"));
    count_launches(graphs.text, &n, &ahead);
    assert_true(n > 2 * 2 * 8 && ahead > 0);
    assert_same_state(&b, "one", "graphs");
    assert_curve_within(&b, "one", "graphs");
    assert_results_near(&b, "cpu", "graphs", "train loss avg", 1e-3);
    assert_results_near(&b, "cpu", "graphs", "grad norm avg", 2e-2);
    arena_free(b.arena);
}

TEST(a_gpu_that_cannot_record_a_step_goes_on_without)
{
    static const char *const four[] = { "--set", "settings.training_target.num_target_steps=4",
                                        NULL };
    Bench b = bench_with_short_evaluations();
    assert_ended_well(bench_run(&b, "one", NULL, four, one_by_one));
    for (int i = 0; i < 2; i++) {
        const char *id = i ? "never" : "none";
        const Outcome o = bench_run(&b, id, NULL, four, impossible[i]);
        assert_ended_well(o);
        assert_contains(o.text, "steps are not recorded as graphs of CUDA: recording a step: ");
        assert_same_state(&b, "one", id);
    }
    arena_free(b.arena);
}

/* With a checkpoint after each step none is given to the GPU before the one before is known. */
TEST(steps_that_go_ahead_of_their_verdict_have_the_same_bits)
{
    Bench b = bench_with_short_evaluations();
    const char *more[16] = { "--set", "settings.intervals.checkpointing_interval_in_steps=1" };
    for (int i = 0; f16[i]; i++) more[2 + i] = f16[i];
    const Outcome each = bench_run(&b, "each", NULL, more, as_graph);
    more[1] = "settings.intervals.checkpointing_interval_in_steps=8";
    const Outcome ahead = bench_run(&b, "ahead", NULL, more, as_graph);
    int n, n_ahead;
    assert_ended_well(each);
    assert_ended_well(ahead);
    assert_same_state(&b, "each", "ahead");
    assert_curve_within(&b, "each", "ahead");
    count_launches(each.text, &n, &n_ahead);
    if (is_mock()) assert_int_equal(n_ahead, 0);
    count_launches(ahead.text, &n, &n_ahead);
    if (is_mock()) assert_true(n_ahead > 4);
    arena_free(b.arena);
}
