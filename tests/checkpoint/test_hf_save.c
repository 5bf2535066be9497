/* test_hf_save.c - models as Hugging Face folders: the class that is chosen, what is refused, and
 * that nothing changes on the way out and in again. */
#include "checkpoint/checkpoint.h"
#include "checkpoint/hf_save.h"
#include "components.h"
#include "models/decoder_difference.h"
#include "models/hf/model.h"
#include "models/hf/write.h"
#include "passes/adapters.h"
#include "passes/average.h"
#include "test.h"
#include "train/hf_export.h"
#include "train/model_run.h"
#include <math.h>
#include <string.h>

static const char yaml_text[] =
    "model_raw:\n"
    "  component_key: model\n"
    "  variant_key: gpt2\n"
    "  config:\n"
    "    sample_key: input_ids\n"
    "    prediction_key: logits\n"
    "    poe_type: NOPE\n"
    "    sequence_length: 16\n"
    "    vocab_size: 24\n"
    "    n_layer: 2\n"
    "    n_head_q: 4\n"
    "    n_head_kv: 2\n"
    "    n_embd: 16\n"
    "    ffn_hidden: 24\n"
    "    enforce_swiglu_hidden_dim_multiple_of: 8\n"
    "    dropout: 0.0\n"
    "    bias: false\n"
    "    attention_config:\n"
    "      qkv_transforms: [{type_hint: RotaryTransform, config: {n_embd: 16, n_head: 4, "
    "seq_length_dim: -2, base_freq: 10000}}]\n"
    "    attention_implementation: manual\n"
    "    activation_type: swiglu\n"
    "    attention_norm_config: &norm {norm_type: pytorch_rms_norm, config: {normalized_shape: 16, "
    "eps: 1.0e-5}}\n"
    "    ffn_norm_config: *norm\n"
    "    lm_head_norm_config: *norm\n";

static const char layer_norm[] =
    "={norm_type: layer_norm, config: {normalized_shape: 16, eps: 1.0e-5, bias: true}}";

static Model *model_with(Arena *a, int n, const char *const *set)
{
    void *m;
    const char *path = path_join(a, test_folder(), "model.yaml");
    const StringList overrides = { (const char **)set, n };
    assert_no_error(file_write_unsynced(path, yaml_text, strlen(yaml_text)));
    assert_no_error(component_from_file(a, path, overrides, "model_raw", "model", &m));
    return m;
}

#define NORMS                                                                                      \
    arena_printf(a, "model_raw.config.attention_norm_config%s", layer_norm),                       \
        arena_printf(a, "model_raw.config.ffn_norm_config%s", layer_norm),                         \
        arena_printf(a, "model_raw.config.lm_head_norm_config%s", layer_norm)

/* Weights of the model, as its layers begin them. */
static const char *weights_of(Arena *a, const Model *m)
{
    Graph *g = graph_new(a);
    ModelOutput out;
    assert_no_error(m->forward(m, g, &(ForwardSettings){ .batch = 1, .sequence = 2 }, &out));
    if (m->adapters) assert_no_error(pass_adapters.run(g, NULL, m->adapters));
    NamedTensor *list = NEW_N(a, NamedTensor, g->n_values);
    int64_t n = 0;
    for (int64_t i = 0; i < g->n_values; i++) {
        const Value *v = g->value[i];
        if (v->kind != VALUE_PARAM) continue;
        Tensor t = { .dtype = F32, .n_dims = v->n_dims };
        for (int d = 0; d < t.n_dims; d++) t.size[d] = v->dim[d].size;
        t.data = arena_alloc(a, tensor_bytes(&t));
        for (int64_t k = 0; k < tensor_count(&t); k++)
            ((float *)t.data)[k] = (float)((n * 7919 + k * 104729) % 1000) / 1000 - 0.5f;
        list[n++] = (NamedTensor){ v->name, t };
    }
    const char *path = path_join(a, test_folder(), "weights.safetensors");
    assert_no_error(safetensors_write(path, list, n));
    return path;
}

static Str logits_of(Arena *a, const Model *m, const char *weights, const char *name)
{
    int32_t ids[2 * 7];
    Str bytes;
    for (int i = 0; i < 14; i++) ids[i] = i * 5 % 24;
    const NamedTensor batch = { "input_ids",
                                { .data = ids, .dtype = I32, .n_dims = 2, .size = { 2, 7 } } };
    const char *in = path_join(a, test_folder(), "batch.safetensors");
    assert_no_error(safetensors_write(in, &batch, 1));
    const ModelRun r = { .model = m,
                         .weights_path = weights,
                         .batch_path = in,
                         .output_path = path_join(a, test_folder(), name),
                         .target_key = "none" };
    assert_no_error(model_run(&r));
    assert_no_error(file_read(a, r.output_path, &bytes));
    return bytes;
}

static void exports_as(Arena *a, int n, const char *const *set, const char *class)
{
    Model *m = model_with(a, n, set), *back = NULL;
    const char *name, *folder = path_join(a, test_folder(), class), *weights = weights_of(a, m);
    m->weights_path = weights;
    assert_no_error(hf_export(a, &(HfExport){ .model = m, .output_path = folder }, &name));
    assert_string_equal(name, class);
    assert_no_error(hf_model_new(a, folder, "input_ids", "logits", &back));
    const Str x = logits_of(a, m, weights, "x.safetensors"),
              y = logits_of(a, back, NULL, "y.safetensors");
    assert_true(x.len == y.len && !memcmp(x.ptr, y.ptr, x.len));
}

TEST(gpt2_models_become_the_standard_class_that_computes_the_same)
{
    Arena *a = arena_new();
    exports_as(a, 0, NULL, "LlamaForCausalLM");
    const char *const absolute[] = { "model_raw.config.poe_type=ABSOLUTE",
                                     "model_raw.config.activation_type=gelu",
                                     "model_raw.config.n_head_kv=4",
                                     "model_raw.config.bias=true",
                                     "model_raw.config.attention_config={qkv_transforms: []}",
                                     NORMS };
    exports_as(a, 8, absolute, "GPT2LMHeadModel");
    const char *const norms[] = { NORMS };
    exports_as(a, 3, norms, "StableLmForCausalLM");
    const char *const plain[] = { "model_raw.config.activation_type=gelu", NORMS };
    exports_as(a, 4, plain, "Starcoder2ForCausalLM");
    exports_as(a, 1, plain, "ArceeForCausalLM");
    arena_free(a);
}

/* ---- adapters and averages ---- */

static const char *const matrices[] = { "@matrices", NULL }, *const nothing[] = { NULL };
static const Adapters low_rank = { 3, 6, matrices, nothing };

static Model *with_adapters(Model *m)
{
    m->adapters = &low_rank;
    passes_add(&m->passes, &pass_adapters, &low_rank);
    return m;
}

/* The largest distance of the numbers of two files of logits. */
static double distance(Arena *a, const char *x, const char *y)
{
    Safetensors *f, *g;
    double most = 0;
    assert_no_error(safetensors_open(a, path_join(a, test_folder(), x), &f));
    assert_no_error(safetensors_open(a, path_join(a, test_folder(), y), &g));
    const Tensor *t = safetensors_find(f, "logits"), *u = safetensors_find(g, "logits");
    assert_true(t && u && tensor_count(t) == tensor_count(u));
    for (int64_t i = 0; i < tensor_count(t); i++)
        most = fmax(most, fabs(dtype_get(t->dtype, t->data, i) - dtype_get(u->dtype, u->data, i)));
    return most;
}

TEST(an_export_has_weights_and_adapters_merged)
{
    Arena *a = arena_new();
    Model *plain = model_with(a, 0, NULL), *m = with_adapters(model_with(a, 0, NULL)), *back;
    const char *name, *folder = path_join(a, test_folder(), "merged"), *weights = weights_of(a, m);
    m->weights_path = weights;
    assert_no_error(hf_export(a, &(HfExport){ .model = m, .output_path = folder }, &name));
    assert_no_error(hf_model_new(a, folder, "input_ids", "logits", &back));
    logits_of(a, m, weights, "x.safetensors");
    logits_of(a, back, NULL, "y.safetensors");
    logits_of(a, plain, weights_of(a, plain), "z.safetensors");
    assert_true(distance(a, "x.safetensors", "y.safetensors") < 1e-4);
    assert_true(distance(a, "x.safetensors", "z.safetensors") > 1e-2);
    arena_free(a);
}

TEST(adapters_begin_anew_over_the_weights_of_a_model_without)
{
    Arena *a = arena_new();
    Model *plain = model_with(a, 0, NULL), *back, *other;
    const char *name, *folder = path_join(a, test_folder(), "base"),
                      *weights = weights_of(a, plain);
    plain->weights_path = weights;
    assert_no_error(hf_export(a, &(HfExport){ .model = plain, .output_path = folder }, &name));
    assert_no_error(hf_model_new(a, folder, "input_ids", "logits", &back));
    assert_no_error(hf_model_new(a, folder, "input_ids", "logits", &other));
    logits_of(a, plain, weights, "x.safetensors");
    logits_of(a, with_adapters(model_with(a, 0, NULL)), weights, "y.safetensors");
    logits_of(a, with_adapters(other), NULL, "z.safetensors");
    assert_true(distance(a, "x.safetensors", "y.safetensors") == 0);
    assert_true(distance(a, "x.safetensors", "z.safetensors") == 0);
    arena_free(a);
}

/* A checkpoint of a training whose averages are these weights, and whose parameters are others. */
static const char *averaged_checkpoint(Arena *a, const char *weights)
{
    Safetensors *f;
    assert_no_error(safetensors_open(a, weights, &f));
    StateTensor *state = NEW_N(a, StateTensor, 2 * f->n);
    for (int64_t i = 0; i < f->n; i++) {
        const NamedTensor *t = &f->tensor[i];
        StateTensor *param = &state[2 * i], *average = param + 1;
        param->name = arena_printf(a, "app.model.%s", t->name);
        average->name = arena_printf(a, "app.optimizer.state.%s.ema", t->name);
        param->part = average->part = t->tensor;
        memcpy(param->whole, t->tensor.size, sizeof param->whole);
        memcpy(average->whole, t->tensor.size, sizeof average->whole);
        param->part.data = arena_alloc(a, tensor_bytes(&t->tensor));
    }
    const char *path = path_join(a, test_folder(), "averaged");
    assert_no_error(checkpoint_save(path, state, 2 * f->n, "{}"));
    return path;
}

TEST(an_export_of_an_averaged_model_has_the_averages)
{
    static const Average average = { 0.9, true };
    Arena *a = arena_new();
    Model *plain = model_with(a, 0, NULL), *m = model_with(a, 0, NULL), *back;
    const char *name, *folder = path_join(a, test_folder(), "averages"),
                      *weights = weights_of(a, plain);
    m->average = &average;
    m->weights_path = averaged_checkpoint(a, weights);
    assert_no_error(hf_export(a, &(HfExport){ .model = m, .output_path = folder }, &name));
    assert_no_error(hf_model_new(a, folder, "input_ids", "logits", &back));
    logits_of(a, plain, weights, "x.safetensors");
    logits_of(a, back, NULL, "y.safetensors");
    assert_true(distance(a, "x.safetensors", "y.safetensors") == 0);
    arena_free(a);
}

TEST(a_model_without_standard_class_is_refused_by_option)
{
    Arena *a = arena_new();
    const char *const normed[] = { "model_raw.config.attention_config.qk_norm_config={norm_type: "
                                   "pytorch_rms_norm, config: {normalized_shape: 4}}",
                                   NORMS };
    Model *m = model_with(a, 4, normed);
    const char *name, *folder = path_join(a, test_folder(), "refused");
    m->weights_path = weights_of(a, m);
    HfExport x = { .model = m, .output_path = folder };
    assert_error_has(hf_export(a, &x, &name),
                     "the closest is LlamaForCausalLM, but for norm in front of attention: a layer "
                     "norm instead of an RMS norm");
    x.custom_code = true;
    assert_error_has(hf_export(a, &x, &name), "norm of queries and keys");
    assert_false(file_exists(folder));
    x.custom_code = false;
    x.model = model_with(a, 0, NULL);
    assert_error_has(hf_export(a, &x, &name), "brings no weights");
    arena_free(a);
}

TEST(a_model_is_written_for_the_original_s_own_class)
{
    Arena *a = arena_new();
    const char *const set[] = { NORMS };
    Model *m = model_with(a, 3, set);
    const char *name, *folder = path_join(a, test_folder(), "custom");
    m->weights_path = weights_of(a, m);
    Str config;
    const HfExport x = { .model = m, .output_path = folder, .custom_code = true };
    assert_no_error(hf_export(a, &x, &name));
    assert_no_error(file_read(a, path_join(a, folder, "config.json"), &config));
    assert_contains(config.ptr, "\"auto_map\": {\"AutoConfig\": \"configuration_gpt2.GPT2Config\"");
    assert_contains(config.ptr, "\"layer_norm_bias\": true");
    arena_free(a);
}

TEST(every_golden_config_is_written_as_its_own_class)
{
    static const char *const names[] = {
        "gemma2",    "gemma3",          "gpt2",     "llama3_rope_scaling",
        "llama_gqa", "mistral_sliding", "mixtral",  "olmo2",
        "qwen2",     "qwen3",           "qwen3_moe"
    };
    Arena *a = arena_new();
    Text text = { 0 };
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        HfModel m, back;
        Yaml *root;
        const HfFamily *family;
        const char *folder = shared_path(a, arena_printf(a, "data/goldens/models/hf_%s", names[i]));
        assert_no_error(hf_config_read(a, folder, &m));
        assert_no_error(hf_config_write(a, m.decoder, F32, NULL, &family, &text));
        assert_string_equal(family->class_name, m.family->class_name);
        const Str written = { arena_string(a, text.ptr), text.len };
        assert_no_error(yaml_parse(a, written, names[i], &root));
        assert_no_error(hf_config_parse(a, root, names[i], &back));
        assert_null(decoder_difference(a, m.decoder, back.decoder));
    }
    text_free(&text);
    arena_free(a);
}

TEST(import_and_export_of_a_golden_change_no_bit)
{
    static const char *const names[] = { "gpt2", "mixtral", "gemma2" };
    Arena *a = arena_new();
    for (int i = 0; i < 3; i++) {
        Model *m = NULL;
        Safetensors *x, *y;
        const char *name, *out = path_join(a, test_folder(), names[i]);
        const char *from = shared_path(a, arena_printf(a, "data/goldens/models/hf_%s", names[i]));
        assert_no_error(hf_model_new(a, from, "input_ids", "logits", &m));
        assert_no_error(hf_export(a, &(HfExport){ .model = m, .output_path = out }, &name));
        assert_no_error(safetensors_open(a, path_join(a, from, "model.safetensors"), &x));
        assert_no_error(safetensors_open(a, path_join(a, out, "model.safetensors"), &y));
        assert_int_equal(x->n, y->n);
        assert_string_equal(map_get(y->metadata, str_of("format")), "pt");
        for (int64_t k = 0; k < x->n; k++) {
            const Tensor *p = &x->tensor[k].tensor, *q = safetensors_find(y, x->tensor[k].name);
            assert_non_null(q);
            assert_true(tensor_bytes(p) == tensor_bytes(q) &&
                        !memcmp(p->data, q->data, tensor_bytes(p)));
        }
    }
    arena_free(a);
}

TEST(large_weights_are_written_in_shards_that_are_read_again)
{
    Arena *a = arena_new();
    Model *m = model_with(a, 0, NULL), *back = NULL;
    const char *name, *folder = path_join(a, test_folder(), "sharded"), *weights = weights_of(a, m);
    const char *whole = path_join(a, test_folder(), "whole");
    m->weights_path = weights;
    assert_no_error(hf_export(a, &(HfExport){ .model = m, .output_path = whole }, &name));
    Safetensors *f;
    Str config;
    assert_no_error(safetensors_open(a, path_join(a, whole, "model.safetensors"), &f));
    assert_no_error(file_read(a, path_join(a, whole, "config.json"), &config));
    const HfFolder parts = {
        .path = folder, .config = config.ptr, .tensor = f->tensor, .n = f->n, .shard_bytes = 3000
    };
    assert_no_error(hf_save(a, &parts));
    assert_true(file_exists(path_join(a, folder, "model.safetensors.index.json")));
    assert_no_error(hf_model_new(a, folder, "input_ids", "logits", &back));
    const Str x = logits_of(a, m, weights, "x.safetensors"),
              y = logits_of(a, back, NULL, "y.safetensors");
    assert_true(x.len == y.len && !memcmp(x.ptr, y.ptr, x.len));
    assert_error_has(hf_save(a, &parts), "is there already");
    arena_free(a);
}
