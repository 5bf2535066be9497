/* test_losses.c - cross entropy and its gradient against the original's.
 *
 * Each case runs through the two ways that lead to a loss: from logits, and from hidden states and
 * a head without logits in between, where the head is the identity. The result is that of the
 * double run: also for bf16 logits, where the original rounds the loss. */
#include "exec/program.h"
#include "exec/schedule.h"
#include "golden.h"
#include "golden/compare.h"
#include "golden/golden_component.h"
#include "models/loss.h"
#include "models/model.h"
#include "ops/cross_entropy.h"
#include "ops/mean_valid.h"
#include "passes/all_passes.h"
#include <math.h>
#include <string.h>

GOLDEN_CASES(loss_cases)
{
    golden_add_files(to, "models/losses/", "models/losses", "*.safetensors", ".safetensors");
}

static const double tolerance = 1e-6;

typedef enum Way { FROM_LOGITS, FROM_HIDDEN_STATES, N_WAYS } Way;

typedef struct LossRun {
    Arena *arena;
    Device *device;
    ParamStore *store;
    Graph *graph;
    Program *program;
} LossRun;

/* The parameter `logits` stands where a model would compute them. */
static Value *given_logits(Graph *g, const Tensor *t)
{
    Dim dim[3] = { { .size = t->size[0] }, { .size = t->size[1] }, { .size = t->size[2] } };
    Value *v = graph_param(g, "logits", 3, dim);
    v->dtype = t->dtype;
    return v;
}

static Value *identity(Graph *g, const Value *logits)
{
    Dim dim[2] = { logits->dim[2], logits->dim[2] };
    return graph_input(g, "identity", logits->dtype, 2, dim);
}

static void fill_identity(const Tensor *t)
{
    for (int64_t i = 0; t && i < t->size[0]; i++)
        dtype_set(t->dtype, t->data, i * t->size[1] + i, 1);
}

static LossRun loss_run_new(Arena *a, const Loss *l, const Tensor *logits, Way way)
{
    LossRun r = { .arena = a, .device = cpu_device_new(2), .graph = graph_new(a) };
    r.store = store_new(r.device);
    Graph *g = r.graph;
    Value *x = given_logits(g, logits);
    Value *targets = graph_input(g, l->target_key, I32, 2, x->dim);
    if (way == FROM_HIDDEN_STATES)
        model_loss(g, &(ModelOutput){ .hidden = x, .head = identity(g, x) }, targets,
                   l->global_tokens);
    else
        graph_output(g, "loss", mean_valid(g, cross_entropy(g, x, targets), targets));
    PassList passes = { .arena = a };
    passes_add(&passes, pass_find("autodiff"), NULL);
    passes_add(&passes, pass_find("fuse"), NULL);
    assert_no_error(passes_run(g, NULL, &passes, NULL));
    ProgramSettings settings = {
        .device = r.device, .store = r.store, .level = cpu_level_available(), .name = "loss"
    };
    assert_no_error(program_new(g, &settings, &r.program));
    return r;
}

static void loss_run_free(LossRun *r)
{
    program_free(r->program);
    store_free(r->store);
    r->device->free(r->device);
}

static void copy(const Tensor *to, const Tensor *from)
{
    assert_true(to && from && tensor_count(to) == tensor_count(from));
    dtype_convert(to->dtype, to->data, from->dtype, from->data, tensor_count(to));
}

static void check(const char *name, const LossRun *r, const Safetensors *f, double loss)
{
    const Tensor *expected = safetensors_find(f, "grad64.logits");
    const Tensor *got = &store_find(r->store, "grad.logits")->tensor;
    if (isnan(loss)) { /* no token has a target: here the mean is 0 */
        assert_true(program_scalar(r->program, "loss", 0) == 0);
        for (int64_t i = 0; i < tensor_count(got); i++)
            assert_true(dtype_get(got->dtype, got->data, i) == 0);
        return;
    }
    assert_true(dtype_size(program_output(r->program, "loss", 0)->dtype) >= sizeof(float));
    assert_within(name, "loss", fabs(program_scalar(r->program, "loss", 0) - loss),
                  tolerance * fabs(loss));
    Difference d = tensor_difference(name, got, expected);
    /* the backward pass hands bf16 logits bf16 gradients: 8 bits, rounded to nearest */
    bool is_narrow = safetensors_find(f, "logits")->dtype == BF16;
    assert_within(name, "gradient", d.max, (is_narrow ? 0x1p-8 : tolerance) * d.expected_max);
}

static void run_case(Arena *a, const char *name, const json_t *golden, Way way)
{
    Safetensors *f;
    assert_no_error(safetensors_open(
        a, shared_path(a, arena_printf(a, "data/goldens/%s.safetensors", name)), &f));
    const Loss *l = golden_component(a, golden, "gpt2_12_swiglu_rope10000_gqa", "");
    LossRun r = loss_run_new(a, l, safetensors_find(f, l->prediction_key), way);
    copy(&store_find(r.store, "logits")->tensor, safetensors_find(f, l->prediction_key));
    copy(program_input(r.program, l->target_key, 0), safetensors_find(f, l->target_key));
    fill_identity(program_input(r.program, "identity", 0));
    store_changed(r.store);
    assert_no_error(
        program_run_phases(r.program, RUN_FORWARD | RUN_BACKWARD, &(RunTime){ .loss_scale = 1 }));
    const Tensor *loss64 = safetensors_find(f, "loss64");
    assert_non_null(loss64);
    check(name, &r, f, dtype_get(loss64->dtype, loss64->data, 0));
    loss_run_free(&r);
}

/* Two predictions, and the gradients of both. */
static void run_contrast(Arena *a, const char *name, const json_t *golden)
{
    Safetensors *f;
    assert_no_error(safetensors_open(
        a, shared_path(a, arena_printf(a, "data/goldens/%s.safetensors", name)), &f));
    const json_t *config = json_object_get(golden, "config");
    const char *key[] = { json_string_value(json_object_get(config, "prediction_key1")),
                          json_string_value(json_object_get(config, "prediction_key2")) };
    static const char kind[] = "{\"component_key\": \"loss\", \"variant_key\": \"nce_loss\"}";
    json_t *described = json_loads(kind, 0, NULL);
    json_object_set(described, "config", json_object_get(golden, "config"));
    const Loss *l = golden_component(a, described, "gpt2_12_swiglu_rope10000_gqa", "");
    json_decref(described);
    LossRun r = { .arena = a, .device = cpu_device_new(2), .graph = graph_new(a) };
    ModelOutput out = { .n_named = 2 };
    Value *loss;
    r.store = store_new(r.device);
    for (int k = 0; k < 2; k++) {
        const Tensor *t = safetensors_find(f, key[k]);
        const Dim d[] = { { .size = t->size[0] }, { .size = t->size[1] } };
        out.named[k] = (NamedOutput){ key[k], graph_param(r.graph, key[k], 2, d) };
    }
    assert_no_error(l->term(l, r.graph, &out, &loss));
    graph_output(r.graph, "loss", loss);
    PassList passes = { .arena = a };
    passes_add(&passes, pass_find("autodiff"), NULL);
    assert_no_error(passes_run(r.graph, NULL, &passes, NULL));
    const ProgramSettings settings = {
        .device = r.device, .store = r.store, .level = cpu_level_available(), .name = "loss"
    };
    assert_no_error(program_new(r.graph, &settings, &r.program));
    for (int k = 0; k < 2; k++)
        copy(&store_find(r.store, key[k])->tensor, safetensors_find(f, key[k]));
    store_changed(r.store);
    assert_no_error(
        program_run_phases(r.program, RUN_FORWARD | RUN_BACKWARD, &(RunTime){ .loss_scale = 1 }));
    const Tensor *loss64 = safetensors_find(f, "loss64");
    double expected = dtype_get(loss64->dtype, loss64->data, 0);
    assert_within(name, "loss", fabs(program_scalar(r.program, "loss", 0) - expected),
                  tolerance * (1 + fabs(expected)));
    for (int k = 0; k < 2; k++) {
        const char *grad = arena_printf(a, "grad.%s", key[k]);
        Difference d = tensor_difference(grad, &store_find(r.store, grad)->tensor,
                                         safetensors_find(f, arena_printf(a, "grad64.%s", key[k])));
        assert_within(name, grad, d.max, tolerance * (d.expected_max + 1e-3));
    }
    loss_run_free(&r);
}

TEST(golden_losses)
{
    Arena *a = arena_new();
    GoldenCases cases = { .arena = a };
    loss_cases(&cases);
    json_t *golden = golden_json(a, "losses/losses.json");
    assert_int_equal(json_object_size(golden), cases.n);
    int n = 0;
    for (int64_t i = 0; i < cases.n; i++) {
        const json_t *description = json_object_get(golden, path_name(cases.name[i]));
        assert_non_null(description);
        if (str_starts(str_of(path_name(cases.name[i])), "nce_")) {
            run_contrast(a, cases.name[i], description);
            continue;
        }
        for (Way way = 0; way < N_WAYS; way++) run_case(a, cases.name[i], description, way);
        n++;
    }
    assert_true(n >= 7);
    json_decref(golden);
    arena_free(a);
}
