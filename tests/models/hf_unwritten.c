/* hf_unwritten.c - such models, and their files in the formats of safetensors and torch. */
#include "models/hf_unwritten.h"
#include "base/file.h"
#include "checkpoint/hf_tensors.h"
#include "checkpoint/hf_weights.h"
#include "checkpoint/pickle.h"
#include "checkpoint/zip.h"
#include "models/hf_folder.h"
#include "test.h"
#include <string.h>

NamedTensor *hf_numbered(Arena *a, const Model *m, int64_t *n)
{
    Graph *g = graph_new(a);
    ModelOutput out = { 0 };
    const ForwardSettings f = { .batch = 1, .sequence = 2, .ahead = true };
    assert_no_error(m->forward(m, g, &f, &out));
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

Error *hf_open(Arena *a, const Model *m, const NamedTensor *param, int64_t n,
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

void hf_write_index(Arena *a, const char *path, const char *map)
{
    const char *text = arena_printf(a, "{\"weight_map\": {%s}}", map);
    assert_no_error(file_write_unsynced(path, text, strlen(text)));
}

static void store_shards(Arena *a, const char *folder, const NamedTensor *file, int64_t n)
{
    const int64_t half = n / 2;
    Text map = { 0 };
    write_torch(a, path_join(a, folder, "0.bin"), file, half);
    write_torch(a, path_join(a, folder, "1.bin"), file + half, n - half);
    for (int64_t i = 0; i < n; i++)
        text_printf(&map, "%s\"%s\": \"%d.bin\"", i ? ", " : "", file[i].name, i >= half);
    hf_write_index(a, path_join(a, folder, "pytorch_model.bin.index.json"), map.ptr);
    text_free(&map);
}

void hf_store(Arena *a, const char *folder, HfStore how, NamedTensor *file, int64_t n)
{
    for (int64_t i = 0; i < n; i++) {
        const char *rest = strchr(file[i].name, '.') + 1;
        if (how == PART_OF_4) file[i].name = arena_printf(a, "language_model.%s", file[i].name);
        if (how == TEXT_PART) file[i].name = arena_printf(a, "model.text_model.%s", rest);
        if (how == WHOLE_TEXT) file[i].name = arena_printf(a, "text_model.%s", file[i].name);
        if (how == THINKER) file[i].name = arena_printf(a, "thinker.%s", file[i].name);
        if (how == THINKER_PART)
            file[i].name = arena_printf(a, "thinker.model.language_model.%s", rest);
        if (how == BASE_LAYERS && file[i].tensor.n_dims == 2 && strstr(file[i].name, ".layers."))
            file[i].name = arena_printf(a, "%.*s.base_layer.weight",
                                        (int)(strrchr(rest, '.') - file[i].name), file[i].name);
        if (how == PART_OF_5) file[i].name = arena_printf(a, "model.language_model.%s", rest);
    }
    if (how == TORCH_SHARDS)
        store_shards(a, folder, file, n);
    else if (how == TORCH_FILE)
        write_torch(a, path_join(a, folder, "pytorch_model.bin"), file, n);
    else
        assert_no_error(safetensors_write(path_join(a, folder, "model.safetensors"), file, n));
}

HfUnwritten hf_unwritten_ahead(Arena *a, const char *members, double ahead)
{
    HfUnwritten u = { .folder = hf_folder_with(a, members, "") };
    assert_no_error(hf_model_trained_new(a, u.folder, "ids", "logits",
                                         &(HfTraining){ .multi_token_weight = ahead }, &u.model));
    const HfModel *hf = u.model->hf;
    u.param = hf_numbered(a, u.model, &u.n);
    assert_no_error(hf_tensors(a, hf->of_files, hf->decoder, u.param, u.n, &u.file, &u.n_file));
    return u;
}

HfUnwritten hf_unwritten(Arena *a, const char *members)
{
    return hf_unwritten_ahead(a, members, 0);
}

const char *hf_members(Arena *a, const HfFamily *f)
{
    static const char rest[] =
        ", \"vocab_size\": 16, \"hidden_size\": 16, \"intermediate_size\": 12, "
        "\"num_hidden_layers\": 2, \"num_attention_heads\": 2, "
        "\"num_experts\": 3, \"n_routed_experts\": "
        "3, "
        "\"n_shared_experts\": 1, \"num_experts_per_tok\": 2, \"first_k_dense_replace\": 1, "
        "\"shared_expert_intermediate_size\": 7, \"num_shared_experts\": "
        "1, \"num_dense_layers\": 1, \"kv_lora_rank\": 3, \"q_lora_rank\": 5, "
        "\"rotary_dim\": 4, \"moe_num_experts\": 3, \"moe_k\": 2, \"moe_num_shared_experts\": 1, "
        "\"qk_nope_head_dim\": 4, \"qk_rope_head_dim\": 6, \"v_head_dim\": 3, "
        "\"mamba_n_heads\": 4, \"mamba_n_groups\": 2, \"mamba_d_state\": 3, "
        "\"mamba_d_ssm\": 20, \"num_heads\": 4, \"n_groups\": 2, \"state_size\": 3, "
        "\"mamba_num_heads\": 4, \"mamba_head_dim\": 5, \"ssm_state_size\": 3, "
        "\"moe_shared_expert_intermediate_size\": 7, "
        "\"shared_intermediate_size\": 7, \"num_kv_shared_layers\": 0, "
        "\"attn_config\": {\"clip_qkv\": 9.0, \"kv_n_heads\": 2}, \"enable_moe_block\": true, "
        "\"o_groups\": 2, \"o_lora_rank\": 3, \"compress_ratios\": [4, 128], \"hc_mult\": 2, "
        "\"num_hash_layers\": 1, \"top_k_experts\": 2, \"rope_scaling\": {}, \"n_group\": 1, "
        "\"topk_group\": 1, "
        "\"attention_types\": [[[\"global\", \"local\"], 1]]";
    const bool has_one = f->dialect == &hf_mimo_v2 || /* layers with a window have twice */
                         f->dialect == &hf_deepseek_v4;
    const int key_heads = has_one ? 1 : 2;
    const bool is_longcat = f->dialect == &hf_longcat_flash;
    return arena_printf(
        a,
        "\"model_type\": \"%s\"%s, \"norm_topk_prob\": %s, \"moe_intermediate_size\": %d, "
        "\"num_key_value_heads\": %d, \"head_dim\": %d, \"zero_expert_num\": 2, "
        "\"hidden_size_per_layer_input\": %d",
        f->model_type, rest, f->keys.topk_method || is_longcat ? "false" : "true",
        f->shared_alike ? 12 : 5, key_heads, is_longcat ? 6 : 8, f->dialect == &hf_gemma3n ? 5 : 0);
}

NamedTensor *hf_named(NamedTensor *file, const char *name)
{
    while (strcmp(file->name, name) != 0) file++;
    return file;
}
