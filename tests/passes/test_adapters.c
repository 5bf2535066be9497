/* test_adapters.c - low-rank adapters: what they add, what is trained, and what merging gives. */
#include "layouts/layout.h"
#include "models/adapter_names.h"
#include "models/model.h"
#include "passes/adapters.h"
#include "passes/tiny_model.h"
#include "train/kept_params.h"
#include "train/merge_adapters.h"
#include <math.h>
#include <string.h>

#define LORA(rest)                                                                                 \
    "initialized_model.config.model={component_key: model, variant_key: lora, config: {model: "    \
    "{instance_key: wrapped_model, pass_type: BY_REFERENCE}, rank: 4" rest "}}"
#define NO_GROUPS "optimizer.config.weight_decay_groups_excluded=[]"

TEST(adapters_begin_as_the_model_and_are_all_that_is_trained)
{
    static const char *const lora[] = { LORA(", also_trained: [\"@norms\"]"), NO_GROUPS, NULL };
    static const char *const still[] = {
        "lr_scheduler={component_key: scheduler, variant_key: dummy_lr, config: {optimizer: "
        "{instance_key: optimizer, pass_type: BY_REFERENCE}}}",
        "optimizer.config.lr=0", NULL
    };
    Arena *a = arena_new();
    const KeptParams start = kept_params(a, still), end = kept_params(a, lora);
    int64_t n_adapters = 0;
    assert_true(start.first_loss == end.first_loss);
    for (int64_t i = 0; i < end.n; i++) {
        const char *name = end.name[i];
        const bool is_adapter = parameter_is_adapter(name), is_norm = strstr(name, "norm");
        n_adapters += is_adapter;
        if (end.has_states[i] != (is_adapter || is_norm)) fail_msg("%s", name);
        if (is_adapter) continue;
        const int64_t k = kept_find(&start, name);
        assert_true(k >= 0);
        const bool same =
            !memcmp(start.tensor[k].data, end.tensor[i].data, tensor_bytes(&end.tensor[i]));
        if (same == is_norm) fail_msg("%s", name);
    }
    assert_int_equal(n_adapters, 2 * 2 * 6); /* of 2 layers: q, k, v, c_proj; c_fc, c_proj */
    assert_int_equal(end.n, start.n + n_adapters);
    arena_free(a);
}

TEST(a_training_of_adapters_goes_on_as_if_never_stopped)
{
    static const char *const words[] = { "--set", LORA(", parameters: [\"*.attn.*.weight\"]"),
                                         "--set", NO_GROUPS, NULL };
    assert_resumes(words);
}

static void set_all(ParamStore *s, const char *which, double size)
{
    for (int64_t i = 0; i < store_count(s); i++) {
        const Stored *x = store_at(s, i);
        if (x->kind != VALUE_PARAM || !strstr(x->name, which)) continue;
        for (int64_t k = 0; k < tensor_count(&x->tensor); k++)
            dtype_set(x->tensor.dtype, x->tensor.data, k, size * sin((double)k + (double)i));
    }
    store_changed(s);
}

TEST(merged_weights_compute_what_weights_and_adapters_did)
{
    static const char *const matrices[] = { "@matrices", NULL }, *const none[] = { NULL };
    static const Adapters by = { 3, 6, matrices, none };
    const Gpt2Settings settings = tiny_settings(true);
    PassList passes = { .arena = arena_new() };
    passes_add(&passes, &pass_adapters, &by);
    TinyRun t = tiny_run_new(&settings, &passes, false, false);
    const double before = tiny_step(&t);
    set_all(t.store, ADAPTER_B, 0.3);
    const double adapted = tiny_step(&t);
    assert_no_error(adapters_merge(t.store, &by));
    set_all(t.store, ADAPTER_B, 0);
    const double merged = tiny_step(&t);
    assert_true(fabs(adapted - before) > 1e-3);
    assert_close(merged, adapted, 1e-5);
    tiny_run_free(&t);
    arena_free(passes.arena);
}

static void adapt(Model *m)
{
    static const char *const matrices[] = { "@matrices", NULL }, *const norms[] = { "@norms",
                                                                                    NULL };
    static const Adapters by = { 4, 8, matrices, norms };
    passes_add(&m->passes, &pass_adapters, &by);
}

TEST(adapters_on_ranks_equal_one)
{
    layout_equals_one_rank((LayoutCase){ .size[MESH_DP_SHARD] = 2,
                                         .accumulation = 2,
                                         .data_parallel.stage = ZERO_PARAMETERS,
                                         .edit = adapt,
                                         .compute = F64 },
                           1e-11);
    layout_equals_one_rank((LayoutCase){ .size[MESH_TP] = 2,
                                         .llama_like = true,
                                         .sharding = { .tensor = true, .sequence = true },
                                         .edit = adapt,
                                         .recompute_every = 1,
                                         .compute = F64 },
                           1e-11);
    layout_equals_one_rank(
        (LayoutCase){ .size[MESH_PP] = 2, .accumulation = 2, .edit = adapt, .compute = F64 },
        1e-11);
    layout_equals_one_rank((LayoutCase){ .size[MESH_DP_SHARD] = 2,
                                         .data_parallel.stage = ZERO_PARAMETERS,
                                         .edit = adapt,
                                         .compute = BF16 },
                           3e-2);
}
