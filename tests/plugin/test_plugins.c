/* test_plugins.c - examples/: an optimizer, an op and a model in shared objects that one line of a
 * configuration names. */
#include "end_to_end/training.h"
#include "monitor/history.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

static const char *example(Arena *a, const char *name)
{
    return test_tool(a, arena_printf(a, "../examples/%s", name));
}

/* "plugins=[A, B]" */
static const char *plugins(Arena *a, const char *first, const char *second)
{
    return second ? arena_printf(a, "plugins=[%s, %s]", first, second)
                  : arena_printf(a, "plugins=[%s]", first);
}

#define LION                                                                                       \
    "optimizer={component_key: optimizer, variant_key: lion, config: {lr: 1e-3, weight_decay: "    \
    "0.1, weight_decay_groups_excluded: [embedding, layernorm], wrapped_model: {instance_key: "    \
    "initialized_model, pass_type: BY_REFERENCE}}}"
#define EINSUM                                                                                     \
    "model_raw={component_key: model, variant_key: einsum_transformer, config: {sample_key: "      \
    "input_ids, prediction_key: logits, vocab_size: 64, sequence_length: 64, embed_dim: 32, "      \
    "num_q_heads: 4, num_kv_heads: 2, num_layers: 2, mlp_expansion_factor: 2.0, n_layer: 2}}"

TEST(a_plugin_s_optimizer_and_model_train_and_resume)
{
    Arena *a = arena_new();
    const char *words[] = {
        "--set", plugins(a, example(a, "lion.so"), example(a, "einsum_transformer.so")),
        "--set", LION,
        "--set", "wrapped_model.config.block_names=[TransformerBlock]",
        "--set", "initialized_model.config.model_initializer.config.num_layers=2",
        "--set", EINSUM,
        NULL
    };
    words[9] = arena_string(a, EINSUM);
    *strstr((char *)words[9], ", n_layer: 2") = 0; /* no setting of this model */
    words[9] = arena_printf(a, "%s}}", words[9]);
    assert_resumes(words);
    arena_free(a);
}

#define SCHEDULE                                                                                   \
    "lr_scheduler={component_key: scheduler, variant_key: inverse_square_root, config: "           \
    "{warmup_steps: 3, optimizer: {instance_key: optimizer, pass_type: BY_REFERENCE}}}"

/* The rate is reported as that of the next step. */
TEST(a_plugin_s_schedule_gives_the_rates_of_its_formula_and_resumes)
{
    Bench b = bench_new();
    Arena *a = b.arena;
    const char *const words[] = { "--set", plugins(a, example(a, "inverse_square_root.so"), NULL),
                                  "--set", SCHEDULE,
                                  "--set", "optimizer.config.lr=0.01",
                                  NULL };
    History h;
    assert_ended_well(bench_run(&b, "formula", NULL, words, NULL));
    assert_no_error(
        history_read(a, arena_printf(a, "%s/formula/evaluation_results.jsonl", b.root), &h));
    const Track *rate = history_find(&h, "train", "lr mean");
    assert_non_null(rate);
    assert_int_equal(rate->n, 8);
    for (int64_t i = 0; i < 7; i++) {
        const double step = rate->step[i] + 1,
                     expected = 0.01 * (step < 3 ? step / 3 : sqrt(3 / step));
        if (fabs(rate->value[i] - expected) > 1e-7)
            fail_msg("step %g: %g instead of %g", rate->step[i], rate->value[i], expected);
    }
    assert_resumes(words);
    arena_free(a);
}

/* The plugin's optimizer does what the same one does as a file of the program. */
TEST(a_plugin_s_optimizer_gives_the_bits_of_one_that_is_built_in)
{
    Bench b = bench_new();
    const char *outside[] = { "--set", plugins(b.arena, example(b.arena, "lion.so"), NULL), "--set",
                              LION, NULL };
    const char *inside[] = {
        "--set",
        "optimizer={component_key: optimizer, variant_key: lion, config: {lr: 1e-3, wrapped_model: "
        "{instance_key: initialized_model, pass_type: BY_REFERENCE}}}",
        NULL
    };
    outside[3] = inside[1]; /* the same settings: the one of tests/adding excludes no groups */
    assert_ended_well(bench_run(&b, "outside", NULL, outside, NULL));
    setenv("MODALITIES_PROGRAM", test_tool(b.arena, "adding/modalities"), 1);
    assert_ended_well(bench_run(&b, "inside", NULL, inside, NULL));
    assert_same_state(&b, "outside", "inside");
    assert_curve_within(&b, "outside", "inside");
    arena_free(b.arena);
}

TEST(a_plugin_s_model_learns_alike_on_two_ranks)
{
    Bench b = bench_new();
    const char *one[] = { "--set",
                          plugins(b.arena, example(b.arena, "einsum_transformer.so"), NULL),
                          "--set",
                          "initialized_model.config.model_initializer.config.num_layers=2",
                          "--set",
                          "wrapped_model.config.block_names=[TransformerBlock]",
                          "--set",
                          "model_raw={component_key: model, variant_key: einsum_transformer, "
                          "config: {sample_key: input_ids, prediction_key: logits, vocab_size: 64, "
                          "sequence_length: 64, embed_dim: 32, num_q_heads: 4, num_kv_heads: 2, "
                          "num_layers: 2}}",
                          "--set",
                          "settings.step_profile.gradient_accumulation_steps=4",
                          NULL };
    const char *two[16];
    memcpy(two, one, sizeof one);
    two[9] = "settings.step_profile.gradient_accumulation_steps=2";
    two[10] = "--ranks";
    two[11] = "2";
    two[12] = NULL;
    assert_ended_well(bench_run(&b, "one", NULL, one, NULL));
    assert_ended_well(bench_run(&b, "two", NULL, two, NULL));
    assert_results_near(&b, "one", "two", "train loss avg", 1e-4);
    arena_free(b.arena);
}

static void assert_plugin_refused(const char *path, const char *says)
{
    Bench b = bench_new();
    const char *words[] = { "--set", plugins(b.arena, path, NULL), NULL };
    assert_refused(bench_run(&b, "refused", NULL, words, NULL), 2, says);
    arena_free(b.arena);
}

TEST(a_plugin_that_cannot_be_taken_is_refused_by_name)
{
    Arena *a = arena_new();
    const char *text = path_join(a, test_folder(), "text.so");
    assert_no_error(file_write(text, "text", 4));
    assert_plugin_refused(test_tool(a, "other_api.so"),
                          "it is built for version 99 of the interface, and this is version 1");
    assert_plugin_refused("nowhere.so", "\"nowhere.so\": there is no such file");
    assert_plugin_refused(text, "it cannot be loaded: ");
    assert_plugin_refused(test_tool(a, "crash_shim.so"), "it is no plugin");
    assert_plugin_refused("{a: 1}", "allowed: the path of a shared object");
    arena_free(a);
}

TEST(settings_of_a_plugin_s_component_are_checked_like_others)
{
    Bench b = bench_new();
    const char *words[] = { "--set", plugins(b.arena, example(b.arena, "lion.so"), NULL), "--set",
                            "optimizer={component_key: optimizer, variant_key: lion, config: {lr: "
                            "1e-3, beta1: 2, beta3: 1, wrapped_model: {instance_key: "
                            "initialized_model, pass_type: BY_REFERENCE}}}",
                            NULL };
    Outcome o = bench_run(&b, "refused", NULL, words, NULL);
    assert_int_equal(o.status, 2);
    assert_contains(o.text, "optimizer.config.beta1: ");
    assert_contains(o.text, "beta3");
    arena_free(b.arena);
}
