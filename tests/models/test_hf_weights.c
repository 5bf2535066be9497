/* test_hf_weights.c - parameters in the files of Hugging Face folders: names, layouts, formats,
 * errors. */
#include "checkpoint/hf_tensors.h"
#include "checkpoint/hf_weights.h"
#include "checkpoint/pickle.h"
#include "checkpoint/safetensors.h"
#include "checkpoint/zip.h"
#include "models/hf_folder.h"
#include "models/hf_model.h"
#include "test.h"
#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* The parameters of the folder's model, each element its own number. */
static NamedTensor *parameters(Arena *a, const Model *m, int64_t *n)
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

/* A model of a folder without weights, with parameters, and the tensors that a file has of them. */
typedef struct Unwritten {
    const char *folder;
    Model *model;
    NamedTensor *param, *file;
    int64_t n, n_file;
} Unwritten;

/* With blocks for later tokens where `ahead` is above 0. */
static Unwritten unwritten_ahead(Arena *a, const char *members, double ahead)
{
    Unwritten u = { .folder = hf_folder_with(a, members, "") };
    assert_no_error(hf_model_ahead_new(a, u.folder, "ids", "logits", ahead, &u.model));
    const HfModel *hf = u.model->hf;
    u.param = parameters(a, u.model, &u.n);
    assert_no_error(hf_tensors(a, hf->family, hf->decoder, u.param, u.n, &u.file, &u.n_file));
    return u;
}

static Unwritten unwritten(Arena *a, const char *members)
{
    return unwritten_ahead(a, members, 0);
}

/* Written and read again, every parameter is what it was: fused, transposed and split ones, too. */
static void returns(Arena *a, const Unwritten *u, Store how)
{
    CheckpointReader *r;
    store(a, u->folder, how, u->file, u->n_file);
    assert_no_error(open_weights(a, u->model, u->param, u->n, &r));
    for (int64_t i = 0; i < u->n; i++) {
        const Tensor *t = &u->param[i].tensor;
        const Box box = box_whole(t->n_dims, t->size);
        void *read = arena_alloc(a, tensor_bytes(t));
        assert_no_error(r->get(r, i, &box, read));
        if (memcmp(read, t->data, tensor_bytes(t))) fail_msg("%s is another", u->param[i].name);
    }
}

static void round_trip(Arena *a, const char *members, Store how)
{
    const Unwritten u = unwritten(a, members);
    returns(a, &u, how);
}

/* Members of config.json that are enough for every family, of small sizes. */
static const char *family_members(Arena *a, const HfFamily *f)
{
    static const char rest[] =
        ", \"vocab_size\": 16, \"hidden_size\": 16, \"intermediate_size\": 12, "
        "\"num_hidden_layers\": 2, \"num_attention_heads\": 2, \"num_key_value_heads\": 2, "
        "\"head_dim\": 8, \"num_experts\": 3, \"n_routed_experts\": "
        "3, "
        "\"n_shared_experts\": 1, \"num_experts_per_tok\": 2, \"first_k_dense_replace\": 1, "
        "\"shared_expert_intermediate_size\": 7, \"num_shared_experts\": "
        "1, \"num_dense_layers\": 1, \"kv_lora_rank\": 3, \"q_lora_rank\": 5, "
        "\"rotary_dim\": 4, \"moe_num_experts\": 3, \"moe_k\": 2, \"moe_num_shared_experts\": 1, "
        "\"qk_nope_head_dim\": 4, \"qk_rope_head_dim\": 6, \"v_head_dim\": 3, "
        "\"mamba_n_heads\": 4, \"mamba_n_groups\": 2, \"mamba_d_state\": 3, "
        "\"num_heads\": 4, \"n_groups\": 2, \"state_size\": 3, \"mamba_num_heads\": 4, "
        "\"mamba_head_dim\": 5, \"ssm_state_size\": 3, "
        "\"moe_shared_expert_intermediate_size\": 7, "
        "\"shared_intermediate_size\": 7, \"rope_scaling\": {}";
    return arena_printf(
        a, "\"model_type\": \"%s\"%s, \"norm_topk_prob\": %s, \"moe_intermediate_size\": %d",
        f->model_type, rest, f->keys.topk_method ? "false" : "true", f->shared_alike ? 12 : 5);
}

TEST(parameters_return_from_the_layouts_of_every_family)
{
    Arena *a = arena_new();
    for (const HfFamily *f = hf_families; f->model_type; f++)
        round_trip(a, family_members(a, f), ONE_FILE);
    arena_free(a);
}

/* The tensor of this name. */
static NamedTensor *named(NamedTensor *file, const char *name)
{
    while (strcmp(file->name, name) != 0) file++;
    return file;
}

/* Embedding and head are there again, as in the files of DeepSeek V3: the token's columns of
 * eh_proj come first. */
TEST(blocks_for_later_tokens_return_from_the_layouts_of_every_family_that_has_them)
{
    Arena *a = arena_new();
    int n = 0;
    for (const HfFamily *f = hf_families; f->model_type; f++) {
        if (!f->keys.num_nextn_predict_layers) continue;
        const Unwritten u = unwritten_ahead(
            a, arena_printf(a, "%s, \"num_nextn_predict_layers\": 2", family_members(a, f)), 0.3);
        returns(a, &u, ONE_FILE);
        assert_true(hf_weights_ahead(u.model->hf));
        const NamedTensor *both = named(u.file, "model.layers.3.eh_proj.weight"),
                          *token = named(u.param, "transformer.h.3.mtp.token.weight"),
                          *stream = named(u.param, "transformer.h.3.mtp.stream.weight");
        const float *x = both->tensor.data;
        assert_int_equal(both->tensor.size[1], 32);
        assert_true(x[32 + 3] == ((float *)token->tensor.data)[16 + 3] &&
                    x[32 + 16 + 3] == ((float *)stream->tensor.data)[16 + 3]);
        n++;
    }
    assert_int_equal(n, 3);
    arena_free(a);
}

TEST(blocks_for_later_tokens_must_be_there_and_share_the_embedding)
{
    static const char lite[] = "glm4_moe_lite";
    Arena *a = arena_new();
    CheckpointReader *r;
    Model *m = NULL;
    const char *members = family_members(a, hf_family_find(lite));
    assert_error_has(
        hf_model_ahead_new(a, hf_folder_with(a, members, ""), "ids", "logits", 0.3, &m),
        "config.json tells of 0 blocks for later tokens");
    const Unwritten u =
        unwritten_ahead(a, arena_printf(a, "%s, \"num_mtp_layers\": 1", members), 0.3);
    NamedTensor *copy = named(u.file, "model.layers.2.shared_head.head.weight");
    copy->tensor.data = arena_copy(a, copy->tensor.data, tensor_bytes(&copy->tensor));
    ((float *)copy->tensor.data)[0] = -1;
    store(a, u.folder, ONE_FILE, u.file, u.n_file);
    assert_error_has(open_weights(a, u.model, u.param, u.n, &r),
                     "model.layers.2.shared_head.head.weight is not the same as lm_head.weight, "
                     "which blocks for later tokens share");
    copy->name = "other";
    store(a, u.folder, ONE_FILE, u.file, u.n_file);
    assert_no_error(open_weights(a, u.model, u.param, u.n, &r));
    named(u.file, "model.layers.2.enorm.weight")->name = "another";
    store(a, u.folder, ONE_FILE, u.file, u.n_file);
    assert_error_has(open_weights(a, u.model, u.param, u.n, &r),
                     "has no tensor model.layers.2.enorm.weight");
    arena_free(a);
}

/* Which row of a file's tensor is row `row` of the parameter with so many rows; 0: as queries. */
static int64_t file_row_of(Arena *a, const char *members, const char *param, int64_t rows,
                           int64_t row)
{
    const Decoder *d = hf_decoder_with(a, members, "");
    HfModel m;
    HfSource s;
    assert_no_error(hf_config_read(a, hf_folder_with(a, members, ""), &m));
    const int64_t size[] = { rows ? rows : d->n_head_q * d->head_width, d->width };
    const bool is_bias = strstr(param, ".bias");
    assert_no_error(hf_source(a, m.family, d, param, is_bias ? 1 : 2, size, &s));
    const int64_t at = hf_source_row(&s, row), width = is_bias ? 1 : d->width;
    assert_true(at % width == 0);
    return at / width;
}

static int64_t file_row(Arena *a, const char *members, const char *param, int64_t row)
{
    return file_row_of(a, members, param, 0, row);
}

/* GPT-NeoX: head by head its query, key and value; of four features the first two turn together.
 * Cohere: pairs side by side. GLM: such pairs in the first half of a head. */
TEST(features_of_a_head_lie_where_the_family_has_them)
{
    static const char heads[] =
        "\"model_type\": \"%s\", \"vocab_size\": 16, \"hidden_size\": 8, \"intermediate_size\": "
        "12, \"num_hidden_layers\": 2, \"num_attention_heads\": 2, \"num_key_value_heads\": 2, "
        "\"head_dim\": %d, \"rotary_pct\": 0.5";
    static const int64_t neox[] = { 0, 2, 1, 3 }, cohere[] = { 0, 2, 4, 6, 1, 3, 5, 7 },
                         glm[] = { 0, 2, 4, 5, 1, 3, 6, 7 };
    Arena *a = arena_new();
    const char *json = arena_printf(a, heads, "gpt_neox", 4);
    for (int64_t j = 0; j < 4; j++) {
        const char *layer = "transformer.h.1.attn";
        assert_int_equal(file_row(a, json, arena_printf(a, "%s.q_attn.weight", layer), 4 + j),
                         12 + neox[j]);
        assert_int_equal(file_row(a, json, arena_printf(a, "%s.k_attn.bias", layer), 4 + j),
                         12 + 4 + neox[j]);
        assert_int_equal(file_row(a, json, arena_printf(a, "%s.v_attn.weight", layer), 4 + j),
                         12 + 8 + j);
    }
    for (int64_t j = 0; j < 8; j++) {
        const char *query = "transformer.h.0.attn.q_attn.weight",
                   *value = "transformer.h.0.attn.v_attn.weight";
        json = arena_printf(a, heads, "cohere", 8);
        assert_int_equal(file_row(a, json, query, 8 + j), 8 + cohere[j]);
        assert_int_equal(file_row(a, json, value, 8 + j), 8 + j);
        json = arena_printf(a, heads, "glm", 8);
        assert_int_equal(file_row(a, json, query, 8 + j), 8 + glm[j]);
    }
    arena_free(a);
}

/* Two queries, their key, their value, and the same again. */
TEST(queries_of_a_key_head_lie_in_front_of_it_where_falcon_has_them)
{
    static const char json[] =
        "\"model_type\": \"falcon\", \"vocab_size\": 16, \"hidden_size\": 16, "
        "\"num_hidden_layers\": "
        "1, \"num_attention_heads\": 4, \"num_kv_heads\": 2, \"new_decoder_architecture\": true";
    static const int64_t head[] = { 0, 1, 4, 5 };
    Arena *a = arena_new();
    for (int64_t i = 0; i < 16; i++)
        assert_int_equal(file_row(a, json, "transformer.h.0.attn.q_attn.weight", i),
                         4 * head[i / 4] + i % 4);
    for (int64_t i = 0; i < 8; i++) {
        const int64_t at = 16 * (i / 4) + i % 4;
        assert_int_equal(file_row_of(a, json, "transformer.h.0.attn.k_attn.weight", 8, i), at + 8);
        assert_int_equal(file_row_of(a, json, "transformer.h.0.attn.v_attn.bias", 8, i), at + 12);
    }
    arena_free(a);
}

/* Heads of four features that do not turn, which come first in files, and four that turn, in pairs
 * side by side; values of three. */
TEST(heads_of_latent_attention_lie_where_deepseek_has_them)
{
    static const char json[] =
        "\"model_type\": \"youtu\", \"vocab_size\": 16, \"hidden_size\": 8, "
        "\"intermediate_size\": 12, \"num_hidden_layers\": 1, \"num_attention_heads\": 2, "
        "\"kv_lora_rank\": 5, \"q_lora_rank\": null, \"qk_nope_head_dim\": 4, "
        "\"qk_rope_head_dim\": 4, \"v_head_dim\": 3, \"attention_bias\": true";
    static const int64_t query[] = { 4, 6, 0, 1, 5, 7, 2, 3 }, turning[] = { 0, 2, 1, 3 };
    static const char layer[] = "transformer.h.0.attn";
    Arena *a = arena_new();
    for (int64_t j = 0; j < 8; j++)
        assert_int_equal(file_row(a, json, arena_printf(a, "%s.q_attn.weight", layer), 8 + j),
                         8 + query[j]);
    for (int64_t j = 0; j < 4; j++) {
        assert_int_equal(file_row_of(a, json, arena_printf(a, "%s.k_rope.weight", layer), 4, j),
                         5 + turning[j]);
        assert_int_equal(file_row_of(a, json, arena_printf(a, "%s.k_rope.bias", layer), 4, j),
                         5 + turning[j]);
        assert_int_equal(file_row_of(a, json, arena_printf(a, "%s.kv_latent.weight", layer), 5, j),
                         j);
        assert_int_equal(file_row_of(a, json, arena_printf(a, "%s.k_attn.weight", layer), 8, 4 + j),
                         7 + j);
        assert_int_equal(file_row_of(a, json, arena_printf(a, "%s.v_attn.weight", layer), 6, 2 + j),
                         j ? 7 + 4 + j - 1 : 6);
    }
    arena_free(a);
}

#define PACKED                                                                                     \
    "\"model_type\": \"gpt_oss\", \"vocab_size\": 16, \"hidden_size\": 64, "                       \
    "\"intermediate_size\": "                                                                      \
    "32, \"num_hidden_layers\": 1, \"num_attention_heads\": 2, \"num_key_value_heads\": 1, "       \
    "\"head_dim\": 8, \"num_local_experts\": 2, \"num_experts_per_tok\": 1, \"rope_scaling\": "    \
    "{}, "                                                                                         \
    "\"quantization_config\": {\"quant_method\": \"mxfp4\"}"

/* Experts' weights become blocks of bytes that count up, and scales of the expert's number. */
static NamedTensor *pack(Arena *a, const NamedTensor *file, int64_t n, int64_t *n_out)
{
    NamedTensor *list = NEW_N(a, NamedTensor, 2 * n);
    *n_out = 0;
    for (int64_t i = 0; i < n; i++) {
        const Tensor *t = &file[i].tensor;
        if (t->n_dims != 3) {
            list[(*n_out)++] = file[i];
            continue;
        }
        Tensor blocks = { .dtype = U8,
                          .n_dims = 4,
                          .size = { t->size[0], t->size[2], t->size[1] / 32, 16 } },
               scales = { .dtype = U8,
                          .n_dims = 3,
                          .size = { t->size[0], t->size[2], t->size[1] / 32 } };
        uint8_t *b = blocks.data = arena_alloc(a, tensor_bytes(&blocks)),
                *s = scales.data = arena_alloc(a, tensor_bytes(&scales));
        for (int64_t k = 0; k < tensor_count(&blocks); k++) b[k] = (uint8_t)(k * 37);
        for (int64_t k = 0; k < tensor_count(&scales); k++)
            s[k] = (uint8_t)(125 + k / (tensor_count(&scales) / 2));
        list[(*n_out)++] = (NamedTensor){ arena_printf(a, "%s_blocks", file[i].name), blocks };
        list[(*n_out)++] = (NamedTensor){ arena_printf(a, "%s_scales", file[i].name), scales };
    }
    return list;
}

/* Gates lie in even rows of the file, what they multiply in odd ones. */
TEST(experts_of_four_bits_are_read_as_bf16)
{
    static const float number[] = { 0, 0.5f,  1,  1.5f,  2,  3,  4,  6,
                                    0, -0.5f, -1, -1.5f, -2, -3, -4, -6 };
    static const struct {
        const char *name;
        int64_t rows, width, step, first;
    } row[] = { { "W", 32, 64, 2, 0 }, { "V", 32, 64, 2, 1 }, { "W_2", 64, 32, 1, 0 } };
    Arena *a = arena_new();
    const Unwritten u = unwritten(a, PACKED);
    CheckpointReader *r;
    int64_t n_file;
    NamedTensor *file = pack(a, u.file, u.n_file, &n_file);
    store(a, u.folder, ONE_FILE, file, n_file);
    assert_no_error(open_weights(a, u.model, u.param, u.n, &r));
    for (int k = 0; k < 3; k++) {
        const int64_t i = checkpoint_find(
            r, arena_printf(a, "app.model.transformer.h.0.mlp.experts.%s.weight", row[k].name));
        const int64_t rows = row[k].rows, width = row[k].width, all = rows * row[k].step;
        const Box box = { .n_dims = 3, .start = { 1, 2, 5 }, .size = { 1, 3, 7 } };
        bf16 read[21];
        assert_true(r->entry[i].dtype == BF16);
        assert_no_error(r->get(r, i, &box, read));
        for (int64_t j = 0; j < 21; j++) {
            const int64_t in_file = all + (2 + j / 7) * row[k].step + row[k].first,
                          column = 5 + j % 7, byte = in_file * width / 2 + column / 2;
            const int bits = (uint8_t)(byte * 37) >> (column % 2 ? 4 : 0) & 15;
            assert_true(bf16_to_float(read[j]) == number[bits] * 0.5f);
        }
    }
    NamedTensor *scales = file;
    while (strcmp(scales->name, "model.layers.0.mlp.experts.down_proj_scales") != 0) scales++;
    scales->tensor.size[1] /= 2;
    store(a, u.folder, ONE_FILE, file, n_file);
    assert_error_has(open_weights(a, u.model, u.param, u.n, &r),
                     "down_proj_scales has the shape [2, 32, 1] and type u8, but config.json makes "
                     "it [2, 64, 1] of u8, for rows of 32 numbers in blocks of 32");
    scales->name = "other";
    store(a, u.folder, ONE_FILE, file, n_file);
    assert_error_has(open_weights(a, u.model, u.param, u.n, &r),
                     "has no tensor model.layers.0.mlp.experts.down_proj_scales");
    arena_free(a);
}

/* Numbers of eight bits with scales in the place of matrices: of blocks of so many rows and
 * columns. What they stand for goes into `plain`. */
static NamedTensor *pack8(Arena *a, const NamedTensor *file, int64_t n, const int64_t *block,
                          Dtype scale_type, NamedTensor *plain, int64_t *n_out)
{
    NamedTensor *list = NEW_N(a, NamedTensor, 2 * n);
    *n_out = 0;
    for (int64_t i = 0; i < n; i++) {
        const Tensor *t = &file[i].tensor;
        plain[i] = list[(*n_out)++] = file[i];
        if (t->n_dims < 2) continue;
        const int last = t->n_dims - 1;
        const int64_t columns = t->size[last], rows = t->size[last - 1],
                      across = (columns + block[1] - 1) / block[1],
                      down = (rows + block[0] - 1) / block[0];
        Tensor codes = *t, scales = *t, numbers = *t;
        codes.dtype = F8_E4M3, scales.dtype = scale_type;
        scales.size[last] = across, scales.size[last - 1] = down;
        codes.data = arena_alloc(a, tensor_bytes(&codes));
        scales.data = arena_alloc(a, tensor_bytes(&scales));
        numbers.data = arena_alloc(a, tensor_bytes(&numbers));
        for (int64_t k = 0; k < tensor_count(&scales); k++)
            dtype_set(scale_type, scales.data, k, 0.5 + (double)(k % 13) / 16);
        for (int64_t k = 0; k < tensor_count(&codes); k++) {
            const int64_t row = k / columns % rows, at = k / columns / rows * down * across +
                                                         row / block[0] * across +
                                                         k % columns / block[1];
            ((uint8_t *)codes.data)[k] = (uint8_t)((k + i) * 37 % 127);
            ((float *)numbers.data)[k] =
                (float)(dtype_get(F8_E4M3, codes.data, k) * dtype_get(scale_type, scales.data, at));
        }
        plain[i].tensor = numbers;
        list[*n_out - 1].tensor = codes;
        list[(*n_out)++] = (NamedTensor){ arena_printf(a, "%s_scale_inv", file[i].name), scales };
    }
    return list;
}

/* The whole of an entry, and what is left of it without the first row and column of each part. */
static void same_numbers(Arena *a, CheckpointReader *r, CheckpointReader *plain, int64_t i)
{
    const CheckpointEntry *e = &r->entry[i];
    Box box = box_whole(e->n_dims, e->size);
    for (int part = 0; part < 2; part++) {
        int64_t n = 1;
        for (int d = 0; d < e->n_dims; d++) {
            if (part && e->size[d] > 1) box.start[d] = 1, box.size[d] = e->size[d] - 1;
            n *= box.size[d];
        }
        float *x = NEW_N(a, float, n), *y = NEW_N(a, float, n);
        assert_no_error(r->get(r, i, &box, x));
        assert_no_error(plain->get(plain, i, &box, y));
        assert_true(e->dtype == F32 && plain->entry[i].dtype == F32);
        for (int64_t k = 0; k < n; k++)
            if (x[k] != y[k])
                fail_msg("number %d of %s is %g, not %g", (int)k, e->name, x[k], y[k]);
    }
}

/* Where tensors are transposed, fused, split by heads, or one for each expert, too. */
static void packed_as(Arena *a, const char *members, const char *config, const int64_t *block,
                      Dtype scale_type)
{
    const Unwritten u =
        unwritten(a, arena_printf(a, "%s, \"quantization_config\": {%s}", members, config));
    const char *other = path_join(a, test_folder(), "plain");
    NamedTensor *plain = NEW_N(a, NamedTensor, u.n_file);
    CheckpointReader *r, *p;
    Model m = *u.model;
    HfModel hf = *m.hf;
    int64_t n_file;
    NamedTensor *file = pack8(a, u.file, u.n_file, block, scale_type, plain, &n_file);
    store(a, u.folder, ONE_FILE, file, n_file);
    assert_no_error(make_directories(other));
    store(a, other, ONE_FILE, plain, u.n_file);
    assert_no_error(open_weights(a, u.model, u.param, u.n, &r));
    hf.folder = other;
    hf.packing.format = HF_UNPACKED;
    m.hf = &hf;
    assert_no_error(open_weights(a, &m, u.param, u.n, &p));
    for (int64_t i = 0; i < u.n; i++) same_numbers(a, r, p, i);
}

TEST(weights_of_eight_bits_are_read_with_their_scales_in_every_family)
{
    static const int64_t block[] = { 3, 5 };
    Arena *a = arena_new();
    for (const HfFamily *f = hf_families; f->model_type; f++)
        packed_as(a, family_members(a, f),
                  "\"quant_method\": \"fp8\", \"fmt\": \"e4m3\", \"weight_block_size\": [3, 5], "
                  "\"activation_scheme\": \"dynamic\", \"modules_to_not_convert\": null",
                  block, f->sparse ? BF16 : F32);
    arena_free(a);
}

TEST(scales_of_rows_and_of_whole_tensors_are_read)
{
    static const char compressed[] =
        "\"quant_method\": \"compressed-tensors\", \"format\": \"float-quantized\", "
        "\"config_groups\": {\"group_0\": {\"weights\": {\"num_bits\": 8, \"type\": \"float\", "
        "\"strategy\": \"%s\", \"symmetric\": true, \"block_structure\": %s}}}";
    static const int64_t block[] = { 4, 2 }, row[] = { 1, 1000 }, all[] = { 1000, 1000 };
    Arena *a = arena_new();
    packed_as(a, hf_llama, arena_printf(a, compressed, "block", "[4, 2]"), block, F32);
    packed_as(a, hf_llama, arena_printf(a, compressed, "channel", "null"), row, BF16);
    packed_as(a, hf_llama, arena_printf(a, compressed, "tensor", "null"), all, F32);
    packed_as(a, hf_llama, "\"quant_method\": \"fp8\", \"activation_scheme\": \"static\"", all,
              BF16);
    arena_free(a);
}

TEST(scales_of_eight_bits_must_be_there_and_fit)
{
    static const char name[] = "model.layers.1.mlp.down_proj.weight_scale_inv";
    static const int64_t block[] = { 3, 5 };
    Arena *a = arena_new();
    const Unwritten u =
        unwritten(a, arena_printf(a,
                                  "%s, \"quantization_config\": {\"quant_method\": \"fp8\", "
                                  "\"weight_block_size\": [3, 5]}",
                                  hf_llama));
    NamedTensor *plain = NEW_N(a, NamedTensor, u.n_file);
    CheckpointReader *r;
    int64_t n_file;
    NamedTensor *file = pack8(a, u.file, u.n_file, block, F32, plain, &n_file),
                *scales = named(file, name);
    const Tensor before = scales->tensor;
    scales->tensor.n_dims = 0; /* one number is no scale of nine blocks */
    store(a, u.folder, ONE_FILE, file, n_file);
    assert_error_has(
        open_weights(a, u.model, u.param, u.n, &r),
        "model.safetensors: the scales of model.layers.1.mlp.down_proj.weight have the "
        "shape [] and type f32; with blocks of 3 x 5 they must be [3, 3] of f32, bf16 "
        "or f16");
    scales->tensor = before;
    scales->tensor.dtype = I32;
    store(a, u.folder, ONE_FILE, file, n_file);
    assert_error_has(open_weights(a, u.model, u.param, u.n, &r),
                     "have the shape [3, 3] and type i32");
    scales->tensor = before;
    scales->name = "model.layers.1.mlp.down_proj.weight_scale";
    store(a, u.folder, ONE_FILE, file, n_file);
    assert_no_error(open_weights(a, u.model, u.param, u.n, &r));
    scales->name = "other";
    store(a, u.folder, ONE_FILE, file, n_file);
    assert_error_has(open_weights(a, u.model, u.param, u.n, &r),
                     "model.layers.1.mlp.down_proj.weight is of eight bits, without scales: ");
    Tensor *codes = &named(file, "model.layers.1.mlp.down_proj.weight")->tensor;
    codes->dtype = F8_E5M2;
    store(a, u.folder, ONE_FILE, file, n_file);
    assert_error_has(open_weights(a, u.model, u.param, u.n, &r),
                     "model.layers.1.mlp.down_proj.weight is of type f8_e5m2; with scales only "
                     "f8_e4m3 is known");
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
    round_trip(a, hf_llama, TORCH_SHARDS);
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
    assert_no_error(hf_config_read(a, hf_folder_with(a, arena_printf(a, of_text, ""), ""), &m));
    assert_true(m.is_part && m.dtype == BF16 && m.decoder->vocab_size == 262208 &&
                m.decoder->n_head_q == 8 && m.decoder->n_head_kv == 4 && m.decoder->is_tied);
    const char *small = arena_printf(a, of_text, ", \"vocab_size\": 16");
    round_trip(a, small, PART_OF_4);
    round_trip(a, small, PART_OF_5);
    assert_false(hf_decoder_with(a, small, ", \"tie_word_embeddings\": false")->is_tied);
    hf_refuses(a, "\"model_type\": \"novel\", \"text_config\": {\"model_type\": \"other\"}", "",
               "model_type novel");
    hf_refuses(a, "\"model_type\": \"llama\", \"hidden_size\": 8, \"num_hidden_layers\": 1", "",
               "vocab_size is missing; it is needed");
    arena_free(a);
}

/* Four columns of two rows of a parameter with 8 columns, from the third row on. */
static void part_is_read(Arena *a, const char *members, const char *name)
{
    Model *m = NULL;
    CheckpointReader *r;
    int64_t n;
    round_trip(a, members, ONE_FILE);
    assert_no_error(hf_model_new(a, path_join(a, test_folder(), "model"), "ids", "logits", &m));
    NamedTensor *param = parameters(a, m, &n);
    assert_no_error(open_weights(a, m, param, n, &r));
    const int64_t i = checkpoint_find(r, arena_printf(a, "app.model.transformer.h.0.%s", name));
    const Box box = { .n_dims = 2, .start = { 2, 3 }, .size = { 2, 4 } };
    float read[8];
    assert_no_error(r->get(r, i, &box, read));
    const float *whole = param[i].tensor.data;
    for (int k = 0; k < 8; k++) assert_true(read[k] == whole[(2 + k / 4) * 8 + 3 + k % 4]);
}

TEST(part_of_a_fused_tensor_is_read_alone)
{
    Arena *a = arena_new();
    part_is_read(a,
                 "\"model_type\": \"gpt2\", \"vocab_size\": 16, \"n_embd\": 8, \"n_layer\": 1, "
                 "\"n_head\": 2",
                 "attn.v_attn.weight");
    part_is_read(a,
                 "\"model_type\": \"gpt_neox\", \"vocab_size\": 16, \"hidden_size\": 8, "
                 "\"intermediate_size\": 12, \"num_hidden_layers\": 1, \"num_attention_heads\": 2, "
                 "\"rotary_pct\": 0.5",
                 "attn.k_attn.weight");
    arena_free(a);
}

TEST(weights_that_do_not_fit_are_named_with_their_file)
{
    Arena *a = arena_new();
    Model *m = NULL;
    CheckpointReader *r;
    int64_t n;
    round_trip(a, hf_llama, ONE_FILE);
    const char *folder = path_join(a, test_folder(), "model"),
               *index = path_join(a, folder, "model.safetensors.index.json");
    hf_folder_with(a, hf_llama, ", \"num_key_value_heads\": 1");
    assert_no_error(hf_model_new(a, folder, "ids", "logits", &m));
    NamedTensor *param = parameters(a, m, &n);
    assert_error_has(open_weights(a, m, param, n, &r),
                     "model.safetensors: model.layers.0.self_attn.k_proj.weight has the shape "
                     "[8, 8], but config.json makes it [4, 8]");
    hf_folder_with(a, hf_llama, ", \"attention_bias\": true");
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
