/* test_hf.c - Hugging Face folders: what is read of config.json, names and layouts of tensors,
 * errors, the local cache. */
#include "checkpoint/hf_tensors.h"
#include "checkpoint/hf_weights.h"
#include "checkpoint/pickle.h"
#include "checkpoint/safetensors.h"
#include "checkpoint/zip.h"
#include "models/hf_model.h"
#include "test.h"
#include "train/generate.h"
#include "train/model_run.h"
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const char llama[] = "\"model_type\": \"llama\", \"vocab_size\": 16, \"hidden_size\": 8, "
                            "\"intermediate_size\": 12, \"num_hidden_layers\": 2, "
                            "\"num_attention_heads\": 2";

/* A folder whose config.json has these members. */
static const char *folder_with(Arena *a, const char *members, const char *more)
{
    const char *folder = path_join(a, test_folder(), "model");
    assert_no_error(make_directories(folder));
    const char *text = arena_printf(a, "{\n%s%s}\n", members, more);
    assert_no_error(file_write_unsynced(path_join(a, folder, "config.json"), text, strlen(text)));
    return folder;
}

static const Decoder *decoder_with(Arena *a, const char *members, const char *more)
{
    HfModel *m = NEW(a, HfModel);
    assert_no_error(hf_config_read(a, folder_with(a, members, more), m));
    return m->decoder;
}

static void refuses(Arena *a, const char *members, const char *more, const char *part)
{
    HfModel m;
    assert_error_has(hf_config_read(a, folder_with(a, members, more), &m), part);
}

TEST(config_json_of_an_unknown_class_is_refused_with_its_new_options)
{
    Arena *a = arena_new();
    refuses(a, "\"model_type\": \"novel\", \"architectures\": [\"NovelLM\"], \"hidden_size\": 8",
            "", "model_type novel (NovelLM) is not known; known are llama, mistral,");
    refuses(a, "\"model_type\": \"novel\", \"use_cache\": true, \"ssm_state\": 8, \"conv\": 4", "",
            "of its options no known class has ssm_state, conv");
    refuses(a, llama, ", \"architectures\": [\"LlamaForSequenceClassification\"]",
            "of model_type llama it is LlamaForCausalLM");
    arena_free(a);
}

TEST(config_json_with_an_unknown_value_is_refused_by_option_and_place)
{
    Arena *a = arena_new();
    refuses(a, llama, ", \"hidden_act\": \"mish\"", "config.json:2:");
    refuses(a, llama, ", \"hidden_act\": \"mish\"", "hidden_act: \"mish\" is not known; known are");
    refuses(a, llama, ", \"rope_scaling\": {\"type\": \"longrope\", \"factor\": 2.0}",
            "rope scaling longrope is not known");
    refuses(a, llama, ", \"rope_scaling\": {\"type\": \"linear\"}",
            "linear needs the number factor");
    refuses(a, llama, ", \"layer_types\": [\"linear_attention\", \"full_attention\"]",
            "each layer is of type");
    refuses(a, llama, ", \"quantization_config\": {\"bits\": 4}", "quantization_config");
    refuses(a, llama,
            ", \"rope_parameters\": {\"rope_type\": \"default\", \"partial_rotary_factor\": 0.5}",
            "partial_rotary_factor: only 1.0 is known");
    refuses(a,
            "\"model_type\": \"phi3\", \"vocab_size\": 16, \"hidden_size\": 8, "
            "\"intermediate_size\": 12, "
            "\"num_hidden_layers\": 2, \"num_attention_heads\": 2",
            ", \"resid_pdrop\": 0.1", "resid_pdrop: 0.1 is not known; only 0.0 is");
    refuses(a, llama, ", \"clip_qkv\": 8.0", "clip_qkv: 8.0 is not known; only null is");
    refuses(a,
            "\"model_type\": \"smollm3\", \"vocab_size\": 16, \"hidden_size\": 8, "
            "\"intermediate_size\": 12, \"num_hidden_layers\": 2, \"num_attention_heads\": 2",
            ", \"no_rope_layers\": [1]", "it must have a number for each layer");
    refuses(a, llama, ", \"num_key_value_heads\": 3", "num_key_value_heads: 3 is not known");
    refuses(a, "\"model_type\": \"llama\", \"vocab_size\": 16, \"hidden_size\": \"wide\"", "",
            "hidden_size");
    arena_free(a);
}

/* Each class of transformers looks at one of the two options. */
TEST(config_json_gives_the_activation_that_the_class_takes)
{
    static const struct {
        const char *type, *more;
        Activation activation;
    } row[] = {
        { "llama", "", ACTIVATE_SILU },
        { "llama", ", \"hidden_act\": \"relu\"", ACTIVATE_RELU },
        { "llama", ", \"hidden_act\": \"relu2\"", ACTIVATE_RELU_SQUARED },
        { "llama", ", \"hidden_act\": \"gelu\"", ACTIVATE_GELU },
        { "llama", ", \"hidden_act\": \"gelu_fast\"", ACTIVATE_GELU_TANH },
        { "llama", ", \"hidden_activation\": \"relu\"", ACTIVATE_SILU },
        { "gemma", "", ACTIVATE_GELU_TANH },
        { "gemma", ", \"hidden_act\": \"gelu\"", ACTIVATE_GELU_TANH },
        { "gemma", ", \"hidden_act\": \"silu\"", ACTIVATE_SILU },
        { "gemma", ", \"hidden_act\": \"silu\", \"hidden_activation\": \"gelu\"", ACTIVATE_SILU },
        { "gemma", ", \"hidden_activation\": \"gelu\"", ACTIVATE_GELU },
        { "gemma2", ", \"hidden_act\": \"silu\"", ACTIVATE_GELU_TANH },
        { "gemma2", ", \"hidden_activation\": \"gelu\"", ACTIVATE_GELU },
        { "gemma3_text", ", \"hidden_activation\": \"silu\"", ACTIVATE_SILU },
    };
    Arena *a = arena_new();
    for (size_t i = 0; i < sizeof row / sizeof *row; i++) {
        const char *members =
            arena_printf(a, "\"model_type\": \"%s\", \"num_key_value_heads\": 1%s", row[i].type,
                         strchr(llama, ','));
        assert_int_equal(decoder_with(a, members, row[i].more)->activation, row[i].activation);
    }
    arena_free(a);
}

TEST(config_json_gives_each_layer_its_window)
{
    Arena *a = arena_new();
    char members[400];
    snprintf(members, sizeof members, "%s", llama);
    memcpy(strstr(members, "llama"), "qwen2", 5);
    const Decoder *d =
        decoder_with(a, members, ", \"sliding_window\": 3, \"max_window_layers\": 1");
    assert_int_equal(d->layer[1].window, 0);
    d = decoder_with(a, members,
                     ", \"use_sliding_window\": true, \"sliding_window\": 3, "
                     "\"max_window_layers\": 1");
    assert_true(d->layer[0].window == 0 && d->layer[1].window == 3);
    memcpy(strstr(members, "qwen2\""), "olmo2", 5);
    assert_true(decoder_with(a, members, "")->attention_norm == NULL);
    arena_free(a);
}

TEST(rope_scaling_equals_that_of_transformers)
{
    const RopeScaling linear = { .base = 10000, .kind = ROPE_LINEAR, .factor = 3 },
                      dynamic = { .base = 10000,
                                  .kind = ROPE_DYNAMIC,
                                  .factor = 2,
                                  .original = 64 },
                      llama3 = { .base = 500000,
                                 .kind = ROPE_LLAMA3,
                                 .factor = 8,
                                 .original = 16,
                                 .low_freq = 1,
                                 .high_freq = 4 },
                      yarn = { .base = 10000,
                               .kind = ROPE_YARN,
                               .factor = 4,
                               .original = 64,
                               .beta_fast = 32,
                               .beta_slow = 1,
                               .truncate = true },
                      smooth = { .base = 10000,
                                 .kind = ROPE_YARN,
                                 .factor = 4,
                                 .original = 64,
                                 .beta_fast = 16,
                                 .beta_slow = 2 };
    const struct {
        const RopeScaling *s;
        int64_t n, j;
        float expected;
    } row[] = {
        { &linear, 64, 1, 0.105409257f },
        { &linear, 64, 7, 0.000105409265f },
        { &dynamic, 200, 1, 0.249528468f },
        { &dynamic, 200, 7, 6.02338623e-05f },
        { &dynamic, 40, 1, 0.316227764f },
        { &llama3, 64, 0, 0.576056361f },
        { &llama3, 64, 1, 0.0242403448f },
        { &llama3, 64, 7, 1.28917316e-06f },
        { &yarn, 256, 0, 1 },
        { &yarn, 256, 1, 0.237170815f },
        { &yarn, 256, 2, 0.049999997f },
        { &yarn, 256, 7, 7.90569466e-05f },
        { &smooth, 256, 1, 0.14849025f },
        { &smooth, 256, 2, 0.0250000004f },
    };
    for (size_t i = 0; i < sizeof row / sizeof *row; i++) {
        float f = rope_scaled_frequency(row[i].s, row[i].n, row[i].j, 16);
        if (fabsf(f - row[i].expected) > 1e-7f * row[i].expected)
            fail_msg("row %zu: %.9g, not %.9g", i, (double)f, (double)row[i].expected);
    }
    assert_close(rope_yarn_attention(4, 1), 1.138629436111989, 1e-15);
    assert_close(rope_yarn_attention(40, 1) / rope_yarn_attention(40, 0.5), 1.1557219901962608,
                 1e-15);
}

TEST(rope_scaling_is_read_as_yarn_writes_it)
{
    Arena *a = arena_new();
    const Decoder *d =
        decoder_with(a, llama,
                     ", \"max_position_embeddings\": 256, \"rope_scaling\": {\"rope_type\": "
                     "\"yarn\", \"factor\": 4.0, \"original_max_position_embeddings\": 64}");
    const RopeScaling *s = d->layer[0].rope;
    assert_true(s->kind == ROPE_YARN && s->original == 64 && s->truncate && s->beta_fast == 32);
    assert_close(s->attention, 1.138629436111989, 1e-15);
    d = decoder_with(a, llama,
                     ", \"max_position_embeddings\": 64, \"rope_parameters\": {\"rope_type\": "
                     "\"dynamic\", \"factor\": 2.0, \"rope_theta\": 5000.0}");
    s = d->layer[0].rope;
    assert_true(s->kind == ROPE_DYNAMIC && s->original == 64 && s->base == 5000);
    assert_int_equal(d->sequence_length, 128);
    arena_free(a);
}

/* The parameters of the folder's model, each element its own number. */
static NamedTensor *parameters(Arena *a, const Model *m, int64_t *n)
{
    Graph *g = graph_new(a);
    ModelOutput out = { 0 };
    assert_no_error(m->forward(m, g, &(ForwardSettings){ .batch = 1, .sequence = 2 }, &out));
    NamedTensor *list = NEW_N(a, NamedTensor, g->n_values);
    *n = 0;
    for (int64_t i = 0; i < g->n_values; i++) {
        const Value *v = g->value[i];
        if (v->kind != VALUE_PARAM) continue;
        Tensor t = { .dtype = F32, .n_dims = v->n_dims };
        for (int d = 0; d < t.n_dims; d++) t.size[d] = v->dim[d].size;
        t.data = arena_alloc(a, tensor_bytes(&t));
        for (int64_t k = 0; k < tensor_count(&t); k++)
            ((float *)t.data)[k] = (float)(100000 * *n + k);
        list[(*n)++] = (NamedTensor){ v->name, t };
    }
    return list;
}

static Error *open_weights(Arena *a, const Model *m, const NamedTensor *param, int64_t n,
                           CheckpointReader **out)
{
    CheckpointEntry *entry = NEW_N(a, CheckpointEntry, n);
    for (int64_t i = 0; i < n; i++) {
        entry[i] = (CheckpointEntry){ .name = param[i].name, .n_dims = param[i].tensor.n_dims };
        memcpy(entry[i].size, param[i].tensor.size, sizeof entry[i].size);
    }
    return hf_weights_open(a, m->hf, entry, n, out);
}

static void put_sizes(PickleWriter *w, const Tensor *t, bool strides)
{
    pickle_begin(w, PICKLE_TUPLE);
    for (int d = 0; d < t->n_dims; d++)
        pickle_put_int(w, strides ? tensor_volume(t, d + 1, t->n_dims) : t->size[d]);
    pickle_finish(w, PICKLE_TUPLE);
}

/* As torch.save writes floats: each in a storage of its own, called by its number. */
static void put_torch(Arena *a, PickleWriter *w, const Tensor *t, int64_t number)
{
    pickle_put_global(w, "torch._utils _rebuild_tensor_v2");
    pickle_begin(w, PICKLE_TUPLE);
    pickle_begin(w, PICKLE_TUPLE);
    pickle_put_text(w, str_of("storage"));
    pickle_put_global(w, "torch FloatStorage");
    pickle_put_text(w, str_of(arena_printf(a, "%lld", (long long)number)));
    pickle_put_text(w, str_of("cpu"));
    pickle_put_int(w, tensor_count(t));
    pickle_finish(w, PICKLE_TUPLE);
    pickle_persist(w);
    pickle_put_int(w, 0);
    put_sizes(w, t, false);
    put_sizes(w, t, true);
    pickle_finish(w, PICKLE_TUPLE);
    pickle_call(w);
}

static void write_torch(Arena *a, const char *path, const NamedTensor *list, int64_t n)
{
    PickleWriter *w = pickle_writer(a, 2);
    ZipWriter *z = zip_writer(a, "archive", 0);
    Text out = { 0 };
    pickle_begin(w, PICKLE_DICT);
    for (int64_t i = 0; i < n; i++) {
        pickle_put_text(w, str_of(list[i].name));
        put_torch(a, w, &list[i].tensor, i);
    }
    pickle_finish(w, PICKLE_DICT);
    zip_put(z, "data.pkl", pickle_end(w), 0, &out);
    for (int64_t i = 0; i < n; i++) {
        const Str numbers = { list[i].tensor.data, tensor_bytes(&list[i].tensor) };
        zip_put(z, arena_printf(a, "data/%lld", (long long)i), numbers, 0, &out);
    }
    zip_end(z, 0, &out);
    assert_no_error(file_write(path, out.ptr, out.len));
    text_free(&out);
}

static void write_index(Arena *a, const char *path, const char *map)
{
    const char *text = arena_printf(a, "{\"weight_map\": {%s}}", map);
    assert_no_error(file_write_unsynced(path, text, strlen(text)));
}

/* How a folder's tensors are stored. */
typedef enum Store { ONE_FILE, TORCH_FILE, TORCH_SHARDS, PART_OF_5, PART_OF_4 } Store;

static void store_shards(Arena *a, const char *folder, const NamedTensor *file, int64_t n)
{
    const int64_t half = n / 2;
    Text map = { 0 };
    write_torch(a, path_join(a, folder, "0.bin"), file, half);
    write_torch(a, path_join(a, folder, "1.bin"), file + half, n - half);
    for (int64_t i = 0; i < n; i++)
        text_printf(&map, "%s\"%s\": \"%d.bin\"", i ? ", " : "", file[i].name, i >= half);
    write_index(a, path_join(a, folder, "pytorch_model.bin.index.json"), map.ptr);
    text_free(&map);
}

static void store(Arena *a, const char *folder, Store how, NamedTensor *file, int64_t n)
{
    for (int64_t i = 0; i < n; i++) {
        const char *rest = strchr(file[i].name, '.') + 1;
        if (how == PART_OF_4) file[i].name = arena_printf(a, "language_model.%s", file[i].name);
        if (how == PART_OF_5) file[i].name = arena_printf(a, "model.language_model.%s", rest);
    }
    if (how == TORCH_SHARDS)
        store_shards(a, folder, file, n);
    else if (how == TORCH_FILE)
        write_torch(a, path_join(a, folder, "pytorch_model.bin"), file, n);
    else
        assert_no_error(safetensors_write(path_join(a, folder, "model.safetensors"), file, n));
}

/* Written and read again, every parameter is what it was: fused, transposed and split ones, too. */
static void round_trip(Arena *a, const char *members, Store how)
{
    const char *folder = folder_with(a, members, "");
    Model *m = NULL;
    CheckpointReader *r;
    NamedTensor *file;
    int64_t n, n_file;
    assert_no_error(hf_model_new(a, folder, "ids", "logits", &m));
    NamedTensor *param = parameters(a, m, &n);
    assert_no_error(hf_tensors(a, m->hf->family, m->hf->decoder, param, n, &file, &n_file));
    store(a, folder, how, file, n_file);
    assert_no_error(open_weights(a, m, param, n, &r));
    for (int64_t i = 0; i < n; i++) {
        const Tensor *t = &param[i].tensor;
        const Box box = box_whole(t->n_dims, t->size);
        void *read = arena_alloc(a, tensor_bytes(t));
        assert_no_error(r->get(r, i, &box, read));
        if (memcmp(read, t->data, tensor_bytes(t))) fail_msg("%s is another", param[i].name);
    }
}

TEST(parameters_return_from_the_layouts_of_every_family)
{
    static const char rest[] =
        ", \"vocab_size\": 16, \"hidden_size\": 8, \"intermediate_size\": 12, "
        "\"num_hidden_layers\": 2, \"num_attention_heads\": 2, \"num_key_value_heads\": 2, "
        "\"head_dim\": 4, \"num_experts\": 3, \"moe_intermediate_size\": 5";
    Arena *a = arena_new();
    for (const HfFamily *f = hf_families; f->model_type; f++)
        round_trip(a, arena_printf(a, "\"model_type\": \"%s\"%s", f->model_type, rest), ONE_FILE);
    arena_free(a);
}

TEST(parameters_are_read_from_files_of_torch)
{
    Arena *a = arena_new();
    round_trip(a,
               "\"model_type\": \"gpt2\", \"vocab_size\": 16, \"n_embd\": 8, \"n_layer\": 1, "
               "\"n_head\": 2",
               TORCH_FILE);
    const char *file = path_join(a, test_folder(), "model/pytorch_model.bin");
    Str bytes;
    CheckpointReader *r;
    Model *m = NULL;
    int64_t n;
    assert_no_error(file_read(a, file, &bytes));
    const float first[] = { 100000, 100001, 100002 }; /* of the second parameter */
    char *copy = arena_copy(a, bytes.ptr, bytes.len),
         *at = memmem(copy, bytes.len, first, sizeof first);
    assert_non_null(at);
    at[1] ^= 1;
    assert_no_error(file_write(file, copy, bytes.len));
    assert_no_error(hf_model_new(a, path_join(a, test_folder(), "model"), "ids", "logits", &m));
    NamedTensor *param = parameters(a, m, &n);
    assert_error_has(open_weights(a, m, param, n, &r),
                     "pytorch_model.bin: transformer.wpe.weight: ");
    unlink(file);
    round_trip(a, llama, TORCH_SHARDS);
    arena_free(a);
}

/* Its config.json leaves out what the class of the language model has by itself. */
TEST(the_language_model_of_a_larger_one_is_read_alone)
{
    static const char of_text[] =
        "\"model_type\": \"gemma3\", \"architectures\": [\"Gemma3ForConditionalGeneration\"], "
        "\"torch_dtype\": \"bfloat16\", \"vision_config\": {\"hidden_size\": 4}, \"text_config\": "
        "{\"model_type\": \"gemma3_text\", \"hidden_size\": 8, \"intermediate_size\": 12, "
        "\"num_hidden_layers\": 2, \"head_dim\": 4%s}";
    Arena *a = arena_new();
    HfModel m;
    assert_no_error(hf_config_read(a, folder_with(a, arena_printf(a, of_text, ""), ""), &m));
    assert_true(m.is_part && m.dtype == BF16 && m.decoder->vocab_size == 262208 &&
                m.decoder->n_head_q == 8 && m.decoder->n_head_kv == 4 && m.decoder->is_tied);
    const char *small = arena_printf(a, of_text, ", \"vocab_size\": 16");
    round_trip(a, small, PART_OF_4);
    round_trip(a, small, PART_OF_5);
    assert_false(decoder_with(a, small, ", \"tie_word_embeddings\": false")->is_tied);
    refuses(a, "\"model_type\": \"novel\", \"text_config\": {\"model_type\": \"other\"}", "",
            "model_type novel");
    refuses(a, "\"model_type\": \"llama\", \"hidden_size\": 8, \"num_hidden_layers\": 1", "",
            "vocab_size is missing; it is needed");
    arena_free(a);
}

TEST(part_of_a_fused_tensor_is_read_alone)
{
    Arena *a = arena_new();
    round_trip(a,
               "\"model_type\": \"gpt2\", \"vocab_size\": 16, \"n_embd\": 8, \"n_layer\": 1, "
               "\"n_head\": 2",
               ONE_FILE);
    Model *m = NULL;
    CheckpointReader *r;
    int64_t n;
    assert_no_error(hf_model_new(a, path_join(a, test_folder(), "model"), "ids", "logits", &m));
    NamedTensor *param = parameters(a, m, &n);
    assert_no_error(open_weights(a, m, param, n, &r));
    const int64_t i = checkpoint_find(r, "app.model.transformer.h.0.attn.v_attn.weight");
    const Box box = { .n_dims = 2, .start = { 2, 3 }, .size = { 2, 4 } };
    float read[8];
    assert_no_error(r->get(r, i, &box, read));
    const float *whole = param[i].tensor.data;
    for (int k = 0; k < 8; k++) assert_true(read[k] == whole[(2 + k / 4) * 8 + 3 + k % 4]);
    arena_free(a);
}

TEST(weights_that_do_not_fit_are_named_with_their_file)
{
    Arena *a = arena_new();
    Model *m = NULL;
    CheckpointReader *r;
    int64_t n;
    round_trip(a, llama, ONE_FILE);
    const char *folder = path_join(a, test_folder(), "model"),
               *index = path_join(a, folder, "model.safetensors.index.json");
    folder_with(a, llama, ", \"num_key_value_heads\": 1");
    assert_no_error(hf_model_new(a, folder, "ids", "logits", &m));
    NamedTensor *param = parameters(a, m, &n);
    assert_error_has(open_weights(a, m, param, n, &r),
                     "model.safetensors: model.layers.0.self_attn.k_proj.weight has the shape "
                     "[8, 8], but config.json makes it [4, 8]");
    folder_with(a, llama, ", \"attention_bias\": true");
    assert_no_error(hf_model_new(a, folder, "ids", "logits", &m));
    param = parameters(a, m, &n);
    assert_error_has(open_weights(a, m, param, n, &r),
                     "model.safetensors has no tensor model.layers.0.self_attn.q_proj.bias");
    write_index(a, index, "\"model.embed_tokens.weight\": \"model-00001-of-00002.safetensors\"");
    assert_error_has(open_weights(a, m, param, n, &r), "model.embed_tokens.weight lies in ");
    assert_error_has(open_weights(a, m, param, n, &r),
                     "model-00001-of-00002.safetensors, which is missing");
    write_index(a, index, "\"model.embed_tokens.weight\": \"../x.safetensors\"");
    assert_error_has(open_weights(a, m, param, n, &r), "which is no file of the folder");
    write_index(a, index, "\"model.embed_tokens.weight\": \"model.safetensors\"");
    assert_error_has(open_weights(a, m, param, n, &r),
                     "index.json has no tensor model.layers.0.input_layernorm.weight");
    unlink(path_join(a, folder, "model.safetensors"));
    unlink(index);
    assert_error_has(open_weights(a, m, param, n, &r), "holds no weights");
    arena_free(a);
}

TEST(names_are_found_in_the_local_cache)
{
    Arena *a = arena_new();
    const char *folder, *hub = path_join(a, test_folder(), "hub");
    const char *model = path_join(a, hub, "models--owner--small");
    setenv("HF_HUB_CACHE", hub, 1);
    assert_error_has(hf_find(a, "owner/small", &folder), "no model of that name in the cache");
    assert_no_error(make_directories(path_join(a, model, "refs")));
    assert_error_has(hf_find(a, "owner/small", &folder), "owner/small in the cache");
    assert_no_error(file_write_unsynced(path_join(a, model, "refs/main"), "abc\n", 4));
    assert_error_has(hf_find(a, "owner/small", &folder), "names the revision abc, but there is no");
    assert_no_error(make_directories(path_join(a, model, "snapshots/abc")));
    assert_no_error(hf_find(a, "owner/small", &folder));
    assert_string_equal(folder, path_join(a, model, "snapshots/abc"));
    unsetenv("HF_HUB_CACHE");
    setenv("HF_HOME", test_folder(), 1);
    assert_no_error(hf_find(a, "owner/small", &folder));
    assert_string_equal(folder, path_join(a, model, "snapshots/abc"));
    assert_no_error(hf_find(a, hub, &folder));
    assert_string_equal(folder, hub);
    arena_free(a);
}

/* ---- the goldens ---- */

static const char *const golden[] = {
    "hf_gemma2",          "hf_gemma3",  "hf_gpt2",  "hf_llama_gqa", "hf_llama3_rope_scaling",
    "hf_mistral_sliding", "hf_mixtral", "hf_olmo2", "hf_qwen2",     "hf_qwen3",
    "hf_qwen3_moe"
};
enum { N_GOLDENS = sizeof golden / sizeof *golden };

static int64_t most_likely(const Tensor *logits)
{
    int64_t best = 0;
    for (int64_t i = 1; i < tensor_count(logits); i++)
        if (dtype_get(logits->dtype, logits->data, i) >
            dtype_get(logits->dtype, logits->data, best))
            best = i;
    return best;
}

static void check_prompt(Generator *g, const json_t *prompt)
{
    const json_t *in = json_object_get(prompt, "input_ids"),
                 *expected = json_object_get(prompt, "generated_ids");
    uint32_t id[64];
    size_t n = json_array_size(in);
    for (size_t i = 0; i < n; i++) id[i] = (uint32_t)json_integer_value(json_array_get(in, i));
    generator_restart(g);
    assert_no_error(generator_read(g, id, (int64_t)n));
    for (size_t i = 0; i < json_array_size(expected); i++) {
        id[0] = (uint32_t)most_likely(generator_logits(g));
        assert_int_equal(id[0], json_integer_value(json_array_get(expected, i)));
        assert_no_error(generator_read(g, id, 1));
    }
}

TEST(greedy_tokens_of_every_family_equal_those_of_transformers)
{
    Arena *a = arena_new();
    for (int i = 0; i < N_GOLDENS; i++) {
        const char *folder = shared_path(a, arena_printf(a, "data/goldens/models/%s", golden[i]));
        json_t *file = json_load_file(path_join(a, folder, "generate.json"), 0, NULL);
        const json_t *prompts = json_object_get(file, "prompts");
        Model *m = NULL;
        Session *s;
        Generator *g;
        assert_no_error(hf_model_new(a, folder, "input_ids", "logits", &m));
        assert_no_error(session_new(&(SessionSettings){ .model = m }, &s));
        assert_no_error(generator_new(s, m, 40, &g));
        for (size_t k = 0; k < json_array_size(prompts); k++)
            check_prompt(g, json_array_get(prompts, k));
        generator_free(g);
        session_free(s);
        json_decref(file);
    }
    arena_free(a);
}

static Str run_of(Arena *a, const char *folder, const char *batch, const char *out)
{
    Model *m = NULL;
    Str bytes;
    assert_no_error(hf_model_new(a, folder, "input_ids", "logits", &m));
    const ModelRun r = { .model = m,
                         .batch_path = batch,
                         .output_path = path_join(a, test_folder(), out),
                         .target_key = "target_ids" };
    assert_no_error(model_run(&r));
    assert_no_error(file_read(a, r.output_path, &bytes));
    return bytes;
}

TEST(config_json_of_transformers_4_gives_the_same_bits)
{
    Arena *a = arena_new();
    for (int i = 0; i < N_GOLDENS; i++) {
        const char *from = shared_path(a, arena_printf(a, "data/goldens/models/%s", golden[i]));
        const char *to = path_join(a, test_folder(), golden[i]),
                   *batch = path_join(a, from, "batch.safetensors");
        assert_no_error(make_directories(to));
        assert_int_equal(0, symlink(path_absolute(a, path_join(a, from, "config_v4.json")),
                                    path_join(a, to, "config.json")));
        assert_int_equal(0, symlink(path_absolute(a, path_join(a, from, "model.safetensors")),
                                    path_join(a, to, "model.safetensors")));
        const Str x = run_of(a, from, batch, "v5"), y = run_of(a, to, batch, "v4");
        assert_true(x.len == y.len && !memcmp(x.ptr, y.ptr, x.len));
    }
    arena_free(a);
}

/* transformers goes on beyond it where positions turn; `model run` is compared with it. */
TEST(a_model_is_run_beyond_its_max_position_embeddings)
{
    Arena *a = arena_new();
    Str config;
    const char *from = shared_path(a, "data/goldens/models/hf_llama_gqa"),
               *to = path_join(a, test_folder(), "short"),
               *batch = path_join(a, from, "batch.safetensors");
    assert_no_error(file_read(a, path_join(a, from, "config.json"), &config));
    char *text = arena_string(a, config.ptr), *at = strstr(text, "max_position_embeddings\": ");
    assert_non_null(at);
    for (at += strlen("max_position_embeddings\": "); *at != ','; at++)
        *at = at[1] == ',' ? '3' : ' ';
    assert_no_error(make_directories(to));
    assert_no_error(file_write_unsynced(path_join(a, to, "config.json"), text, strlen(text)));
    assert_int_equal(0, symlink(path_absolute(a, path_join(a, from, "model.safetensors")),
                                path_join(a, to, "model.safetensors")));
    const Str x = run_of(a, from, batch, "long"), y = run_of(a, to, batch, "short.out");
    assert_true(x.len == y.len && !memcmp(x.ptr, y.ptr, x.len));
    arena_free(a);
}
