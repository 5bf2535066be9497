/* test_watch.c - hooks, statistics of modules, profiles and recorded nodes of a small training. */
#include "base/file.h"
#include "config/yaml.h"
#include "data/pbin.h"
#include "end_to_end/training.h"
#include "test.h"
#include <jansson.h>
#include <stdlib.h>
#include <string.h>

#define HOOK(variant, more)                                                                        \
    "settings.debugging={component_key: debugging, variant_key: settings, config: "                \
    "{forward_hooks: [{component_key: model_debugging_hook, variant_key: " variant                 \
    ", config: {model: {instance_key: model_raw, pass_type: BY_REFERENCE}" more "}}]}}"

static Str read_all(Arena *a, const char *path)
{
    Str text;
    assert_no_error(file_read(a, path, &text));
    return text;
}

static json_t *find_line(Arena *a, const char *path, const char *tag, const char *hook)
{
    char *rest = arena_string(a, read_all(a, path).ptr);
    for (char *line; (line = strsep(&rest, "\n")) && *line;) {
        json_t *j = json_loads(line, 0, NULL);
        assert_non_null(j);
        if (!strcmp(json_string_value(json_object_get(j, "tensor_tag")), tag) &&
            !strcmp(json_string_value(json_object_get(j, "hook_type")), hook))
            return j;
        json_decref(j);
    }
    fail_msg("%s: no %s of %s", path, hook, tag);
    return NULL;
}

static int count_words(const char *text, const char *words)
{
    int n = 0;
    for (const char *at = text; (at = strstr(at, words)); at++) n++;
    return n;
}

static int count_lines(Arena *a, const char *path, const char *tag, const char *hook)
{
    return count_words(
        read_all(a, path).ptr,
        arena_printf(a, "{\"tensor_tag\": \"%s\", \"hook_type\": \"%s\"", tag, hook));
}

static void assert_shape(const json_t *line, int n, const int *size)
{
    const json_t *shape = json_object_get(line, "global_shape");
    assert_int_equal(json_array_size(shape), n);
    for (int d = 0; d < n; d++)
        assert_int_equal(json_integer_value(json_array_get(shape, (size_t)d)), size[d]);
}

TEST(print_hook_shows_every_op_of_the_forward_pass)
{
    Bench b = bench_new();
    const char *const more[] = { "--set", HOOK("print_forward_hook", ", print_shape_only: true"),
                                 "--set", "settings.training_target.num_target_steps=1", NULL };
    Outcome o = bench_run(&b, "x", NULL, more, NULL);
    assert_ended_well(o);
    assert_non_null(strstr(o.text,
                           "Module: contract, Path: transformer.h.1.mlp.c_fc, Input "
                           "shapes: [[2, 16, 32], [64, 32]], Output shapes: [[2, 16, 64]]"));
    assert_null(strstr(o.text, ">>> Input"));
    arena_free(b.arena);
}

/* The same modules, kinds and keys as the original writes. */
TEST(enriched_model_writes_what_enters_and_leaves_its_modules)
{
    Bench b = bench_new();
    Arena *a = b.arena;
    const char *folder = path_join(a, b.root, "stats");
    const char *const more[] = {
        "--set",
        arena_printf(a,
                     "initialized_model.config.model={component_key: model, variant_key: "
                     "debugging_enriched, config: {model: {instance_key: wrapped_model, pass_type: "
                     "BY_REFERENCE}, logging_dir_path: %s}}",
                     folder),
        "--set", "settings.training_target.num_target_steps=1", NULL
    };
    assert_ended_well(bench_run(&b, "x", NULL, more, NULL));
    const char *path = path_join(a, folder, "tensor_stats_rank_0.jsonl");
    static const struct {
        const char *tag, *hook;
        int n, size[3];
    } expected[] = {
        { "transformer.wte", "forward_input", 2, { 2, 16 } },
        { "transformer.wte.weight", "forward_weights", 2, { 64, 32 } },
        { "transformer.wte", "forward_output", 3, { 2, 16, 32 } },
        { "transformer.h.0", "forward_input", 3, { 2, 16, 32 } },
        { "transformer.h.0", "forward_output", 3, { 2, 16, 32 } },
        { "transformer.h.0", "backward_output", 3, { 2, 16, 32 } },
        { "transformer.h.1.attn", "forward_output", 3, { 2, 16, 32 } },
        { "transformer.h.1.attn.k_attn.bias", "forward_weights", 1, { 16 } },
        { "transformer.h.1.mlp.c_fc", "backward_output", 3, { 2, 16, 64 } },
        { "transformer.lm_head_norm", "forward_output", 3, { 2, 16, 32 } },
    };
    for (size_t i = 0; i < sizeof expected / sizeof *expected; i++) {
        json_t *line = find_line(a, path, expected[i].tag, expected[i].hook);
        assert_shape(line, expected[i].n, expected[i].size);
        assert_int_equal(json_integer_value(json_object_get(line, "nan_count")), 0);
        assert_true(json_is_integer(json_object_get(line, "inf_count")));
        assert_int_equal(json_integer_value(json_object_get(line, "inf_count")), 0);
        json_decref(line);
    }
    json_t *ids = find_line(a, path, "transformer.wte", "forward_input");
    assert_true(json_number_value(json_object_get(ids, "mean")) == -1); /* no float */
    assert_int_equal(json_integer_value(json_object_get(ids, "counter")), 0);
    json_decref(ids);
    /* two microbatches; what a module keeps to itself is no output of it */
    assert_int_equal(count_lines(a, path, "transformer.h.0", "forward_output"), 2);
    assert_int_equal(count_lines(a, path, "transformer.h.1.attn", "forward_output"), 2);
    /* each microbatch counts from its first node on */
    const char *text = read_all(a, path).ptr;
    assert_int_equal(count_words(text, "\"counter\": 0"), count_words(text, "\"counter\": 1"));
    arena_free(a);
}

/* The node that made it is named and kept, and can be run again. */
TEST(the_detector_names_parameters_that_learn_nothing)
{
    Bench b = bench_new();
    const char *const more[] = {
        "--set", HOOK("detector", ", num_steps: 3"),
        "--set", "initialized_model.config.model_initializer.config.std=1e-38",
        "--set", "lr_scheduler.config.max_lr=1e-38",
        NULL
    };
    Outcome o = bench_run(&b, "x", NULL, more, NULL);
    assert_ended_well(o);
    assert_contains(
        o.text, "warning: step 3, rank 0: the gradient of transformer.h.0.attn.q_attn.weight is "
                "exactly zero, for 3 steps now");
    const char *first = strstr(o.text, "q_attn.weight is exactly zero");
    assert_null(strstr(first + 1, "h.0.attn.q_attn.weight is exactly zero")); /* told once */
    arena_free(b.arena);
}

/* Samples that are all the same, and a rate that moves nothing. */
TEST(the_detector_names_gradients_that_do_not_change)
{
    enum { N_TOKENS = 3000, PERIOD = 16 };
    Bench b = bench_new();
    Arena *a = b.arena;
    uint16_t token[N_TOKENS];
    for (int i = 0; i < N_TOKENS; i++) token[i] = (uint16_t)(i % PERIOD + 1);
    PbinWriter w;
    b.pbin = path_join(a, path_absolute(a, test_folder()), "same.pbin");
    assert_no_error(pbin_create(b.pbin, 2, &w));
    assert_no_error(pbin_add(&w, token, sizeof token));
    assert_no_error(pbin_commit(&w));
    const char *const more[] = { "--set", HOOK("detector", ", num_steps: 3"),
                                 "--set", "lr_scheduler.config.max_lr=1e-38",
                                 "--set", "model_raw.config.dropout=0.0",
                                 NULL };
    const Outcome o = bench_run(&b, "x", NULL, more, NULL);
    assert_ended_well(o);
    assert_contains(o.text, "warning: step 4, rank 0: the gradient of "
                            "transformer.h.0.attn.q_attn.weight has not changed for 3 steps");
    assert_null(strstr(o.text, "exactly zero"));
    arena_free(a);
}

TEST(the_detector_names_values_that_leave_their_range)
{
    Bench b = bench_new();
    const char *const calm[] = { "--set", HOOK("detector", ", num_steps: 2"), NULL };
    const char *const wild[] = { "--set", HOOK("detector", ", num_steps: 2"), "--set",
                                 "lr_scheduler.config.max_lr=3.0", NULL };
    Outcome o = bench_run(&b, "calm", NULL, calm, NULL);
    assert_ended_well(o);
    assert_null(strstr(o.text, "steps before"));
    assert_null(strstr(o.text, "the gradient of"));
    o = bench_run(&b, "wild", NULL, wild, NULL);
    assert_contains(o.text, " in transformer.h.");
    assert_contains(o.text, " in the 2 steps before");
    arena_free(b.arena);
}

/* A step is 64 times one token, whose row of the embedding becomes large with the step that sees it
 * first: what came before the last steps is forgotten, and each step is told of anew. */
TEST(the_detector_judges_each_step_by_the_last_ones_alone)
{
    static const uint16_t seen[] = { 1, 1, 2, 2, 3, 4, 3, 5, 6, 5 };
    enum { N_STEPS = 10, N_TOKENS = 64 };
    Bench b = bench_new();
    Arena *a = b.arena;
    setenv("EVAL_PBIN", b.pbin, 1);
    uint16_t token[N_STEPS * N_TOKENS + 1] = { 0 };
    for (int i = 0; i < N_STEPS * N_TOKENS; i++) token[i] = seen[i / N_TOKENS];
    PbinWriter w;
    b.pbin = path_join(a, path_absolute(a, test_folder()), "steps.pbin");
    assert_no_error(pbin_create(b.pbin, 2, &w));
    assert_no_error(pbin_add(&w, token, sizeof token));
    assert_no_error(pbin_commit(&w));
    const char *const more[] = {
        "--set",
        HOOK("detector", ", num_steps: 2"),
        "--set",
        "settings.training_target.num_target_steps=10",
        "--set",
        "train_dataloader.config.batch_sampler.config.sampler.config.shuffle=false",
        "--set",
        "lr_scheduler={component_key: scheduler, variant_key: dummy_lr, config: "
        "{optimizer: {instance_key: optimizer, pass_type: BY_REFERENCE}}}",
        "--set",
        "optimizer.config.lr=1.0",
        "--set",
        "model_raw.config.dropout=0.0",
        NULL
    };
    const Outcome o = bench_run(&b, "x", NULL, more, NULL);
    assert_ended_well(o);
    int step[N_STEPS], n = 0;
    for (const char *at = o.text; (at = strstr(at, "warning: step ")); at++) {
        const char *embed = strstr(at, ": embed in transformer.wte (forward) gives ");
        if (embed && embed < strchr(at, '\n')) step[n++] = atoi(at + strlen("warning: step "));
    }
    assert_int_equal(n, 2);
    assert_int_equal(step[0], 7);
    assert_int_equal(step[1], 10);
    arena_free(a);
}

TEST(nan_hook_names_the_node_and_keeps_its_inputs)
{
    Bench b = bench_new();
    Arena *a = b.arena;
    const char *folder = path_join(a, b.root, "nans");
    const char *const more[] = {
        "--set",
        arena_printf(a, HOOK("nan_hook", ", raise_exception: true, save_inputs_to: %s"), folder),
        "--set",
        "lr_scheduler.config.max_lr=1e30",
        "--set",
        "settings.on_nonfinite=ignore",
        NULL
    };
    Outcome o = bench_run(&b, "x", NULL, more, NULL);
    assert_refused(o, 1, "NaN detected in output of ");
    assert_non_null(strstr(o.text, "microbatch"));
    PathList files = { 0 };
    assert_no_error(files_below(a, folder, ".safetensors", &files));
    assert_int_equal(files.n, 1);
    assert_non_null(strstr(o.text, files.item[0]));
    const char *const replay[] = { "replay", files.item[0], NULL };
    o = command_output(a, replay, NULL);
    assert_ended_well(o);
    assert_non_null(strstr(o.text, "recorded   0: "));
    assert_non_null(strstr(o.text, "reference  0: "));
    assert_non_null(strstr(o.text, "against what was recorded: at most"));
    arena_free(a);
}

/* A file with a header and as many numbers as it speaks of. */
static const char *write_record(const Bench *b, const char *about, const char *tensors)
{
    const char *path = path_join(b->arena, b->root, "x.safetensors");
    const char *header = arena_printf(b->arena, "{%s%s}", about, tensors);
    Text t = { 0 };
    uint64_t n = strlen(header);
    text_add(&t, &n, sizeof n);
    text_add(&t, header, n);
    for (const char *at = tensors; (at = strstr(at, "dtype")); at++) text_add(&t, "\0\0\0", 4);
    assert_no_error(file_write(path, t.ptr, t.len));
    text_free(&t);
    return path;
}

TEST(replay_refuses_what_is_no_recorded_node)
{
#define OF(op) "\"__metadata__\":{\"op\":\"" op "\",\"dims\":\"*,*->*\"},"
#define ONE(name, shape, at)                                                                       \
    "\"" name "\":{\"dtype\":\"F32\",\"shape\":[" shape "],\"data_offsets\":[" at "]}"
#define TERMS ONE("in.0", "1", "0,4") "," ONE("in.1", "1", "4,8")
    static const struct {
        const char *about, *tensors, *error;
    } all[] = {
        { "", ONE("a", "1", "0,4"), "holds no recorded node" },
        { OF("sum_up"), TERMS "," ONE("out.0", "1", "8,12"), "there is no op \"sum_up\"" },
        { OF("add"), TERMS, "inputs or results are missing" },
        { OF("add"), ONE("out.0", "1", "0,4"), "inputs or results are missing" },
        { OF("add"), TERMS "," ONE("out.0", "1,1", "8,12"),
          "result 0 has not the sizes of its op" },
        { OF("add"), TERMS "," ONE("out.0", "1", "8,12") "," ONE("out.1", "1", "12,16"),
          "result 1 has not the sizes of its op" },
        { OF("add"), TERMS "," ONE("out.0", "2", "8,16") "," ONE("other", "0", "16,16"),
          "result 0 has not the sizes of its op" },
    };
#undef OF
#undef ONE
#undef TERMS
    Bench b = bench_new();
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
        const char *const replay[] = { "replay", write_record(&b, all[i].about, all[i].tensors),
                                       NULL };
        assert_refused(command_output(b.arena, replay, NULL), 1, all[i].error);
    }
    arena_free(b.arena);
}

static json_t *load_json(Arena *a, const char *path)
{
    json_error_t error;
    json_t *j = json_loads(read_all(a, path).ptr, 0, &error);
    if (!j) fail_msg("%s:%d: %s", path, error.line, error.text);
    return j;
}

/* 2 of 4 microbatches are kept, in a trace that Chrome opens. */
TEST(kernel_trace_of_a_training_holds_the_active_microbatches)
{
    Bench b = bench_new();
    Arena *a = b.arena;
    const char *folder = path_join(a, b.root, "traces");
    const char *const more[] = {
        "--set",
        arena_printf(a,
                     "profiler={component_key: steppable_profiler, variant_key: combined, config: "
                     "{profilers: [{component_key: steppable_profiler, variant_key: "
                     "kernel_tracing, config: {num_wait_steps: 1, num_warmup_steps: 1, "
                     "num_active_steps: 2, profiler_activities: [CPU], profile_memory: true, "
                     "record_shapes: true, with_flops: true, with_stack: false, with_modules: "
                     "true, output_folder_path: %s, tracked_ranks: [0]}}, {component_key: "
                     "steppable_profiler, variant_key: memory_tracing, config: {num_wait_steps: "
                     "1, num_warmup_steps: 1, num_active_steps: 2, "
                     "memory_snapshot_folder_path: %s, tracked_ranks: [0]}}]}}",
                     folder, folder),
        NULL
    };
    const Outcome o = bench_run(&b, "x", NULL, more, NULL);
    assert_ended_well(o);
    const char *told = strstr(o.text, "memory: ");
    assert_true(told && !strstr(told + 1, "memory: ")); /* after the last step alone */
    json_t *trace = load_json(a, path_join(a, folder, "profiler_trace_ranks_1_rank_0.json"));
    const json_t *events = json_object_get(trace, "traceEvents"), *event;
    size_t i, n_embed = 0;
    json_array_foreach(events, i, event)
    {
        const char *name = json_string_value(json_object_get(event, "name"));
        const json_t *args = json_object_get(event, "args");
        const double memory = json_number_value(json_object_get(args, "share of peak GB/s"));
        const json_t *products = json_object_get(args, "share of peak FLOP/s");
        if (!strcmp(name, "contract")) assert_true(json_number_value(products) > 0);
        if (!strcmp(name, "norm_partial"))
            assert_string_equal(json_string_value(json_object_get(args, "settings")), "{p: 2}");
        if (strcmp(name, "embed")) continue;
        n_embed++;
        assert_true(memory > 0 && !products); /* it multiplies nothing */
        /* one microbatch is waited for, one warms up: the next two are the second step */
        assert_int_equal(json_integer_value(json_object_get(args, "step")), 1);
        assert_string_equal(json_string_value(json_object_get(args, "module")), "transformer.wte");
        assert_true(json_number_value(json_object_get(args, "bytes")) > 64 * 32 * 4);
    }
    assert_int_equal(n_embed, 2);
    json_decref(trace);
    const char *page = read_all(a, path_join(a, folder, "memory_snapshot_ranks_1_rank_0.html")).ptr;
    assert_non_null(strstr(page, "\"moments\""));
    assert_null(strstr(page, "http"));
    assert_non_null(strstr(page, "</script></html>\n"));
    const char *summary =
        read_all(a, path_join(a, folder, "profiler_summary_ranks_1_rank_0.txt")).ptr;
    assert_non_null(strstr(summary, "transformer.h.1.mlp.c_fc"));
    arena_free(a);
}

TEST(profile_that_needs_more_than_the_training_has_is_refused_at_the_start)
{
    Bench b = bench_new();
    const char *const more[] = {
        "--set",
        "profiler={component_key: steppable_profiler, variant_key: memory_tracing, config: "
        "{num_wait_steps: 10, num_warmup_steps: 1, num_active_steps: 6, "
        "memory_snapshot_folder_path: x, tracked_ranks: [0]}}",
        NULL
    };
    assert_refused(bench_run(&b, "x", NULL, more, NULL), 1,
                   "the profiler needs 17 microbatches, but only 16 are left");
    arena_free(b.arena);
}

/* As users of the original start it: its tutorial's files, at a small size. */
TEST(profile_commands_run_the_tutorials_of_the_original)
{
    Bench b = bench_new();
    Arena *a = b.arena;
    const char *configs = shared_path(a, "data/modalities/tutorials/profiling/configs");
    const char *out = arena_printf(a, "settings.paths.experiment_root_path=%s", b.root);
    const char *const norm[] = { "profile",
                                 "single_process",
                                 "--config_file_path",
                                 path_join(a, configs, "single_process_rms_norm_profiling.yaml"),
                                 "--experiment_root_path",
                                 b.root,
                                 "--set",
                                 out,
                                 "--set",
                                 "settings.benchmark.hidden_dim=16",
                                 "--set",
                                 "settings.benchmark.sequence_length=8",
                                 NULL };
    assert_ended_well(command_output(a, norm, NULL));
    const char *trace = path_join(a, b.root, "kernel_traces/profiler_summary_ranks_1_rank_0.txt");
    assert_non_null(strstr(read_all(a, trace).ptr, "rms_norm (forward)"));
    const char *const model[] = { "profile",
                                  "distributed",
                                  "--config_file_path",
                                  path_join(a, configs, "distributed_8B_model_profiling.yaml"),
                                  "--experiment_root_path",
                                  b.root,
                                  "--set",
                                  out,
                                  "--set",
                                  "model_raw.config.n_layer=1",
                                  "--set",
                                  "model_raw.config.n_embd=16",
                                  "--set",
                                  "model_raw.config.ffn_hidden=32",
                                  "--set",
                                  "model_raw.config.n_head_q=2",
                                  "--set",
                                  "model_raw.config.n_head_kv=1",
                                  "--set",
                                  "settings.benchmark.sequence_length=8",
                                  "--set",
                                  "settings.benchmark.vocab_size=32",
                                  NULL };
    assert_ended_well(command_output(a, model, NULL));
    assert_non_null(strstr(read_all(a, trace).ptr, "transformer.h.0.mlp.W_2"));
    arena_free(a);
}

TEST(profile_ops_prints_ops_and_modules_of_a_run)
{
    Bench b = bench_new();
    const char *const more[] = { "--profile_ops", "3", NULL };
    Outcome o = bench_run(&b, "x", NULL, more, NULL);
    assert_ended_well(o);
    const char *profile = strstr(o.text, "Profile of 3 microbatches");
    assert_true(profile && !strstr(profile + 1, "Profile of ")); /* once */
    assert_non_null(strstr(o.text, "contract (backward)"));
    const char *add = strstr(o.text, "\nadd (forward) "), *end = strchr(add + 1, '\n');
    assert_true(end[-1] == '%'); /* of what memory gives, as it multiplies nothing */
    assert_contains(o.text, "limits, measured: ");
    assert_contains(o.text, " GB/s of memory");
    assert_non_null(strstr(o.text, "transformer.h.1.mlp.c_fc"));
    assert_non_null(strstr(o.text, "Training done"));
    arena_free(b.arena);
}

/* One step of two microbatches: the second one is what there is to see. */
TEST(profile_ops_of_a_short_run_prints_what_there_was)
{
    Bench b = bench_new();
    const char *const more[] = { "--profile_ops", "100", "--set",
                                 "settings.training_target.num_target_steps=1", NULL };
    Outcome o = bench_run(&b, "x", NULL, more, NULL);
    assert_ended_well(o);
    assert_non_null(strstr(o.text, "Profile of 1 microbatches"));
    arena_free(b.arena);
}

TEST(check_runs_the_reference_beside_each_tuned_kernel)
{
    Bench b = bench_new();
    const char *const more[] = { "--check", "2", NULL };
    Outcome o = bench_run(&b, "x", NULL, more, NULL);
    assert_ended_well(o);
    assert_non_null(strstr(o.text, "Tuned kernels against their references, 2 microbatches"));
    assert_non_null(strstr(o.text, "contract "));
    assert_non_null(strstr(o.text, "attention "));
    assert_null(strstr(strstr(o.text, "Tuned kernels") + 1, "Tuned kernels")); /* once */
    const char *contract = strstr(o.text, "\ncontract "), *end = strchr(contract + 1, '\n');
    const char *worst = strstr(contract, "contract in transformer."); /* where it is off at most */
    assert_true(worst && worst < end);
    arena_free(b.arena);
}
FENCED(check_runs_the_reference_beside_each_tuned_kernel)

/* The computation waits from one of its nodes to the next one. */
static void assert_waits(Arena *a, const char *path)
{
    json_t *trace = load_json(a, path);
    const json_t *events = json_object_get(trace, "traceEvents"), *event;
    size_t i, n = 0;
    double end = 0; /* of the node before */
    json_array_foreach(events, i, event)
    {
        const char *kind = json_string_value(json_object_get(event, "cat"));
        const double start = json_number_value(json_object_get(event, "ts")),
                     took = json_number_value(json_object_get(event, "dur"));
        if (!kind || json_integer_value(json_object_get(event, "tid")) != 0) continue;
        n += !strcmp(kind, "wait");
        assert_true(took >= 0 && start >= end - 1); /* microseconds */
        end = start + took;
    }
    assert_true(n > 0);
    json_decref(trace);
}

/* Two ranks of a sharded model: each tracked one has its trace, and it shows the transfers. */
TEST(profile_distributed_measures_several_ranks)
{
    Bench b = bench_new();
    Arena *a = b.arena;
    const char *const words[] = {
        "profile",
        "distributed",
        "--ranks",
        "2",
        "--config_file_path",
        "tests/watch/profile.yaml",
        "--experiment_root_path",
        b.root,
        "--experiment_id",
        "p",
        "--set",
        "device_mesh={component_key: device_mesh, variant_key: default, config: {device_type: cpu, "
        "data_parallel_replicate_degree: 1, data_parallel_shard_degree: 2, world_size: 2}}",
        "--set",
        "wrapped={component_key: model, variant_key: fsdp2_wrapped, config: {model: {instance_key: "
        "model_raw, pass_type: BY_REFERENCE}, device_mesh: {instance_key: device_mesh, pass_type: "
        "BY_REFERENCE}, mixed_precision_settings: {param_dtype: FP_32, reduce_dtype: FP_32}, "
        "block_names: [GPT2Block]}}",
        "--set",
        "steppable_component.config.model={instance_key: wrapped, pass_type: BY_REFERENCE}",
        "--set",
        "profiler.config.tracked_ranks=[0, 1]",
        NULL
    };
    assert_ended_well(command_output(a, words, NULL));
    for (int r = 0; r < 2; r++) {
        const char *path =
            arena_printf(a, "%s/p/traces/profiler_summary_ranks_2_rank_%d.txt", b.root, r);
        assert_contains(read_all(a, path).ptr, "gather");
        assert_waits(a,
                     arena_printf(a, "%s/p/traces/profiler_trace_ranks_2_rank_%d.json", b.root, r));
    }
    const char *alone[] = { "profile",
                            "distributed",
                            "--ranks",
                            "2",
                            "--config_file_path",
                            "tests/watch/profile.yaml",
                            "--experiment_root_path",
                            b.root,
                            NULL };
    assert_refused(command_output(a, alone, NULL), 1, "2 ranks need a device_mesh");
    arena_free(a);
}
