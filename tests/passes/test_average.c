/* test_average.c - averages of parameters: by their formula, in evaluation, and from a checkpoint.
 */
#include "passes/average.h"
#include "train/small_job.h"
#include "train/state.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define AVERAGED(rest)                                                                             \
    "initialized_model.config.model={component_key: model, variant_key: averaged, config: "        \
    "{model: {instance_key: wrapped_model, pass_type: BY_REFERENCE}" rest "}}"
#define NAME "transformer.h.0.mlp.c_fc.weight"
enum { N = 64 * 32 };

/* The average of one parameter, kept beside the run. */
static void follow(void *context, const StepReport *r)
{
    double *expected = context;
    const Tensor *x = small_job_param(r->store, NAME);
    const Tensor *average = &store_find(r->store, AVERAGE NAME)->tensor;
    assert_int_equal(tensor_count(x), N);
    for (int i = 0; i < N; i++) {
        const double now = dtype_get(x->dtype, x->data, i);
        expected[i] = r->step == 1 ? now : 0.75 * expected[i] + 0.25 * now;
        assert_close(dtype_get(average->dtype, average->data, i), expected[i], 1e-6);
    }
}

TEST(averages_follow_their_formula)
{
    static const char *const set[] = { AVERAGED(", decay: 0.75"), NULL };
    static double expected[N];
    TrainingEnd end;
    SmallJob *s = small_job_new("x", set);
    s->job.observe = follow;
    s->job.observer = expected;
    assert_no_error(trainer_run(&s->job, &end));
    arena_free(s->bench.arena);
}

TEST(a_training_with_averages_goes_on_as_if_never_stopped)
{
    static const char *const words[] = { "--set", AVERAGED(", decay: 0.75"), NULL };
    assert_resumes(words);
}

/* By what evaluations read. */
TEST(averages_on_ranks_equal_those_of_one)
{
    Bench b = bench_new();
    assert_ended_well(
        bench_run(&b, "one", NULL,
                  (const char *[]){ "--set", AVERAGED(", decay: 0.9"), "--set",
                                    "settings.step_profile.gradient_accumulation_steps=4", "--set",
                                    "model_raw.config.dropout=0.0", NULL },
                  NULL));
    assert_ended_well(bench_run(&b, "two", NULL,
                                (const char *[]){ "--ranks", "2", "--set", AVERAGED(", decay: 0.9"),
                                                  "--set", "model_raw.config.dropout=0.0", NULL },
                                NULL));
    assert_results_near(&b, "two", "one", "CLMCrossEntropyLoss", 2e-5);
    arena_free(b.arena);
}

static double last_evaluation(const char *id, Words words)
{
    static const char name[] = "\"losses\": {\"CLMCrossEntropyLoss\": ";
    Bench b = bench_new();
    Str results;
    assert_ended_well(bench_run(&b, id, NULL, words, NULL));
    assert_no_error(file_read(
        b.arena, arena_printf(b.arena, "%s/%s/evaluation_results.jsonl", b.root, id), &results));
    const char *at = NULL;
    for (const char *x = results.ptr; (x = strstr(x, name)); x += strlen(name)) at = x;
    if (!at) fail_msg("no evaluation in %s", results.ptr);
    const double loss = strtod(at + strlen(name), NULL);
    arena_free(b.arena);
    return loss;
}

/* Averages without memory are the parameters themselves. */
TEST(evaluations_read_the_averages_where_asked)
{
    static const char *const plain[] = { NULL },
                             *const none[] = { "--set", AVERAGED(", decay: 0.0"), NULL },
                             *const some[] = { "--set", AVERAGED(", decay: 0.9"), NULL },
                             *const kept[] = { "--set", AVERAGED(", decay: 0.9, evaluation: false"),
                                               NULL };
    const double loss = last_evaluation("plain", plain);
    assert_true(last_evaluation("none", none) == loss);
    assert_true(last_evaluation("kept", kept) == loss);
    assert_true(last_evaluation("some", some) != loss);
}

enum { BLOCKS = 2, WIDTH = 4 };

static const char *weight_of(Arena *a, const char *prefix, int block)
{
    return arena_printf(a, "%sh.%d.w", prefix, block);
}

/* Of a training, or of averages: those of the first `n` blocks, where other ranks of a pipeline
 * have the rest. */
static ParamStore *store_of(Arena *a, Device *d, bool is_average, int n)
{
    Graph *g = graph_new(a), *other = graph_new(a);
    const Dim four = { .size = WIDTH };
    ParamStore *s = store_new(d);
    for (int i = 0; i < BLOCKS; i++) {
        graph_param(i < n ? g : other, weight_of(a, is_average ? AVERAGE : "", i), 1, &four);
        if (!is_average) graph_state(g, weight_of(a, AVERAGE, i), F32, 1, &four);
    }
    g->elsewhere = other->value;
    g->n_elsewhere = other->n_values;
    assert_no_error(store_add(s, g));
    assert_no_error(store_allocate(s));
    return s;
}

static float *numbers_of(Arena *a, const ParamStore *s, const char *prefix, int block)
{
    return store_find(s, weight_of(a, prefix, block))->tensor.data;
}

/* Parameter j of block i is 4 i + j, and its average 10 more. */
static const char *save_training(Arena *a, Device *d)
{
    ParamStore *s = store_of(a, d, false, BLOCKS);
    const char *path = path_join(a, test_folder(), "saved");
    float steps = 3;
    int64_t n;
    for (int i = 0; i < BLOCKS * WIDTH; i++) {
        numbers_of(a, s, "", i / WIDTH)[i % WIDTH] = (float)i;
        numbers_of(a, s, AVERAGE, i / WIDTH)[i % WIDTH] = (float)(10 + i);
    }
    StateTensor *state = state_of_store(a, s, true, &steps, &n);
    assert_no_error(checkpoint_save(path, state, n, "{}"));
    store_free(s);
    return path;
}

/* Also where other ranks of a pipeline have some of them. */
TEST(averages_are_read_from_a_checkpoint_of_the_training)
{
    Arena *a = arena_new();
    Device *d = cpu_device_new(1);
    const char *path = save_training(a, d);
    for (int n = BLOCKS; n > 0; n--) {
        ParamStore *read = store_of(a, d, true, n);
        assert_no_error(state_load(read, path, NULL, false, NULL));
        for (int i = 0; i < n * WIDTH; i++)
            assert_true(numbers_of(a, read, AVERAGE, i / WIDTH)[i % WIDTH] == (float)(10 + i));
        store_free(read);
    }
    d->free(d);
    arena_free(a);
}
