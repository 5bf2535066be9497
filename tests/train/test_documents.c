/* test_documents.c - documents that share a sequence: the logits of each are those that it has
 * alone, with rotary positions, with learned ones, in linear attention, and in state spaces. */
#include "components.h"
#include "exec/program.h"
#include "exec/schedule.h"
#include "models/model.h"
#include "passes/all_passes.h"
#include "test.h"
#include "train/evaluator.h"
#include <math.h>
#include <string.h>

/* `%s` is the document_key. */
#define GPT2(positions, transforms)                                                                \
    "model: {component_key: model, variant_key: gpt2, config: {sample_key: x, prediction_key: "    \
    "logits, poe_type: " positions ", sequence_length: 16, vocab_size: 32, n_layer: 2, n_head_q: " \
    "4, n_head_kv: 2, n_embd: 32, ffn_hidden: 64, dropout: 0.0, bias: true, seed: 1, "             \
    "attention_config: {qkv_transforms: [" transforms "]}, attention_implementation: manual, "     \
    "activation_type: gelu, document_key: %s, "                                                    \
    "attention_norm_config: {norm_type: rms_norm, config: {ndim: 32}}, "                           \
    "ffn_norm_config: {norm_type: rms_norm, config: {ndim: 32}}, "                                 \
    "lm_head_norm_config: {norm_type: rms_norm, config: {ndim: 32}}}}\n"

#define LINEAR(kind)                                                                               \
    "model: {component_key: model, variant_key: decoder, config: {sample_key: x, prediction_key: " \
    "logits, sequence_length: 16, vocab_size: 32, n_layer: 2, n_embd: 32, seed: 1, document_key: " \
    "%s, " kind "}}\n"
#define BLOCKS "ffn_hidden: 64, layers: [{linear: true}], "

static const char *const kinds[] = {
    GPT2("NOPE", "{type_hint: RotaryTransform, config: {n_embd: 32, n_head: 4, seq_length_dim: "
                 "-2, base_freq: 10000}}"),
    GPT2("ABSOLUTE", ""),
    LINEAR(BLOCKS
           "linear_attention: {key_heads: 2, value_heads: 4, key_width: 8, value_width: 12}"),
    LINEAR(BLOCKS "linear_attention: {key_heads: 2, value_heads: 4, key_width: 8, value_width: 12, "
                  "decay: feature, decay_rank: 6, gate: sigmoid, gate_rank: 8}"),
    LINEAR(BLOCKS "linear_attention: {key_heads: 2, value_heads: 4, key_width: 8, value_width: 12, "
                  "conv_width: 0, decay: fixed, norm: width}"),
    LINEAR(BLOCKS "state_space: {heads: 4, head_width: 12, state_width: 8, n_groups: 2}"),
    LINEAR(BLOCKS "selective_scan: {width: 40, state_width: 8}"),
    LINEAR(BLOCKS "gated_recurrence: {width: 40, n_groups: 4}"),
    LINEAR("layers: [{conv: true, no_ffn: true}], short_conv: {bias: true}"),
    LINEAR("layers: [{linear: true, no_ffn: true}], state_space: {heads: 4, head_width: 12, "
           "state_width: 8}"),
};

enum { FIRST = 6, SECOND = 9, WHOLE = FIRST + SECOND, VOCAB = 32 };

/* A model's forward and backward pass over one sequence of n tokens. */
typedef struct Fixture {
    Device *device;
    ParamStore *store;
    Program *program;
} Fixture;

static void free_fixture(void *fixture)
{
    Fixture *f = fixture;
    program_free(f->program);
    store_free(f->store);
    f->device->free(f->device);
}

static Fixture *make_fixture(Arena *a, const char *kind, const char *document_key, int64_t n)
{
    const char *path = path_join(a, test_folder(), "model.yaml");
    const char *text = arena_printf(a, kind, document_key);
    const ForwardSettings settings = { .batch = 1, .sequence = n, .documents = true };
    Dim tokens[] = { { .size = 1, .axis = "batch" }, { .size = n, .axis = "seq" } };
    Graph *g = graph_new(a);
    Fixture *f = NEW(a, Fixture);
    PassList passes = { .arena = a };
    Model *model;
    ModelOutput out = { 0 };
    assert_no_error(file_write(path, text, strlen(text)));
    assert_no_error(
        component_from_file(a, path, (StringList){ 0 }, "model", "model", (void **)&model));
    assert_no_error(model->forward(model, g, &settings, &out));
    graph_output(g, "logits", model_logits(g, &out));
    model_loss(g, &out, graph_input(g, "y", I32, 2, tokens), false);
    passes_add(&passes, pass_find("autodiff"), NULL);
    passes_add(&passes, pass_find("initialize"), model->initializer);
    assert_no_error(passes_run(g, NULL, &passes, NULL));
    f->device = cpu_device_new(1);
    f->store = store_new(f->device);
    ProgramSettings program = {
        .device = f->device, .store = f->store, .level = cpu_level_available(), .name = "documents"
    };
    assert_no_error(program_new(g, &program, &f->program));
    assert_no_error(store_initialize(f->store, 1));
    arena_on_free(a, free_fixture, f);
    return f;
}

/* The tokens [from, to) of a sequence whose second document begins at FIRST: their logits, and the
 * gradient of the sum of losses for every parameter. */
static Error *run(Arena *a, const char *kind, const char *document_key, int64_t from, int64_t to,
                  bool has_documents, double *logits, ParamStore **out)
{
    int64_t n = to - from, size[] = { 1, n };
    Fixture *f = make_fixture(a, kind, document_key, n);
    Batch b = { .arena = a };
    int32_t *x = batch_item(&b, "x", I32, 2, size)->data;
    int32_t *y = batch_item(&b, "y", I32, 2, size)->data;
    int32_t *d = has_documents ? batch_item(&b, "d", I32, 2, size)->data : NULL;
    for (int64_t i = 0; i < n; i++) {
        int64_t place = from + i;
        x[i] = (int32_t)(place * 7 % VOCAB);
        y[i] = (int32_t)((place + 1) * 7 % VOCAB);
        if (d) d[i] = 3 + (place >= FIRST);
    }
    TRY(program_feed(f->program, 0, &b));
    TRY(program_run_phases(f->program, RUN_FORWARD | RUN_BACKWARD,
                           &(RunTime){ .loss_scale = (double)n }));
    const Tensor *t = program_output(f->program, "logits", 0);
    assert_int_equal(tensor_count(t), n * VOCAB);
    for (int64_t i = 0; i < n * VOCAB; i++) logits[i] = dtype_get(t->dtype, t->data, i);
    *out = f->store;
    return NULL;
}

static double largest_difference(const double *x, const double *y, int64_t n)
{
    double most = 0;
    for (int64_t i = 0; i < n; i++) most = fmax(most, fabs(x[i] - y[i]));
    return most;
}

/* The gradient of the sum of losses is that of the first document plus that of the second. */
static void assert_gradients_add_up(ParamStore *whole, ParamStore *first, ParamStore *second)
{
    int n_gradients = 0;
    for (int64_t k = 0; k < store_count(whole); k++) {
        const Stored *w = store_at(whole, k);
        if (w->kind != VALUE_ACCUMULATOR) continue;
        const Tensor *x = &w->tensor, *y = &store_find(first, w->name)->tensor,
                     *z = &store_find(second, w->name)->tensor;
        for (int64_t i = 0; i < tensor_count(x); i++)
            assert_close(dtype_get(x->dtype, x->data, i),
                         dtype_get(y->dtype, y->data, i) + dtype_get(z->dtype, z->data, i), 1e-5);
        n_gradients++;
    }
    assert_true(n_gradients > 10);
}

TEST(documents_in_one_sequence_are_as_if_each_stood_alone)
{
    for (size_t k = 0; k < sizeof kinds / sizeof *kinds; k++) {
        Arena *a = arena_new();
        double whole[WHOLE * VOCAB], mixed[WHOLE * VOCAB], first[FIRST * VOCAB],
            second[SECOND * VOCAB];
        ParamStore *of_whole = NULL, *of_mixed = NULL, *of_first = NULL, *of_second = NULL;
        assert_no_error(run(a, kinds[k], "d", 0, WHOLE, true, whole, &of_whole));
        assert_no_error(run(a, kinds[k], "d", 0, FIRST, true, first, &of_first));
        assert_no_error(run(a, kinds[k], "d", FIRST, WHOLE, true, second, &of_second));
        assert_no_error(run(a, kinds[k], "null", 0, WHOLE, true, mixed, &of_mixed));
        assert_true(largest_difference(whole, first, FIRST * VOCAB) < 1e-6);
        assert_true(largest_difference(whole + FIRST * VOCAB, second, SECOND * VOCAB) < 1e-6);
        assert_gradients_add_up(of_whole, of_first, of_second);
        assert_true(largest_difference(whole, mixed, FIRST * VOCAB) < 1e-6);
        assert_true(largest_difference(whole, mixed, WHOLE * VOCAB) > 1e-3);
        arena_free(a);
    }
}

TEST(a_batch_without_the_documents_that_a_model_needs_is_refused)
{
    Arena *a = arena_new();
    double logits[WHOLE * VOCAB];
    ParamStore *store;
    assert_error_has(run(a, kinds[0], "d", 0, WHOLE, false, logits, &store),
                     "the batch has no 'd', which the model");
    arena_free(a);
}
