/* test_freeze.c - frozen parameters stay what they are, and take no memory beside themselves. */
#include "layouts/layout.h"
#include "models/model.h"
#include "passes/freeze.h"
#include "train/kept_params.h"
#include <fnmatch.h>

#define FROZEN(rest)                                                                               \
    "initialized_model.config.model={component_key: model, variant_key: frozen, config: {model: "  \
    "{instance_key: wrapped_model, pass_type: BY_REFERENCE}, " rest "}}"
#define CONSTANT_RATE                                                                              \
    "lr_scheduler={component_key: scheduler, variant_key: dummy_lr, config: {optimizer: "          \
    "{instance_key: optimizer, pass_type: BY_REFERENCE}}}"

static const char *const half[] = {
    FROZEN("parameters: [\"@embeddings\", \"*.h.0.*\", \"@head\"], except: [\"*.h.0.mlp.*\"]"), NULL
};

TEST(frozen_parameters_stay_without_gradient_or_states)
{
    static const char *const still[] = { CONSTANT_RATE, "optimizer.config.lr=0", NULL };
    Arena *a = arena_new();
    const KeptParams start = kept_params(a, still), end = kept_params(a, half);
    int64_t n_frozen = 0;
    assert_int_equal(start.n, end.n);
    for (int64_t i = 0; i < end.n; i++) {
        const char *name = end.name[i];
        const bool is_frozen =
            !fnmatch("*.wte.*", name, 0) || !fnmatch("*lm_head.*", name, 0) ||
            (!fnmatch("*.h.0.*", name, 0) && fnmatch("*.h.0.mlp.*", name, 0) != 0);
        n_frozen += is_frozen;
        if (kept_is_same(&start, &end, i) != is_frozen) fail_msg("%s", name);
        assert_int_equal(end.has_states[i], !is_frozen);
        assert_int_equal(end.has_gradient[i], !is_frozen);
    }
    assert_true(n_frozen > 8 && n_frozen < end.n);
    arena_free(a);
}

TEST(a_training_with_frozen_parameters_goes_on_as_if_never_stopped)
{
    static const char *const words[] = { "--set", half[0], NULL };
    assert_resumes(words);
}

static void freeze_half(Model *m)
{
    static const char *const patterns[] = { "*.h.1.*", "@embeddings", NULL }, *const none[] = {
        NULL
    };
    static const Freeze half_of_it = { patterns, none };
    passes_add(&m->passes, &pass_freeze, &half_of_it);
}

TEST(frozen_parameters_on_ranks_equal_one)
{
    for (int stage = ZERO_NONE; stage <= ZERO_PARAMETERS; stage++)
        layout_equals_one_rank((LayoutCase){ .size[MESH_DP_SHARD] = 2,
                                             .accumulation = 2,
                                             .data_parallel.stage = (ZeroStage)stage,
                                             .edit = freeze_half,
                                             .compute = F64 },
                               1e-11);
    layout_equals_one_rank((LayoutCase){ .size[MESH_TP] = 2,
                                         .llama_like = true,
                                         .sharding = { .tensor = true, .sequence = true },
                                         .edit = freeze_half,
                                         .recompute_every = 1,
                                         .compute = F64 },
                           1e-11);
    layout_equals_one_rank(
        (LayoutCase){ .size[MESH_PP] = 2, .accumulation = 2, .edit = freeze_half, .compute = F64 },
        1e-11);
    layout_equals_one_rank((LayoutCase){ .size[MESH_DP_SHARD] = 2,
                                         .data_parallel.stage = ZERO_PARAMETERS,
                                         .edit = freeze_half,
                                         .compute = BF16 },
                           2e-2);
}

static void freeze_first_stage(Model *m)
{
    static const char *const patterns[] = { "*.h.0.*", "@embeddings", NULL }, *const none[] = {
        NULL
    };
    static const Freeze all_of_it = { patterns, none };
    passes_add(&m->passes, &pass_freeze, &all_of_it);
}

static void freeze_last_stage(Model *m)
{
    static const char *const patterns[] = { "*.h.1.*", "@head", "*lm_head_norm*", NULL },
                             *const none[] = { NULL };
    static const Freeze all_of_it = { patterns, none };
    passes_add(&m->passes, &pass_freeze, &all_of_it);
}

TEST(a_stage_of_a_pipeline_may_have_nothing_to_train)
{
    static void (*const edit[])(Model *) = { freeze_first_stage, freeze_last_stage };
    static const char *const schedules[] = { "1F1B", "GPipe" };
    for (int i = 0; i < 2; i++)
        for (int stage = ZERO_NONE; stage <= ZERO_PARAMETERS; stage++)
            for (int norm = 0; norm < 2; norm++)
                layout_equals_one_rank((LayoutCase){ .size[MESH_PP] = 2,
                                                     .size[MESH_DP_SHARD] = 1 + (stage > 0),
                                                     .data_parallel.stage = (ZeroStage)stage,
                                                     .accumulation = 2,
                                                     .max_norm = norm ? 0.1 : 0,
                                                     .schedule = schedules[norm],
                                                     .edit = edit[i],
                                                     .compute = F64 },
                                       1e-11);
}

TEST(what_cannot_be_frozen_is_refused_by_name)
{
    static const char *const bad[][2] = {
        { FROZEN("parameters: [\"*.mpl.*\"]"), "\"*.mpl.*\" is the name of no parameter" },
        { FROZEN("parameters: [\"*\"], except: [\"*.mpl.*\"]"), "model.frozen: except" },
        { FROZEN("parameters: [\"*\"]"), "does not depend on any parameter" },
        { FROZEN("parameters: [\"@matrix\"]"), "\"@matrix\"; allowed are" },
    };
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        Bench b = bench_new();
        static const char *words[] = { "--set", NULL, NULL };
        words[1] = bad[i][0];
        const Outcome o = bench_run(&b, "x", NULL, words, NULL);
        assert_true(o.status == 1 || o.status == 2);
        assert_contains(o.text, bad[i][1]);
        arena_free(b.arena);
    }
}
