/* test_gradient_clipping.c - norms of gradients, and gradients clipped by them.
 *
 * With beta1 = 0 the first moment of Adam is the gradient that the update saw: the clipped one. */
#include "golden.h"
#include "golden/compare.h"
#include "golden/golden_component.h"
#include "golden/update_run.h"
#include "optim/gradient_clipper.h"
#include "optim/optim.h"
#include "optim/weight_decay.h"
#include <math.h>

GOLDEN_CASES(clipping_cases)
{
    golden_add_files(to, "models/gradient_clipping/", "models/gradient_clipping", "*.json",
                     ".json");
}

static const char model[] = "gpt2_12_swiglu_rope10000_gqa";
#define MODEL_RAW "wrapped_model: {instance_key: model_raw, pass_type: BY_REFERENCE}"
#define ONE_RANK                                                                                   \
    "device_mesh: {component_key: device_mesh, variant_key: default, config: "                     \
    "{device_type: cpu, data_parallel_shard_degree: 1, world_size: 1}}"
static const double tolerance = 1e-5;

static const Optimizer *adam_without_memory(Arena *a)
{
    json_t *j = json_pack("{s:s, s:s, s:{s:f, s:[f,f], s:f, s:f, s:[]}}", "component_key",
                          "optimizer", "variant_key", "adam", "config", "lr", 0.1, "betas", 0.0,
                          0.9, "eps", 1e-8, "weight_decay", 0.0, "weight_decay_groups_excluded");
    assert_non_null(j);
    const Optimizer *o = golden_component(a, j, model, MODEL_RAW);
    json_decref(j);
    return o;
}

static void assert_near(const char *name, double got, double expected)
{
    if (!(fabs(got - expected) <= tolerance * fabs(expected)))
        fail_msg("%s is %.9g, expected %.9g", name, got, expected);
}

static void run_case(Arena *a, const char *name, bool reference_only)
{
    json_t *golden = golden_json(a, arena_printf(a, "%s.json", name + strlen("models/")));
    Safetensors *f;
    assert_no_error(safetensors_open(
        a, shared_path(a, arena_printf(a, "data/goldens/%s.safetensors", name)), &f));
    const GradientClipper *c = golden_component(a, golden, model, MODEL_RAW ", " ONE_RANK);
    Optimize settings = { .optimizer = adam_without_memory(a),
                          .norm_type = c->norm_type,
                          .max_norm = c->max_norm };
    UpdateRun *u = update_run_new(a, f, "grad.", &settings, reference_only);
    update_run_set(u, "grad.", f, "grad.");
    double norm = update_run_step(u, 0, 0.1);
    assert_near(name, norm, json_number_value(json_object_get(golden, "total_norm")));
    const Tensor *exact = safetensors_find(f, "total_norm64");
    assert_non_null(exact);
    assert_near(name, norm, dtype_get(exact->dtype, exact->data, 0));
    for (int64_t i = 0; i < update_run_count(u); i++) {
        const char *param = update_run_param(u, i)->name;
        const Tensor *got = update_run_tensor(u, "exp_avg.", param),
                     *expected = safetensors_find(f, arena_printf(a, "clipped.%s", param));
        assert_true(got && expected && tensor_count(got) == tensor_count(expected));
        for (int64_t k = 0; k < tensor_count(got); k++)
            assert_near(arena_printf(a, "%s: clipped.%s[%lld]", name, param, (long long)k),
                        dtype_get(got->dtype, got->data, k),
                        dtype_get(expected->dtype, expected->data, k));
    }
    update_run_free(u);
    json_decref(golden);
}

TEST(golden_gradient_clipping)
{
    Arena *a = arena_new();
    GoldenCases cases = { .arena = a };
    clipping_cases(&cases);
    assert_true(cases.n >= 15);
    for (int64_t i = 0; i < cases.n; i++)
        for (int reference_only = 0; reference_only < 2; reference_only++)
            run_case(a, cases.name[i], reference_only);
    arena_free(a);
}
