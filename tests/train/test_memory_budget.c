/* test_memory_budget.c - as few blocks are computed again as let a rank fit into its budget. */
#include "cli/command_line.h"
#include "end_to_end/training.h"
#include "test.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define MODEL                                                                                      \
    " --set sharded_model.component_key=model --set sharded_model.variant_key=parallelized --set " \
    "'sharded_model.config={model: {instance_key: model_raw, pass_type: BY_REFERENCE}, "           \
    "device_mesh: {instance_key: device_mesh, pass_type: BY_REFERENCE}, param_dtype: FP_32, "

static int plan(Arena *a, const char *settings, const char **out)
{
    return command_line_run(a,
                            arena_printf(a,
                                         "plan --config_file_path configs/training/small.yaml "
                                         "--ranks 2 --set model_raw.config.n_layer=8" MODEL "%s}'",
                                         settings),
                            out);
}

/* "12.3 MB" */
static const char *in_all(Arena *a, const char *text)
{
    const char *end = strstr(text, " MB  in all");
    assert_non_null(end);
    const char *start = end;
    while (start > text && start[-1] != ' ' && start[-1] != '\n') start--;
    return arena_string_n(a, start, (size_t)(end - start) + 3);
}

static double bytes_in_all(const char *text)
{
    Arena *a = arena_new();
    const double gigabytes = atof(in_all(a, text)) * 1e-3;
    arena_free(a);
    return gigabytes;
}

TEST(a_memory_budget_is_kept_with_as_little_recomputation_as_it_takes)
{
    Arena *a = arena_new();
    const char *none, *all, *some, *refused;
    assert_int_equal(plan(a, "recompute_every: 0", &none), 0);
    assert_int_equal(plan(a, "recompute_every: 1", &all), 0);
    const double most = bytes_in_all(none), least = bytes_in_all(all);
    assert_true(least < 0.8 * most);
    const double budget = (most + least) / 2;
    assert_int_equal(plan(a, arena_printf(a, "memory_budget: %.6f", budget), &some), 0);
    assert_contains(some, "of 8 blocks are computed again");
    assert_null(strstr(some, "8 of 8"));
    assert_null(strstr(some, "0 of 8"));
    assert_contains(some, arena_printf(a, "; a step takes %s of ", in_all(a, some)));
    assert_in_range((int64_t)(bytes_in_all(some) * 1e6), (int64_t)(least * 1e6),
                    (int64_t)(budget * 1e6));
    assert_int_equal(plan(a, arena_printf(a, "memory_budget: %.6f", 2 * most), &some), 0);
    assert_contains(some, "0 of 8 blocks are computed again");
    assert_contains(some, arena_printf(a, "; a step takes %s of ", in_all(a, some)));
    assert_int_equal(plan(a, arena_printf(a, "memory_budget: %.6f", least / 2), &refused), 1);
    assert_contains(refused, "with all 8 blocks computed again, more than");
    assert_int_equal(plan(a, "memory_budget: 1, recompute_every: 2", &refused), 1);
    assert_contains(refused, "give one of them");
    arena_free(a);
}

/* What is computed again is the same numbers. */
TEST(a_training_with_a_memory_budget_has_the_bits_of_one_without)
{
    static const char without[] =
        "wrapped_model={component_key: model, variant_key: parallelized, config: {model: "
        "{instance_key: model_raw, pass_type: BY_REFERENCE}, device_mesh: {instance_key: "
        "device_mesh, pass_type: BY_REFERENCE}, param_dtype: FP_32}}";
    Bench b = bench_new();
    const char *const plain[] = { "--set", without, NULL };
    assert_ended_well(bench_run(&b, "plain", NULL, plain, NULL));
    for (int i = 0; i < 40; i++) { /* the first budget that is enough leaves the least room */
        const char *kept =
            arena_printf(b.arena, "wrapped_model.config.memory_budget=%.6f", 0.0002 * pow(1.15, i));
        const char *const budget[] = { "--set", without, "--set", kept, NULL };
        Outcome o = bench_run(&b, arena_printf(b.arena, "kept%d", i), NULL, budget, NULL);
        if (o.status) continue;
        assert_null(strstr(o.text, " 0 of 2 blocks"));
        assert_same_state(&b, arena_printf(b.arena, "kept%d", i), "plain");
        arena_free(b.arena);
        return;
    }
    fail_msg("no budget was enough");
}
