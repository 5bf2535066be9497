/* test_optimizers.c - 20 steps of Adam and AdamW against torch's. */
#include "golden.h"
#include "golden/compare.h"
#include "golden/golden_component.h"
#include "golden/update_run.h"
#include "optim/optim.h"
#include "optim/param_groups.h"

GOLDEN_CASES(optimizer_cases)
{
    golden_add_files(to, "models/optimizers/", "models/optimizers", "*.json", ".json");
}

/* A model of the family whose weight decay groups the goldens use. */
static const char model[] = "gpt2_12_swiglu_rope10000_gqa";
static const double tolerance = 5e-6;

static void compare_all(const UpdateRun *u, const Safetensors *f, const char *kept,
                        const char *golden)
{
    for (int64_t i = 0; i < update_run_count(u); i++) {
        const char *param = update_run_param(u, i)->name,
                   *name = arena_printf(u->arena, "%s%s", golden, param);
        Difference d =
            tensor_difference(name, update_run_tensor(u, kept, param), safetensors_find(f, name));
        assert_within(f->path, name, d.max, tolerance);
    }
}

static void assert_gradients_are_cleared(const UpdateRun *u)
{
    for (int64_t i = 0; i < update_run_count(u); i++) {
        const Tensor *t = update_run_tensor(u, "grad.", update_run_param(u, i)->name);
        for (int64_t k = 0; k < tensor_count(t); k++)
            assert_true(dtype_get(t->dtype, t->data, k) == 0);
    }
}

static void check_decay(const UpdateRun *u, const Optimizer *o, const json_t *golden)
{
    const json_t *decay = json_object_get(golden, "weight_decay_of");
    assert_int_equal(json_object_size(decay), update_run_count(u));
    for (int64_t i = 0; i < update_run_count(u); i++) {
        const Value *param = update_run_param(u, i);
        const json_t *expected = json_object_get(decay, param->name);
        assert_non_null(expected);
        assert_true(param_group_of(o, param).weight_decay == json_real_value(expected));
    }
    assert_no_error(param_groups_check(o, u->graph));
}

static void run_case(Arena *a, const char *name, bool reference_only)
{
    const char *file = name + strlen("models/");
    json_t *golden = golden_json(a, arena_printf(a, "%s.json", file));
    Safetensors *f;
    assert_no_error(safetensors_open(
        a, shared_path(a, arena_printf(a, "data/goldens/%s.safetensors", name)), &f));
    const Optimizer *o = golden_component(
        a, golden, model, "wrapped_model: {instance_key: model_raw, pass_type: BY_REFERENCE}");
    Optimize settings = { .optimizer = o, .norm_type = 2 };
    UpdateRun *u = update_run_new(a, f, "start.", &settings, reference_only);
    check_decay(u, o, golden);
    update_run_set(u, "", f, "start.");
    int steps = (int)json_integer_value(json_object_get(golden, "steps"));
    assert_int_equal(steps, 20);
    for (int k = 1; k <= steps; k++) {
        update_run_set(u, "grad.", f, arena_printf(a, "grad.%d.", k));
        update_run_step(u, k - 1, o->lr);
        compare_all(u, f, "", arena_printf(a, "param.%d.", k));
        assert_gradients_are_cleared(u);
    }
    compare_all(u, f, "exp_avg.", "exp_avg.");
    compare_all(u, f, "exp_avg_sq.", "exp_avg_sq.");
    update_run_free(u);
    json_decref(golden);
}

TEST(golden_optimizers)
{
    Arena *a = arena_new();
    GoldenCases cases = { .arena = a };
    optimizer_cases(&cases);
    assert_true(cases.n >= 6);
    for (int64_t i = 0; i < cases.n; i++)
        for (int reference_only = 0; reference_only < 2; reference_only++)
            run_case(a, cases.name[i], reference_only);
    arena_free(a);
}
