/* test_fsdp1_checkpointed.c - a model that brings its weights, and the precision it computes in. */
#include "checkpoint/safetensors.h"
#include "components.h"
#include "models/model.h"
#include "test.h"
#include "train/forced_model.h"
#include "train/session.h"
#include <string.h>

static Error *build(Arena *a, const ForcedModel *m, const char *loading, const char *path,
                    Model **out)
{
    const char **set = NEW_N(a, const char *, 2);
    set[0] = arena_printf(a, "checkpointed_model.config.checkpoint_loading=%s", loading);
    set[1] = arena_printf(a, "settings.model_path=%s", path);
    void *made = NULL;
    Error *e = component_from_file(a, m->config, (StringList){ set, 2 }, "checkpointed_model",
                                   "model", &made);
    *out = made;
    return e;
}

#define TORCH(config) "{component_key: checkpoint_loading, variant_key: torch, config: " config "}"
#define FSDP1(precision)                                                                           \
    "{component_key: checkpoint_loading, variant_key: fsdp1, config: {global_rank: 0, "            \
    "block_names: [GPT2Block], sharding_strategy: FULL_SHARD, "                                    \
    "mixed_precision_settings: " precision "}}"

static Session *session_of(const Model *m)
{
    Session *s;
    Program *p;
    assert_no_error(session_new(&(SessionSettings){ .model = m, .n_threads = 1 }, &s));
    assert_no_error(session_inspection_program(s, NULL, false, 1, 1, &p));
    return s;
}

/* Stands in the forced model's head; no 16-bit format holds it. */
static const double one_third = 1.0f / 3;

static void write_third(Arena *a, ForcedModel *m)
{
    Safetensors *f;
    const char *path = path_join(a, test_folder(), "third.safetensors");
    assert_no_error(safetensors_open(a, m->weights, &f));
    for (int64_t i = 0; i < f->n; i++) {
        if (strcmp(f->tensor[i].name, "transformer.lm_head.weight") != 0) continue;
        Tensor *t = &f->tensor[i].tensor;
        t->data = arena_copy(a, t->data, tensor_bytes(t));
        dtype_set(t->dtype, t->data, 0, one_third);
    }
    assert_no_error(safetensors_write(path, f->tensor, f->n));
    m->weights = path;
}

static double loaded_third(const Model *m)
{
    Session *s = session_of(m);
    const Stored *head = store_find(session_store(s), "transformer.lm_head.weight");
    double x = dtype_get(head->tensor.dtype, head->tensor.data, 0);
    session_free(s);
    return x;
}

TEST(the_loading_component_decides_the_format_of_weights_and_computation)
{
    static const struct {
        const char *loading;
        Dtype compute;
        double third;
    } cases[] = {
        { TORCH("{device: cpu}"), F32, 1.0f / 3 },
        { TORCH("{device: cpu, precision: null}"), F32, 1.0f / 3 },
        { TORCH("{device: 0, precision: FP32}"), F32, 1.0f / 3 },
        { TORCH("{device: \"cuda:1\", precision: BF16}"), BF16, 0x1.56p-2 },
        { TORCH("{device: cpu, precision: FP16}"), F32, 0x1.554p-2 },
        { FSDP1("BF_16"), BF16, 1.0f / 3 },
        { FSDP1("MIXED_PRECISION_MEGATRON"), BF16, 1.0f / 3 },
        { FSDP1("NO_MIXED_PRECISION"), F32, 1.0f / 3 },
    };
    Arena *a = arena_new();
    ForcedModel m = forced_model_write(a, "", "{x}");
    write_third(a, &m);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        Model *model;
        assert_no_error(build(a, &m, cases[i].loading, m.weights, &model));
        assert_int_equal(model->compute, cases[i].compute);
        assert_true(loaded_third(model) == cases[i].third);
    }
    arena_free(a);
}

TEST(weights_come_from_any_checkpoint_that_can_be_read)
{
    Arena *a = arena_new();
    ForcedModel m = forced_model_write(a, "", "{x}");
    write_third(a, &m);
    Model *model;
    assert_no_error(build(a, &m, TORCH("{device: cpu}"), forced_model_checkpoint(a, &m), &model));
    assert_true(loaded_third(model) == one_third);
    arena_free(a);
}

static void assert_refused(Arena *a, const ForcedModel *m, const char *path, const char *message)
{
    Model *model;
    Session *s;
    Program *p;
    assert_no_error(build(a, m, TORCH("{device: cpu}"), path, &model));
    assert_no_error(session_new(&(SessionSettings){ .model = model, .n_threads = 1 }, &s));
    for (int i = 0; i < 2; i++) /* not only at the first try */
        assert_error_has(session_inspection_program(s, NULL, false, 1, 1, &p), message);
    session_free(s);
}

TEST(other_files_than_checkpoints_are_refused_by_name)
{
    Arena *a = arena_new();
    ForcedModel m = forced_model_write(a, "", "{x}");
    const char *torch = path_join(a, test_folder(), "model.pth");
    assert_no_error(file_write(torch, "PK", 2));
    assert_refused(a, &m, "/nowhere/eid_x", "/nowhere/eid_x: no such checkpoint");
    assert_refused(a, &m, torch, "torch.save");
    assert_refused(a, &m, m.config, "no checkpoint");
    arena_free(a);
}

TEST(loading_that_does_not_fit_is_refused)
{
    Arena *a = arena_new();
    ForcedModel m = forced_model_write(a, "", "{x}");
    Model *model;
    assert_error_has(build(a, &m,
                           "{component_key: checkpoint_loading, variant_key: dcp, config: "
                           "{global_rank: 0}}",
                           m.weights, &model),
                     "allowed are fsdp1, torch");
    arena_free(a);
}
