/* test_library.c - programs outside of this one that train by libmodalities: examples/ in C and
 * Python, and what `make install` gives them. */
#include "../include/modalities.h"
#include "cli/command_line.h"
#include "end_to_end/training.h"
#include <stdlib.h>
#include <string.h>

/* The YAML of small trainings, with a collator that the example brings. */
static const char *custom_config(const Bench *b)
{
    const char *path = path_join(b->arena, test_folder(), "custom.yaml");
    const char *text = arena_printf(
        b->arena,
        "extends: %s\ncollate_fn:\n  component_key: collate_fn\n  variant_key: "
        "custom_gpt_2_llm_collator\n  config:\n    sample_key: input_ids\n    target_key: "
        "target_ids\n    custom_attribute: custom_value\n",
        path_absolute(b->arena, "tests/end_to_end/train.yaml"));
    assert_no_error(file_write(path, text, strlen(text)));
    return path;
}

/* The training of the tests as the program runs it, one result per step. */
static const char *results_of_run(const Bench *b, const char *id)
{
    Str text;
    const char *words[] = { NULL };
    assert_ended_well(bench_run(b, id, NULL, words, NULL));
    const char *path = arena_printf(b->arena, "%s/%s/evaluation_results.jsonl", b->root, id);
    assert_no_error(file_read(b->arena, path, &text));
    return text.ptr;
}

/* The number after the n-th "key": of the text, or after the n-th `key` of what was printed. */
static double number(const char *text, const char *key, int n)
{
    const char *at = text;
    for (int i = 0; i <= n; i++) {
        at = strstr(i ? at + 1 : at, key);
        if (!at) fail_msg("there are only %d of %s in:\n%s", i, key, text);
    }
    return strtod(at + strlen(key), NULL);
}

TEST(a_program_with_a_collator_of_its_own_trains_as_run_does)
{
    Bench b = bench_new();
    const char *said, *expected = results_of_run(&b, "run"),
                      *weights = path_join(b.arena, test_folder(), "weights.safetensors");
    const char *command =
        arena_printf(b.arena, "%s %s %s settings.intervals.training_log_interval_in_steps=1",
                     test_tool(b.arena, "../examples/library_usage"), custom_config(&b), weights);
    assert_int_equal(shell_run(b.arena, command, &said), 0);
    assert_contains(said, "step 8: loss ");
    /* a step has two microbatches; the loader may make batches ahead */
    assert_true(number(said, "The collator was called ", 0) >= 16);
    for (int i = 0; i < 8; i++)
        assert_close(number(said, ": loss ", i), number(expected, "\"train loss avg\": ", i), 1e-6);
    assert_true(file_exists(weights));
    const char *more[] = { "--initial_weights_path", weights, NULL };
    assert_ended_well(bench_run(&b, "further", NULL, more, NULL));
    arena_free(b.arena);
}

TEST(python_steps_a_training_by_ctypes)
{
    Bench b = bench_new();
    const char *said;
    if (getenv("ASAN_OPTIONS") || strstr(program_path(), "-address") ||
        strstr(program_path(), "-thread"))
        test_skip("a library with a sanitizer cannot be loaded by python3");
    if (system("command -v python3 >/dev/null 2>&1") != 0) test_skip("there is no python3");
    const char *expected = results_of_run(&b, "run");
    const char *command =
        arena_printf(b.arena, "LIBMODALITIES=%s python3 examples/steps.py %s",
                     path_absolute(b.arena, test_tool(b.arena, "../libmodalities.so")),
                     "tests/end_to_end/train.yaml");
    if (shell_run(b.arena, command, &said)) fail_msg("%s", said);
    assert_close(number(said, "step 8: loss ", 0), number(expected, "\"train loss avg\": ", 7),
                 1e-6);
    assert_contains(said, "transformer.wte.weight: 2048 numbers, the first ");
    Str text;
    int n_lines = 0;
    assert_no_error(file_read(b.arena, "examples/steps.py", &text));
    for (size_t i = 0; i < text.len; i++) n_lines += text.ptr[i] == '\n';
    assert_true(n_lines < 50);
    arena_free(b.arena);
}

TEST(python_loads_plugins_by_the_library)
{
    Bench b = bench_new();
    const char *said;
    if (strstr(program_path(), "-address") || strstr(program_path(), "-thread"))
        test_skip("a library with a sanitizer cannot be loaded by python3");
    if (system("command -v python3 >/dev/null 2>&1") != 0) test_skip("there is no python3");
    const char *words[] = { NULL };
    bench_words(&b, "variables", NULL, words);
    const char *command = arena_printf(
        b.arena,
        "LIBMODALITIES=%s python3 examples/steps.py tests/end_to_end/train.yaml 'plugins=[%s]' "
        "wrapped_model.config.block_names='[TransformerBlock]' "
        "initialized_model.config.model_initializer.config.num_layers=2 "
        "'model_raw={component_key: model, variant_key: einsum_transformer, config: {sample_key: "
        "input_ids, prediction_key: logits, vocab_size: 64, sequence_length: 64, embed_dim: 32, "
        "num_q_heads: 4, num_kv_heads: 2, num_layers: 2}}'",
        path_absolute(b.arena, test_tool(b.arena, "../libmodalities.so")),
        test_tool(b.arena, "../examples/einsum_transformer.so"));
    if (shell_run(b.arena, command, &said)) fail_msg("%s", said);
    assert_contains(said, "step 8: loss ");
    arena_free(b.arena);
}

TEST(the_library_says_what_was_wrong)
{
    Bench b = bench_new();
    const char *words[] = { NULL };
    bench_words(&b, "variables", NULL, words);
    assert_null(modalities_open("tests/nowhere.yaml", NULL));
    assert_contains(modalities_error(), "tests/nowhere.yaml");
    const char *typo[] = { "optimizer.config.lrr=1", NULL };
    Modalities *m = modalities_open("tests/end_to_end/train.yaml", typo);
    assert_non_null(m);
    assert_int_equal(modalities_step(m), MODALITIES_FAILED);
    assert_contains(modalities_error(), "it is to be built before it steps");
    assert_false(modalities_build(m));
    assert_contains(modalities_error(), "lrr");
    assert_int_equal(modalities_step(m), MODALITIES_FAILED);
    assert_contains(modalities_error(), "lrr");
    assert_false(modalities_save(m, "nowhere.safetensors"));
    modalities_close(m);

    const char *ranks[] = { "device_mesh.config.world_size=2",
                            "device_mesh.config.data_parallel_shard_degree=2", NULL };
    m = modalities_open("tests/end_to_end/train.yaml", ranks);
    assert_non_null(m);
    assert_false(modalities_build(m));
    modalities_close(m);
    const ModalitiesPlugin old = { .api = 0, .name = "old" };
    m = modalities_open("tests/end_to_end/train.yaml", NULL);
    assert_non_null(m);
    assert_false(modalities_add_plugin(m, &old));
    assert_contains(
        modalities_error(),
        "plugin old: it is built for version 0 of the interface, and this is version 1");
    assert_true(modalities_build(m));
    assert_int_equal(modalities_read_parameter(m, "nothing", NULL, 0), -1);
    assert_contains(modalities_error(), "there is no parameter \"nothing\"");
    modalities_close(m);
    arena_free(b.arena);
}

static void no_forward(const void *settings, const ModalitiesTensor *in,
                       const ModalitiesTensor *out)
{
    (void)settings, (void)in, (void)out;
}

/* Adds 1, 2, 3 and 4 to its four states, and takes what they hold from the parameter. */
static void count_up(const void *settings, const ModalitiesUpdate *u)
{
    (void)settings;
    for (int64_t i = 0; i < u->n; i++)
        for (int k = 0; k < MODALITIES_MAX_STATES; k++) {
            u->state[k][i] += k + 1;
            u->param[i] -= u->lr * u->state[k][i];
        }
}

static const ModalitiesOptimizer counter = { .variant = "counter",
                                             .states = { "a", "b", "c", "d" },
                                             .update = count_up };

static void assert_bad(ModalitiesPlugin plugin, const char *says)
{
    Modalities *m = modalities_open("tests/end_to_end/train.yaml", NULL);
    assert_non_null(m);
    plugin.api = MODALITIES_API;
    assert_false(modalities_add_plugin(m, &plugin));
    assert_contains(modalities_error(), says);
    modalities_close(m);
}

TEST(parts_of_plugins_that_lack_something_are_refused)
{
    static const struct {
        ModalitiesOp op;
        const char *says;
    } bad[] = {
        { { .dims = "*->*", .forward = no_forward }, "an op needs name, dims and forward" },
        { { .name = "x", .forward = no_forward }, "an op needs name, dims and forward" },
        { { .name = "x", .dims = "*->*" }, "an op needs name, dims and forward" },
        { { .name = "x", .dims = "*,*", .forward = no_forward }, "op x: dims \"*,*\"; allowed: " },
        { { .name = "x", .dims = "->*", .forward = no_forward }, "op x: dims \"->*\"; allowed: " },
        { { .name = "x", .dims = "*->*,*", .forward = no_forward }, "and one result" },
    };
    static const ModalitiesOptimizer optimizer = { .variant = "x" };
    static const ModalitiesScheduler scheduler = { .variant = "x" };
    static const ModalitiesModel model = { .variant = "x" };
    static const ModalitiesCollator collator = { .variant = "x" };
    Bench b = bench_new();
    const char *words[] = { NULL };
    bench_words(&b, "variables", NULL, words);
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        assert_bad((ModalitiesPlugin){ .ops = (const ModalitiesOp *const[]){ &bad[i].op, NULL } },
                   bad[i].says);
    assert_bad((ModalitiesPlugin){ .optimizers =
                                       (const ModalitiesOptimizer *const[]){ &optimizer, NULL } },
               "an optimizer needs variant and update");
    assert_bad((ModalitiesPlugin){ .schedulers =
                                       (const ModalitiesScheduler *const[]){ &scheduler, NULL } },
               "a scheduler needs variant and rate");
    assert_bad((ModalitiesPlugin){ .models = (const ModalitiesModel *const[]){ &model, NULL } },
               "a model needs variant and forward");
    assert_bad(
        (ModalitiesPlugin){ .collators = (const ModalitiesCollator *const[]){ &collator, NULL } },
        "a collator needs variant and collate");
    arena_free(b.arena);
}

/* After three steps the states are 3, 6, 9 and 12, and a parameter has lost lr (10 + 20 + 30). */
TEST(an_optimizer_may_have_as_many_states_as_there_is_room_for)
{
    const ModalitiesPlugin plugin = { .api = MODALITIES_API,
                                      .optimizers =
                                          (const ModalitiesOptimizer *const[]){ &counter, NULL } };
    const char *set[] = { "optimizer={component_key: optimizer, variant_key: counter, config: {lr: "
                          "0.001, wrapped_model: {instance_key: initialized_model, pass_type: "
                          "BY_REFERENCE}}}",
                          "lr_scheduler={component_key: scheduler, variant_key: dummy_lr, config: "
                          "{optimizer: {instance_key: optimizer, pass_type: BY_REFERENCE}}}",
                          NULL };
    static const char norm[] = "transformer.lm_head_norm.weight"; /* is 1 at first */
    Bench b = bench_new();
    const char *words[] = { NULL };
    bench_words(&b, "variables", NULL, words);
    Modalities *m = modalities_open("tests/end_to_end/train.yaml", set);
    assert_non_null(m);
    if (!modalities_add_plugin(m, &plugin) || !modalities_build(m))
        fail_msg("%s", modalities_error());
    for (int i = 0; i < 3; i++) assert_int_equal(modalities_step(m), MODALITIES_STEPPED);
    float weight[64];
    const int64_t n = modalities_read_parameter(m, norm, weight, 64);
    assert_int_equal(n, 32);
    for (int64_t i = 0; i < n; i++) assert_close(weight[i], 1 - 0.001 * 60, 1e-6);
    modalities_close(m);
    arena_free(b.arena);
}

TEST(an_installed_header_and_library_are_enough_to_build_the_examples)
{
    Arena *a = arena_new();
    const char *said;
    if (strstr(program_path(), "-address") || strstr(program_path(), "-thread"))
        test_skip("built with a sanitizer");
    if (!file_exists("Makefile")) test_skip("not run in the root of the repository");
    const char *to = path_absolute(a, test_folder());
    const char *program = path_absolute(a, program_path());
    const char *command = arena_printf(
        a,
        "unset MAKEFLAGS MFLAGS MAKELEVEL; make -s install BUILD=%s PREFIX=%s/usr -o all && cd %s "
        "&& cc -Wall -Wextra -Werror -Iusr/include -o used %s/examples/library_usage.c -Lusr/lib "
        "-lmodalities -Wl,-rpath,%s/usr/lib && { ./used; [ $? = 2 ]; } && cc -shared -fPIC "
        "-Iusr/include -o lion.so %s/examples/lion.c && { ! command -v c++ || "
        "c++ -fsyntax-only -x c++ usr/include/modalities.h; }",
        path_folder(a, program), to, to, path_absolute(a, "."), to, path_absolute(a, "."));
    if (shell_run(a, command, &said)) fail_msg("%s", said);
    arena_free(a);
}
