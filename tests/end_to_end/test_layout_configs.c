/* test_layout_configs.c - the files of configs/layouts: each shares the model in its way, and all
 * learn what one rank learns. */
#include "comm/mpirun.h"
#include "end_to_end/training.h"
#include <jansson.h>
#include <string.h>

enum { MAX_WORDS = 56 };

typedef struct LayoutRun {
    const char *name, *ranks;
    const char *accumulation; /* of the rank that sees the same samples in a step */
} LayoutRun;

static const LayoutRun layouts[] = {
    { "ddp", "2", "4" },      { "zero1", "2", "4" },    { "fsdp", "2", "4" },
    { "hsdp", "4", "8" },     { "tensor", "2", "2" },   { "context", "2", "2" },
    { "pipeline", "2", "2" }, { "experts", "2", NULL }, { "product", "8", "4" },
};
enum { N_LAYOUTS = sizeof layouts / sizeof *layouts };

static void set(const char **words, int *n, const char *assignment)
{
    words[(*n)++] = "--set";
    words[(*n)++] = assignment;
}

/* The words that train on so many ranks; NULL: whoever starts the program says how many. */
static Words words_of(const Bench *b, const char *id, const char *file, const char *ranks,
                      Words more)
{
    static const char *const small[] = {
        "model_raw.config.vocab_size=64",
        "model_raw.config.n_embd=32",
        "model_raw.config.ffn_hidden=64",
        "settings.step_profile.sequence_length=16",
        "settings.training_target.num_target_steps=3",
        "settings.intervals.training_log_interval_in_steps=1",
        "settings.intervals.evaluation_interval_in_steps=3",
        "settings.intervals.checkpointing_interval_in_steps=3",
        "settings.intervals.evaluation_batches=null",
        "lr_scheduler.config.warmup_steps=1",
    };
    Arena *a = b->arena;
    const char **words = NEW_N(a, const char *, MAX_WORDS);
    int n = 0;
    words[n++] = "run";
    words[n++] = "--config_file_path";
    words[n++] = arena_printf(a, "configs/layouts/%s.yaml", file);
    words[n++] = "--experiments_root_path";
    words[n++] = b->root;
    words[n++] = "--experiment_id";
    words[n++] = id;
    if (ranks) words[n++] = "--ranks";
    if (ranks) words[n++] = ranks;
    for (size_t i = 0; i < sizeof small / sizeof *small; i++) set(words, &n, small[i]);
    set(words, &n, arena_printf(a, "settings.paths.train_dataset_path=%s", b->pbin));
    set(words, &n, arena_printf(a, "settings.paths.validation_dataset_path=%s", b->pbin));
    for (int i = 0; more && more[i]; i++) set(words, &n, more[i]);
    assert_true(n < MAX_WORDS);
    return words;
}

static void run(const Bench *b, const char *id, const char *file, const char *ranks,
                const char *more)
{
    const char *const one[] = { more, NULL };
    assert_ended_well(command_output(b->arena, words_of(b, id, file, ranks, one), NULL));
}

/* Ranks with all experts stand beside those that share them: each balances its own microbatches. */
static const char *beside(const Bench *b, const LayoutRun *l)
{
    Arena *a = b->arena;
    const char *id = arena_printf(a, "one-%s", l->accumulation ? l->accumulation : "experts");
    if (file_exists(path_join(a, b->root, id))) return id;
    if (!l->accumulation)
        run(b, id, "experts", "2", "device_mesh.config.expert_parallel_degree=1");
    else
        run(b, id, "common", "1",
            arena_printf(a, "settings.step_profile.gradient_accumulation_steps=%s",
                         l->accumulation));
    return id;
}

TEST(every_layout_of_the_configurations_learns_what_one_rank_learns)
{
    Bench b = bench_new();
    for (int i = 0; i < N_LAYOUTS; i++) {
        const LayoutRun *l = &layouts[i];
        const char *one = beside(&b, l);
        run(&b, l->name, l->name, l->ranks, NULL);
        assert_results_near(&b, l->name, one, "train loss avg", 1e-5);
        assert_results_near(&b, l->name, one, "grad norm last", 1e-4);
        /* four ranks leave out more samples at the end, so that all have whole batches */
        if (strcmp(l->name, "hsdp") != 0)
            assert_results_near(&b, l->name, one, "CLMCrossEntropyLoss", 1e-5);
    }
    arena_free(b.arena);
}

/* -- traces -- */

typedef struct Trace {
    const json_t *events;
    int n_gathers, n_sends, n_receives, n_sums, n_waits;
} Trace;

static double number(const json_t *of, const char *key)
{
    const json_t *x = json_object_get(of, key);
    if (!json_is_number(x)) fail_msg("%s is no number", key);
    return json_number_value(x);
}

static const char *text_of(const json_t *of, const char *key)
{
    const char *text = json_string_value(json_object_get(of, key));
    return text ? text : "";
}

/* Of rank 0: stage, share and matrix part of it are the first of two each. */
static void check_transfer(const json_t *event, Trace *t)
{
    const json_t *args = json_object_get(event, "args");
    const char *name = text_of(event, "name"), *axis = text_of(args, "mesh axis");
    const bool is_send = !strcmp(name, "send"), is_receive = !strcmp(name, "receive");
    assert_true(number(args, "microbatch") >= 0 && number(event, "dur") >= 0);
    if (!strcmp(axis, "pp") || !strcmp(axis, "dp_shard") || !strcmp(axis, "tp"))
        assert_true(number(args, "ranks") == 2);
    if (is_send || is_receive) {
        assert_string_equal(axis, "pp");
        assert_true(number(args, "peer") == 4);
    }
    if (is_send) assert_true(number(args, "bytes sent") >= 16 * 32 / 2 * 4);
    t->n_sends += is_send;
    t->n_receives += is_receive;
    t->n_sums += !strcmp(axis, "tp");
    if (strcmp(name, "gather_unit") != 0) return;
    t->n_gathers++;
    assert_string_equal(axis, "dp_shard");
    assert_true(number(event, "tid") == 1 && number(args, "bytes sent") > 0);
    assert_null(json_object_get(args, "peer"));
}

static void check_trace(Trace *t)
{
    const json_t *event;
    size_t i;
    bool is_named = false;
    json_array_foreach(t->events, i, event)
    {
        const char *kind = text_of(event, "cat");
        if (!strcmp(kind, "transfer")) check_transfer(event, t);
        if (!strcmp(kind, "wait")) {
            assert_true(number(event, "tid") == 0);
            assert_true(*text_of(json_object_get(event, "args"), "for"));
            t->n_waits++;
        }
        is_named |= !strcmp(text_of(json_object_get(event, "args"), "name"), "gathers");
    }
    assert_true(is_named);
}

TEST(trace_of_a_run_shows_streams_and_transfers_of_each_rank)
{
    Bench b = bench_new();
    Arena *a = b.arena;
    run(&b, "x", "product", "8",
        arena_printf(a,
                     "profiler={component_key: steppable_profiler, variant_key: kernel_tracing, "
                     "config: {num_wait_steps: 2, num_warmup_steps: 1, num_active_steps: 4, "
                     "profiler_activities: [CPU], profile_memory: false, record_shapes: false, "
                     "with_flops: false, with_stack: false, with_modules: false, "
                     "output_folder_path: %s/traces, tracked_ranks: [0, 7]}}",
                     b.root));
    assert_false(
        file_exists(arena_printf(a, "%s/traces/profiler_trace_ranks_8_rank_1.json", b.root)));
    for (int rank = 0; rank < 8; rank += 7) {
        Trace t = { 0 };
        json_t *whole = json_load_file(
            arena_printf(a, "%s/traces/profiler_trace_ranks_8_rank_%d.json", b.root, rank), 0,
            NULL);
        assert_non_null(whole);
        t.events = json_object_get(whole, "traceEvents");
        if (rank == 0) {
            check_trace(&t);
            assert_true(t.n_sends >= 4 && t.n_receives >= 4 && t.n_gathers >= 4);
            assert_true(t.n_sums >= 4 && t.n_waits > 0);
        }
        json_decref(whole);
    }
    arena_free(a);
}

TEST(training_with_activations_in_host_memory_ends_with_the_same_bits)
{
    Bench b = bench_new();
    run(&b, "kept", "fsdp", "2", NULL);
    run(&b, "moved", "fsdp", "2", "sharded_model.config.offload_every=1");
    assert_same_state(&b, "moved", "kept");
    const char *const plan[] = { "plan",
                                 "--config_file_path",
                                 "configs/layouts/fsdp.yaml",
                                 "--ranks",
                                 "2",
                                 "--set",
                                 "sharded_model.config.offload_every=1",
                                 NULL };
    Outcome o = command_output(b.arena, plan, NULL);
    assert_ended_well(o);
    assert_contains(o.text, "activations in host memory, besides");
    arena_free(b.arena);
}
FENCED(training_with_activations_in_host_memory_ends_with_the_same_bits)

/* -- processes -- */

#define ASYNC "sharded_model.config.async_tensor_parallel=true"

typedef struct Product {
    const char *says, *file;
    const char *more[3];
} Product;

/* Processes compute the bits that threads do, whatever they share. */
static void processes_equal_threads(int ranks, const Product *product, int n)
{
    Bench b = bench_new();
    Arena *a = b.arena;
    const char *said = "";
    mpirun_prepare(a);
    for (int i = 0; i < n; i++) {
        const Product *p = &product[i];
        const char *threads = arena_printf(a, "threads-%d", i),
                   *processes = arena_printf(a, "processes-%d", i);
        assert_ended_well(command_output(
            a, words_of(&b, threads, p->file, arena_printf(a, "%d", ranks), p->more), NULL));
        assert_ended_well(command_output(
            a, mpirun_words(a, ranks, NULL, words_of(&b, processes, p->file, NULL, p->more)),
            NULL));
        assert_curve_within(&b, processes, threads);
        assert_curve_within(&b, threads, processes);
        said = arena_printf(a, "%s%s%s", said, i ? ", " : "", p->says);
    }
    test_note("%d processes: %s", ranks, said);
    arena_free(a);
}

TEST(layouts_on_two_processes_have_the_bits_of_threads)
{
    static const Product two[] = {
        { "FSDP", "fsdp", { NULL } },
        { "tp with tokens, asynchronous", "tensor", { ASYNC, NULL } },
        { "cp on a ring", "context", { NULL } },
        { "pp 1F1B", "pipeline", { NULL } },
    };
    processes_equal_threads(2, two, sizeof two / sizeof *two);
}

TEST(layouts_on_four_processes_have_the_bits_of_threads)
{
    static const Product four[] = {
        { "HSDP", "hsdp", { NULL } },
        { "pp x tp, recomputed", "product", { NULL } },
        { "cp x tp, asynchronous",
          "tensor",
          { "device_mesh.config.context_parallel_degree=2", ASYNC, NULL } },
        { "experts x FSDP", "experts", { NULL } },
        { "pp x FSDP", "product", { "device_mesh.config.tensor_parallel_degree=1", NULL } },
    };
    processes_equal_threads(4, four, sizeof four / sizeof *four);
}
