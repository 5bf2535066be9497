/* test_adapters.c - low-rank adapters: what they add, what is trained, and what merging gives. */
#include "../models/hf_folder.h"
#include "../models/hf_unwritten.h"
#include "exec/schedule.h"
#include "layouts/layout.h"
#include "models/adapter_names.h"
#include "models/families.h"
#include "models/model.h"
#include "ops/clip.h"
#include "ops/contract.h"
#include "ops/grouped_linear.h"
#include "passes/adapters.h"
#include "passes/all_passes.h"
#include "passes/tiny_model.h"
#include "train/kept_params.h"
#include "train/merge_adapters.h"
#include "train/state.h"
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

TEST(adapters_decay_where_their_weights_do)
{
    static const char *const by[][4] = {
        { LORA(", parameters: [\"@head\"], also_trained: [\"@norms\"]"),
          "model_raw.config.use_weight_tying=false",
          "optimizer.config.weight_decay_groups_excluded=[layernorm]", NULL },
        { LORA(", parameters: [\"@head\"], also_trained: [\"@norms\"]"),
          "model_raw.config.use_weight_tying=false",
          "optimizer.config.weight_decay_groups_excluded=[linear]", NULL },
    };
    Arena *a = arena_new();
    const KeptParams linear = kept_params(a, by[0]), norms = kept_params(a, by[1]);
    for (int64_t i = 0; i < linear.n; i++)
        if (kept_is_same(&linear, &norms, i) == linear.has_states[i])
            fail_msg("%s", linear.name[i]);
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

/* Adapters of what a pattern means change a loss as their merged weights do. */
static void assert_merges(const char *pattern, bool biased, bool tied, int n_adapted)
{
    const char *const parameters[] = { pattern, NULL }, *const none[] = { NULL };
    const Adapters by = { 3, 6, parameters, none };
    Gpt2Settings settings = tiny_settings(!biased);
    settings.use_weight_tying = tied;
    PassList passes = { .arena = arena_new() };
    passes_add(&passes, &pass_adapters, &by);
    TinyRun t = tiny_run_new(&settings, &passes, false, false);
    int found = 0;
    for (int64_t i = 0; i < store_count(t.store); i++)
        found += store_at(t.store, i)->kind == VALUE_PARAM &&
                 strstr(store_at(t.store, i)->name, ADAPTER_A);
    assert_int_equal(found, n_adapted);
    const double before = tiny_step(&t);
    set_all(t.store, ADAPTER_B, 0.3);
    const double changed = tiny_step(&t);
    assert_no_error(adapters_merge(t.store, &by));
    set_all(t.store, ADAPTER_B, 0);
    const double merged = tiny_step(&t);
    assert_true(fabs(changed - before) > 1e-3);
    assert_close(merged, changed, 1e-5);
    tiny_run_free(&t);
    arena_free(passes.arena);
}

TEST(merged_weights_compute_what_weights_and_adapters_did)
{
    enum { N_LAYERS = 3, IN_BLOCKS = N_LAYERS * 7, WITHOUT_GATE = N_LAYERS * 6 };
    assert_merges("@matrices", false, false, IN_BLOCKS);
    assert_merges("@head", false, false, 1);
    assert_merges("*", false, false, IN_BLOCKS + 1);
    assert_merges("*", false, true, IN_BLOCKS); /* a head that is the embedding has none */
    assert_merges("*", true, false, WITHOUT_GATE + 1);
}

/* Two experts, of which each row has one. */
TEST(adapters_of_experts_are_merged_each_with_its_own)
{
    static const char *const all[] = { "*", NULL }, *const none[] = { NULL };
    static const Adapters by = { 2, 6, all, none };
    enum { ROWS = 4, OUT = 5, IN = 3 };
    static const int32_t expert[ROWS] = { 0, 0, 1, -1 };
    static const float x[ROWS * IN] = { 1, 2, 3, -1, 0.5F, 2, 0.25F, 1, -2, 7, 7, 7 };
    const Dim rows[] = { { .size = 1 }, { .size = ROWS }, { .size = IN } },
              weight[] = { { .size = 2, .axis = "experts" }, { .size = OUT }, { .size = IN } };
    Arena *a = arena_new();
    Device *device = cpu_device_new(2);
    ParamStore *store = store_new(device);
    Graph *g = graph_new(a);
    PassList passes = { .arena = a };
    Program *p;
    Value *w = graph_param(g, "experts.W.weight", 3, weight);
    Value *in = graph_input(g, "x", F32, 3, rows), *of = graph_input(g, "of", I32, 2, rows);
    graph_output(g, "y", grouped_linear(g, in, w, of, ROWS));
    passes_add(&passes, &pass_adapters, &by);
    assert_no_error(passes_run(g, NULL, &passes, NULL));
    assert_true(w->is_frozen);
    assert_int_equal(graph_find(g, "experts.W.lora_A.weight")->dim[1].size, 2);
    const ProgramSettings settings = {
        .device = device, .store = store, .level = cpu_level_available(), .name = "experts"
    };
    assert_no_error(program_new(g, &settings, &p));
    float y[3][ROWS * OUT];
    for (int i = 0; i < 3; i++) {
        if (i == 0) set_all(store, "experts", 0.5);
        if (i == 2) assert_no_error(adapters_merge(store, &by));
        if (i != 1) set_all(store, ADAPTER_B, 0);
        if (i == 0) set_all(store, ADAPTER_A, 0.4);
        if (i == 1) set_all(store, ADAPTER_B, 0.3);
        assert_no_error(program_write(p, "x", 0, x));
        assert_no_error(program_write(p, "of", 0, expert));
        assert_no_error(program_run_phases(p, RUN_FORWARD, &(RunTime){ 0 }));
        assert_no_error(program_read(p, "y", 0, y[i]));
    }
    for (int i = 0; i < ROWS * OUT; i++) {
        const bool is_row = i < 3 * OUT;
        assert_true(is_row == (fabsf(y[1][i] - y[0][i]) > 1e-4F));
        assert_close(y[2][i], y[1][i], 1e-5);
    }
    program_free(p);
    store_free(store);
    device->free(device);
    arena_free(a);
}

/* As some are while a model is trained, and not when it generates: both have the same parameters.
 */
TEST(bounded_weights_have_adapters_as_others_do)
{
    static const char *const all[] = { "*", NULL }, *const none[] = { NULL };
    static const Adapters by = { 2, 6, all, none };
    const Dim rows[] = { { .size = 4 }, { .size = 3 } },
              weight[] = { { .size = 5 }, { .size = 3 } };
    Arena *a = arena_new();
    PassList passes = { .arena = a };
    Graph *g = graph_new(a);
    Value *w = graph_param(g, "W.weight", 2, weight);
    graph_output(g, "y",
                 contract(g, "*k,nk->*n", graph_input(g, "x", F32, 2, rows), clip(g, w, 1)));
    passes_add(&passes, &pass_adapters, &by);
    assert_no_error(passes_run(g, NULL, &passes, NULL));
    assert_true(w->is_frozen);
    assert_int_equal(graph_find(g, "W.lora_A.weight")->dim[1].size, 3);
    assert_int_equal(graph_find(g, "W.lora_B.weight")->dim[0].size, 5);
    arena_free(a);
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
    static const Moe four = {
        .n_experts = 4, .top_k = 2, .hidden = 6, .normalize = true, .activation = ACTIVATE_SILU
    };
    LayoutCase experts = { .llama_like = true, .moe = &four, .edit = adapt, .compute = F64 };
    experts.data_parallel.stage = ZERO_PARAMETERS;
    experts.size[MESH_EP] = 2;
    layout_equals_one_rank(experts, 1e-10);
    experts.size[MESH_TP] = 2;
    experts.sharding.tensor = true;
    layout_equals_one_rank(experts, 1e-10);
    layout_equals_one_rank((LayoutCase){ .size[MESH_DP_SHARD] = 2,
                                         .data_parallel.stage = ZERO_PARAMETERS,
                                         .edit = adapt,
                                         .compute = BF16 },
                           3e-2);
}

/* Of Jamba: what is not trained has gradients beside those that are asked for. */
TEST(adapters_of_selective_scans_are_trained_in_bf16)
{
    Arena *a = arena_new();
    const Decoder d = tiny_family_of(a, "JambaAttentionDecoderLayer");
    layout_equals_one_rank((LayoutCase){ .size[MESH_DP_SHARD] = 2,
                                         .data_parallel.stage = ZERO_PARAMETERS,
                                         .decoder = &d,
                                         .vocabulary = (int)d.vocab_size,
                                         .edit = adapt,
                                         .compute = BF16 },
                           3e-2);
    arena_free(a);
}

/* A rank of a pipeline that has every second parameter, and other ranks the rest; with an adapter
 * of each. */
static ParamStore *part_of(Arena *a, Device *d, const HfUnwritten *u)
{
    Graph *g[] = { graph_new(a), graph_new(a) };
    ParamStore *s = store_new(d);
    for (int64_t i = 0; i < u->n; i++) {
        const Tensor *t = &u->param[i].tensor;
        Dim dim[MAX_DIMS] = { 0 };
        for (int k = 0; k < t->n_dims; k++) dim[k].size = t->size[k];
        graph_param(g[i % 2], u->param[i].name, t->n_dims, dim);
        graph_param(g[i % 2], adapter_name(a, u->param[i].name, ADAPTER_A), 1,
                    &(const Dim){ .size = 4 });
    }
    g[0]->elsewhere = g[1]->value;
    g[0]->n_elsewhere = g[1]->n_values;
    assert_no_error(store_add(s, g[0]));
    assert_no_error(store_allocate(s));
    return s;
}

static void check_weights(const ParamStore *s, const HfUnwritten *u)
{
    for (int64_t i = 0; i < u->n; i += 2) {
        const Tensor *x = &store_find(s, u->param[i].name)->tensor, *y = &u->param[i].tensor;
        for (int64_t k = 0; k < tensor_count(y); k++)
            assert_true(dtype_get(x->dtype, x->data, k) == dtype_get(y->dtype, y->data, k));
    }
}

/* Neither has adapters, of this rank's parameters or of others'. */
TEST(stages_begin_adapters_over_a_folder_and_over_a_checkpoint)
{
    Arena *a = arena_new();
    Device *d = cpu_device_new(1);
    HfUnwritten u = hf_unwritten(a, hf_llama);
    const char *path = path_join(a, test_folder(), "saved");
    StateTensor *state = NEW_N(a, StateTensor, u.n);
    for (int64_t i = 0; i < u.n; i++) {
        state[i].name = arena_printf(a, "app.model.%s", u.param[i].name);
        state[i].part = u.param[i].tensor;
        memcpy(state[i].whole, state[i].part.size, sizeof state[i].whole);
    }
    assert_no_error(checkpoint_save(path, state, u.n, "{}"));
    hf_store(a, u.folder, ONE_FILE, u.file, u.n_file);
    ParamStore *from_folder = part_of(a, d, &u), *from_checkpoint = part_of(a, d, &u);
    assert_no_error(state_load_hf(from_folder, u.model->hf));
    assert_no_error(state_load(from_checkpoint, path, NULL, false, NULL));
    check_weights(from_folder, &u);
    check_weights(from_checkpoint, &u);
    store_free(from_folder);
    store_free(from_checkpoint);
    d->free(d);
    arena_free(a);
}
