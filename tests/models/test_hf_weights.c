/* test_hf_weights.c - parameters in the files of Hugging Face folders: names, layouts, formats,
 * errors. */
#include "base/file.h"
#include "checkpoint/hf_weights.h"
#include "models/hf/source.h"
#include "models/hf_folder.h"
#include "models/hf_unwritten.h"
#include "test.h"
#include <string.h>
#include <unistd.h>

/* Written and read again, every parameter is what it was: fused, transposed and split ones, too. */
static void returns(Arena *a, const HfUnwritten *u, HfStore how)
{
    CheckpointReader *r;
    hf_store(a, u->folder, how, u->file, u->n_file);
    assert_no_error(hf_open(a, u->model, u->param, u->n, &r));
    for (int64_t i = 0; i < u->n; i++) {
        const Tensor *t = &u->param[i].tensor;
        const Box box = box_whole(t->n_dims, t->size);
        void *read = arena_alloc(a, tensor_bytes(t));
        assert_no_error(r->get(r, i, &box, read));
        if (memcmp(read, t->data, tensor_bytes(t))) fail_msg("%s is another", u->param[i].name);
    }
}

static void round_trip(Arena *a, const char *members, HfStore how)
{
    const HfUnwritten u = hf_unwritten(a, members);
    returns(a, &u, how);
}

TEST(parameters_return_from_the_layouts_of_every_family)
{
    Arena *a = arena_new();
    for (const HfFamily *f = hf_families; f->model_type; f++)
        round_trip(a, hf_members(a, f), ONE_FILE);
    arena_free(a);
}

/* Embedding and head are there again, as in the files of DeepSeek V3: the token's columns of
 * eh_proj come first. */
TEST(blocks_for_later_tokens_return_from_the_layouts_of_every_family_that_has_them)
{
    Arena *a = arena_new();
    int n = 0;
    for (const HfFamily *f = hf_families; f->model_type; f++) {
        if (!f->keys.num_nextn_predict_layers) continue;
        const HfUnwritten u = hf_unwritten_ahead(
            a, arena_printf(a, "%s, \"num_nextn_predict_layers\": 2", hf_members(a, f)), 0.3);
        returns(a, &u, ONE_FILE);
        const char *tensors, *why;
        HfModel without = *u.model->hf;
        Decoder d = *without.decoder;
        assert_false(hf_weights_ahead(a, u.model->hf, &tensors, &why));
        d.multi_token = NULL;
        without.decoder = &d;
        assert_true(hf_weights_ahead(a, &without, &tensors, &why));
        assert_string_equal(tensors, "model.layers.2.*, model.layers.3.*");
        assert_string_equal(why, "multi_token_weight is 0");
        const NamedTensor *both = hf_named(u.file, "model.layers.3.eh_proj.weight"),
                          *token = hf_named(u.param, "transformer.h.3.mtp.token.weight"),
                          *stream = hf_named(u.param, "transformer.h.3.mtp.stream.weight");
        const float *x = both->tensor.data;
        assert_int_equal(both->tensor.size[1], 32);
        assert_true(x[32 + 3] == ((float *)token->tensor.data)[16 + 3] &&
                    x[32 + 16 + 3] == ((float *)stream->tensor.data)[16 + 3]);
        n++;
    }
    assert_int_equal(n, 7);
    arena_free(a);
}

/* The experts' tensors of the file in one for each layer and kind, as some files have them. */
static int64_t stack_experts(Arena *a, const HfUnwritten *u, NamedTensor *to)
{
    int64_t n = 0;
    for (int64_t i = 0; i < u->n_file; i++) {
        const char *name = u->file[i].name, *kind = strstr(name, ".experts.");
        if (!kind) to[n++] = u->file[i];
        if (!kind || strstr(kind, ".up_proj")) continue; /* it goes with the gate's */
        if (strncmp(kind, ".experts.0.", 11) != 0) continue;
        const bool gated = strstr(kind, "gate_proj");
        const int prefix = (int)(kind - name) + 8;
        const Tensor *one = &u->file[i].tensor;
        const size_t bytes = tensor_bytes(one);
        const int64_t parts = gated ? 2 : 1;
        Tensor all = *one;
        all.n_dims = 3;
        all.size[0] = 0, all.size[1] = parts * one->size[0], all.size[2] = one->size[1];
        all.data = arena_alloc(a, 64 * bytes);
        const char *each[] = { gated ? "gate_proj" : "down_proj", "up_proj" };
        for (;; all.size[0]++) {
            const char *first = arena_printf(a, "%.*s.%lld.%s.weight", prefix, name,
                                             (long long)all.size[0], each[0]);
            bool there = false;
            for (int64_t k = 0; k < u->n_file; k++) there |= !strcmp(u->file[k].name, first);
            if (!there) break;
            for (int64_t p = 0; p < parts; p++) {
                const char *part = arena_printf(a, "%.*s.%lld.%s.weight", prefix, name,
                                                (long long)all.size[0], each[p]);
                memcpy((char *)all.data + (size_t)(all.size[0] * parts + p) * bytes,
                       hf_named(u->file, part)->tensor.data, bytes);
            }
        }
        to[n++] = (NamedTensor){
            arena_printf(a, "%.*s.%s", prefix, name, gated ? "gate_up_proj" : "down_proj"), all
        };
    }
    return n;
}

/* Those of f32, each expert transposed. */
static void turn_experts(Arena *a, NamedTensor *file, int64_t n)
{
    for (int64_t i = 0; i < n; i++) {
        if (!strstr(file[i].name, ".experts.")) continue;
        Tensor *t = &file[i].tensor;
        const int64_t rows = t->size[1], width = t->size[2];
        const float *from = t->data;
        float *to = arena_alloc(a, tensor_bytes(t));
        for (int64_t k = 0; k < tensor_count(t); k++) {
            const int64_t expert = k / (rows * width), row = k / width % rows;
            to[(expert * width + k % width) * rows + row] = from[k];
        }
        t->data = to;
        t->size[1] = width, t->size[2] = rows;
    }
}

TEST(experts_return_from_one_tensor_of_a_layer)
{
    static const char *const types[] = { "qwen3_5_moe_text", "qwen3_moe", "glm4_moe",
                                         "longcat_flash" };
    Arena *a = arena_new();
    for (int i = 0; i < 4; i++) {
        HfUnwritten u = hf_unwritten(a, hf_members(a, hf_family_find(types[i])));
        NamedTensor *stacked = NEW_N(a, NamedTensor, u.n_file);
        const int64_t n = stack_experts(a, &u, stacked);
        const char *gates =
            arena_printf(a, "model.layers.%d.mlp.experts.gate_up_proj", i == 3 ? 0 : 1);
        assert_true(n < u.n_file && hf_named(stacked, gates));
        u.file = stacked;
        u.n_file = n;
        returns(a, &u, ONE_FILE);
        turn_experts(a, stacked, n);
        returns(a, &u, ONE_FILE);
        hf_named(stacked, gates)->tensor.size[1]--;
        CheckpointReader *r;
        hf_store(a, u.folder, ONE_FILE, u.file, u.n_file);
        assert_error_has(hf_open(a, u.model, u.param, u.n, &r),
                         arena_printf(a, "%s has the shape", gates));
    }
    arena_free(a);
}

/* transformers wants them; the authors' files are without. */
TEST(experts_without_weights_have_gates_of_zeros_in_files)
{
    Arena *a = arena_new();
    HfUnwritten u = hf_unwritten(a, hf_members(a, hf_family_find("longcat_flash")));
    int64_t n = 0, n_zeros = 0;
    for (int64_t i = 0; i < u.n_file; i++) {
        const Tensor *t = &u.file[i].tensor;
        const char *expert = strstr(u.file[i].name, ".experts.");
        const bool is_zero = expert && expert[9] >= '3'; /* of five three have weights */
        for (int64_t k = 0; is_zero && k < tensor_count(t); k++)
            assert_true(dtype_get(t->dtype, t->data, k) == 0);
        n_zeros += is_zero;
        if (!is_zero) u.file[n++] = u.file[i];
    }
    assert_int_equal(n_zeros, 4);
    u.n_file = n;
    returns(a, &u, ONE_FILE);
    arena_free(a);
}

/* In a folder of the family, with a tensor that its class does not read. */
static void names_ahead(Arena *a, const char *type, HfStore how, const char *tensor,
                        const char *pattern)
{
    const HfUnwritten u = hf_unwritten(a, hf_members(a, hf_family_find(type)));
    const char *tensors, *why;
    NamedTensor *more = NEW_N(a, NamedTensor, u.n_file + 1);
    memcpy(more, u.file, (size_t)u.n_file * sizeof *more);
    more[u.n_file] = (NamedTensor){ tensor, u.file[0].tensor };
    hf_store(a, u.folder, how, u.file, u.n_file);
    if (hf_weights_ahead(a, u.model->hf, &tensors, &why)) fail_msg("%s: %s", type, tensors);
    hf_store(a, u.folder, how, more, u.n_file + 1);
    assert_true(hf_weights_ahead(a, u.model->hf, &tensors, &why));
    assert_string_equal(tensors, pattern);
    assert_string_equal(why, "those of this class are not read");
}

TEST(blocks_for_later_tokens_that_a_class_does_not_read_are_named)
{
    Arena *a = arena_new();
    /* the folder is one; of its files the last ones are read first */
    names_ahead(a, "ernie4_5_moe", TORCH_FILE, "model.mtp_emb_norm.0.weight", "model.mtp_*");
    names_ahead(a, "qwen3_5_text", TORCH_SHARDS, "mtp.layers.0.mlp.up_proj.weight", "mtp.*");
    names_ahead(a, "qwen3_next", ONE_FILE, "mtp.pre_fc_norm_hidden.weight", "mtp.*");
    arena_free(a);
}

TEST(blocks_for_later_tokens_must_be_there_and_share_the_embedding)
{
    static const char lite[] = "glm4_moe_lite";
    Arena *a = arena_new();
    CheckpointReader *r;
    Model *m = NULL;
    const char *members = hf_members(a, hf_family_find(lite));
    assert_error_has(hf_model_trained_new(a, hf_folder_with(a, members, ""), "ids", "logits",
                                          &(HfTraining){ .multi_token_weight = 0.3 }, &m),
                     "config.json tells of 0 blocks for later tokens");
    const HfUnwritten u =
        hf_unwritten_ahead(a, arena_printf(a, "%s, \"num_mtp_layers\": 1", members), 0.3);
    NamedTensor *copy = hf_named(u.file, "model.layers.2.shared_head.head.weight");
    copy->tensor.data = arena_copy(a, copy->tensor.data, tensor_bytes(&copy->tensor));
    ((float *)copy->tensor.data)[0] = -1;
    hf_store(a, u.folder, ONE_FILE, u.file, u.n_file);
    assert_error_has(hf_open(a, u.model, u.param, u.n, &r),
                     "model.layers.2.shared_head.head.weight is not the same as lm_head.weight, "
                     "which blocks for later tokens share");
    copy->name = "other";
    hf_store(a, u.folder, ONE_FILE, u.file, u.n_file);
    assert_no_error(hf_open(a, u.model, u.param, u.n, &r));
    hf_named(u.file, "model.layers.2.enorm.weight")->name = "another";
    hf_store(a, u.folder, ONE_FILE, u.file, u.n_file);
    assert_error_has(hf_open(a, u.model, u.param, u.n, &r),
                     "has no tensor model.layers.2.enorm.weight");
    arena_free(a);
}

TEST(biases_for_the_choice_that_files_may_lack_are_zeros)
{
    static const char name[] = "model.layers.1.mlp.gate.e_score_correction_bias";
    static const char *const families[] = { "axk1", "deepseek_v3" };
    Arena *a = arena_new();
    for (int i = 0; i < 2; i++) {
        CheckpointReader *r = NULL;
        const HfUnwritten u = hf_unwritten(a, hf_members(a, hf_family_find(families[i])));
        hf_named(u.file, name)->name = "other";
        hf_store(a, u.folder, ONE_FILE, u.file, u.n_file);
        Error *e = hf_open(a, u.model, u.param, u.n, &r);
        if (i == 1) {
            assert_error_has(e, "has no tensor model.layers.1.mlp.gate.e_score_correction_bias");
            continue;
        }
        assert_no_error(e);
        int64_t k = 0;
        while (strcmp(u.param[k].name, "transformer.h.1.mlp.router.balance") != 0) k++;
        const Tensor *t = &u.param[k].tensor;
        const Box box = box_whole(t->n_dims, t->size);
        float *read = arena_alloc(a, tensor_bytes(t));
        read[0] = 1;
        assert_no_error(r->get(r, k, &box, read));
        for (int64_t j = 0; j < tensor_count(t); j++) assert_true(read[j] == 0);
    }
    arena_free(a);
}

/* transformers writes dense layers of Kimi Linear by the name that mixtures have. */
TEST(layers_without_experts_may_have_the_name_of_mixtures)
{
    static const char *const names[] = { "gate", "up", "down" };
    Arena *a = arena_new();
    CheckpointReader *r = NULL;
    const HfUnwritten u = hf_unwritten(a, hf_members(a, hf_family_find("kimi_linear")));
    for (int i = 0; i < 3; i++)
        hf_named(u.file, arena_printf(a, "model.layers.0.mlp.%s_proj.weight", names[i]))->name =
            arena_printf(a, "model.layers.0.block_sparse_moe.%s_proj.weight", names[i]);
    hf_store(a, u.folder, ONE_FILE, u.file, u.n_file);
    assert_no_error(hf_open(a, u.model, u.param, u.n, &r));
    hf_named(u.file, "model.layers.0.block_sparse_moe.up_proj.weight")->name = "other";
    hf_store(a, u.folder, ONE_FILE, u.file, u.n_file);
    assert_error_has(hf_open(a, u.model, u.param, u.n, &r),
                     "has no tensor model.layers.0.mlp.up_proj.weight");
    arena_free(a);
}

#define OLMO_HYBRID                                                                                \
    "\"model_type\": \"olmo_hybrid\", \"vocab_size\": 16, \"hidden_size\": 8, "                    \
    "\"intermediate_size\": 12, \"num_hidden_layers\": 2, \"num_attention_heads\": 2, "            \
    "\"linear_key_head_dim\": 3, \"linear_value_head_dim\": 5"
#define LINEAR_LAYER "model.layers.0."

/* A model of OLMo Hybrid, its convolutions in the order of their rows, and all of these together: 6
 * of queries, 6 of keys, 10 of values. */
static HfUnwritten with_convolutions(Arena *a, NamedTensor **conv, Tensor *all)
{
    const HfUnwritten u = hf_unwritten(a, OLMO_HYBRID);
    conv[0] = hf_named(u.file, LINEAR_LAYER "linear_attn.q_conv1d.weight");
    conv[1] = hf_named(u.file, LINEAR_LAYER "linear_attn.k_conv1d.weight");
    conv[2] = hf_named(u.file, LINEAR_LAYER "linear_attn.v_conv1d.weight");
    *all = conv[0]->tensor;
    all->size[0] = 22;
    char *to = all->data = arena_alloc(a, tensor_bytes(all));
    for (int k = 0; k < 3; k++) {
        const size_t bytes = tensor_bytes(&conv[k]->tensor);
        memcpy(to, conv[k]->tensor.data, bytes);
        to += bytes;
    }
    assert_true(to == (char *)all->data + tensor_bytes(all));
    return u;
}

/* As transformers writes them: eight rows, eight, and the last six. */
TEST(convolutions_return_from_tensors_that_are_cut_elsewhere)
{
    Arena *a = arena_new();
    CheckpointReader *r = NULL;
    NamedTensor *conv[3];
    Tensor all;
    const HfUnwritten u = with_convolutions(a, conv, &all);
    for (int k = 0; k < 3; k++) {
        Tensor *part = &conv[k]->tensor;
        *part = all;
        part->size[0] = k < 2 ? 8 : 6;
        part->data = (float *)all.data + 8 * k * all.size[2];
    }
    returns(a, &u, ONE_FILE);
    conv[2]->tensor.size[0] = 5;
    hf_store(a, u.folder, ONE_FILE, u.file, u.n_file);
    assert_error_has(hf_open(a, u.model, u.param, u.n, &r),
                     "q_conv1d.weight has the shape [8, 1, 4], but config.json makes it [6, 1, 4]");
    conv[2]->name = "other";
    hf_store(a, u.folder, ONE_FILE, u.file, u.n_file);
    assert_error_has(hf_open(a, u.model, u.param, u.n, &r), "q_conv1d.weight has the shape");
    arena_free(a);
}

TEST(convolutions_return_from_one_tensor_of_a_layer)
{
    Arena *a = arena_new();
    CheckpointReader *r = NULL;
    NamedTensor *conv[3];
    Tensor all;
    const HfUnwritten u = with_convolutions(a, conv, &all);
    *conv[0] = (NamedTensor){ LINEAR_LAYER "linear_attn.conv1d.weight", all };
    conv[1]->name = "other";
    conv[2]->name = "another";
    returns(a, &u, ONE_FILE);
    static const char missing[] = "has no tensor " LINEAR_LAYER "linear_attn.q_conv1d.weight";
    conv[0]->tensor.size[0] = 21;
    hf_store(a, u.folder, ONE_FILE, u.file, u.n_file);
    assert_error_has(hf_open(a, u.model, u.param, u.n, &r), missing);
    conv[0]->name = "nothing of a convolution";
    hf_store(a, u.folder, ONE_FILE, u.file, u.n_file);
    assert_error_has(hf_open(a, u.model, u.param, u.n, &r), missing);
    arena_free(a);
}

/* By those of the class, and, of layers with attention, by that which transformers writes. */
TEST(norms_of_olmo_hybrid_are_known_by_each_of_their_names)
{
    static const struct {
        const char *name, *other;
    } row[] = {
        { LINEAR_LAYER "attention_layer_norm.weight", LINEAR_LAYER "input_layernorm.weight" },
        { LINEAR_LAYER "feedforward_layer_norm.weight",
          LINEAR_LAYER "post_attention_layernorm.weight" },
        { "model.layers.1.post_attention_layernorm.weight",
          "model.layers.1.feedforward_layer_norm.weight" },
    };
    Arena *a = arena_new();
    const HfUnwritten u = hf_unwritten(a, OLMO_HYBRID);
    for (int i = 0; i < 3; i++) hf_named(u.file, row[i].name)->name = row[i].other;
    returns(a, &u, ONE_FILE);
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
    NamedTensor *param = hf_numbered(a, m, &n);
    assert_error_has(hf_open(a, m, param, n, &r), "pytorch_model.bin: transformer.wpe.weight: ");
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

/* Of text alone the coordinates of a position are the same, so that the class of text computes what
 * the larger one does; some files have the language model's options beside the others. */
TEST(types_of_other_names_are_of_the_families_of_text)
{
    static const char sizes[] =
        "\"vocab_size\": 16, \"tie_word_embeddings\": true, \"hidden_size\": 16, "
        "\"intermediate_size\": 12, "
        "\"num_hidden_layers\": 2, \"num_attention_heads\": 2, \"num_key_value_heads\": 1, "
        "\"head_dim\": 8, \"num_experts\": 3, \"num_experts_per_tok\": 2, "
        "\"moe_intermediate_size\": 5, \"n_routed_experts\": 3, \"n_shared_experts\": 1, "
        "\"first_k_dense_replace\": 1, \"norm_topk_prob\": true, \"use_bias\": true, "
        "\"rope_scaling\": {\"type\": \"mrope\", \"mrope_section\": [2, 1, 1]}";
    static const struct {
        const char *of_text, *family;
    } parts[] = { { "qwen2_vl_text", "qwen2" },
                  { "qwen2_5_vl_text", "qwen2" },
                  { "qwen3_vl_text", "qwen3" },
                  { "qwen3_vl_moe_text", "qwen3_moe" },
                  { "qwen2_5_omni_text", "qwen2" },
                  { "qwen3_omni_moe_text", "qwen3_moe" },
                  { "glm4v_text", "glm4" },
                  { "glm_ocr_text", "glm4" },
                  { "glm4v_moe_text", "glm4_moe" },
                  { "granite4_vision_text", "granite" },
                  { "granite_docling_text", "granite" },
                  { "hunyuan_vl_text", "hunyuan_v1_dense" },
                  { "emu3_text_model", "seed_oss" },
                  { "paddleocr_vl_text", "llama" } };
    Arena *a = arena_new();
    HfModel m;
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++) {
        const char *members = arena_printf(
            a,
            "\"model_type\": \"x\", \"architectures\": [\"XForConditionalGeneration\"], "
            "\"text_config\": {\"model_type\": \"%s\", %s}",
            parts[i].of_text, sizes);
        assert_no_error(hf_config_read(a, hf_folder_with(a, members, ""), &m));
        assert_true(m.is_part && !strcmp(m.family->model_type, parts[i].family) &&
                    m.decoder->layer[0].rope->kind == ROPE_PLAIN);
        round_trip(a, members, PART_OF_4);
        round_trip(a, members, PART_OF_5);
        round_trip(a, members, TEXT_PART);
        round_trip(a, members, WHOLE_TEXT);
    }
    const char *thinking =
        arena_printf(a,
                     "\"model_type\": \"qwen2_5_omni\", \"talker_config\": {}, \"thinker_config\": "
                     "{\"text_config\": {\"model_type\": \"qwen2_5_omni_text\", %s}}",
                     sizes);
    round_trip(a, thinking, THINKER);
    round_trip(a, thinking, THINKER_PART);
    const char *beside =
        arena_printf(a, "\"model_type\": \"qwen2_5_vl\", \"vision_config\": {}, %s", sizes);
    assert_no_error(hf_config_read(a, hf_folder_with(a, beside, ""), &m));
    assert_true(!m.is_part && !strcmp(m.family->model_type, "qwen2"));
    round_trip(a, beside, ONE_FILE);
    const char *kimi = hf_members(a, hf_family_find("deepseek_v3")),
               *type = strstr(kimi, "deepseek_v3");
    kimi = arena_printf(a, "%.*skimi_k2%s, \"architectures\": [\"DeepseekV3ForCausalLM\"]",
                        (int)(type - kimi), kimi, type + 11);
    assert_no_error(hf_config_read(a, hf_folder_with(a, kimi, ""), &m));
    assert_string_equal(m.family->model_type, "deepseek_v3");
    round_trip(a, kimi, ONE_FILE);
    arena_free(a);
}

TEST(what_a_part_is_silent_about_is_as_its_class_has_it)
{
    static const char text[] = "\"model_type\": \"x\", \"text_config\": {\"model_type\": \"%s\", "
                               "\"hidden_size\": 256, \"intermediate_size\": 12, "
                               "\"num_hidden_layers\": 2, \"moe_intermediate_size\": 5, "
                               "\"num_attention_heads\": 16, \"num_key_value_heads\": 4, "
                               "\"vocab_size\": 16}";
    static const struct {
        const char *type;
        double eps, theta;
        int64_t longest, head_width;
        bool qkv_bias, is_tied;
    } row[] = { { "qwen2_vl_text", 1e-5, 1e6, 32768, 16, true, false },
                { "qwen2_5_omni_text", 1e-6, 1e6, 32768, 16, true, false },
                { "qwen3_vl_text", 1e-6, 5e5, 128000, 128, false, false },
                { "qwen3_vl_moe_text", 1e-6, 5e5, 128000, 128, false, false },
                { "qwen3_omni_moe_text", 1e-6, 1e6, 32768, 16, false, false },
                { "glm4v_text", 1e-5, 1e4, 32768, 16, true, false },
                { "glm_ocr_text", 1e-5, 1e4, 131072, 16, false, false },
                { "granite4_vision_text", 1e-6, 1e4, 2048, 16, false, false },
                { "granite_docling_text", 1e-5, 1e4, 32768, 16, false, true },
                { "hunyuan_vl_text", 1e-5, 1e4, 2048, 16, false, true },
                { "paddleocr_vl_text", 1e-5, 5e5, 131072, 128, false, true },
                { "emu3_text_model", 1e-5, 1e6, 9216, 16, false, false },
                { "ernie4_5_vl_moe_text", 1e-5, 5e5, 131072, 16, false, true },
                { "molmo2_text", 1e-6, 1e4, 36864, 128, false, false },
                { "mllama_text_model", 1e-5, 5e5, 131072, 16, false, false } };
    Arena *a = arena_new();
    for (size_t i = 0; i < sizeof row / sizeof *row; i++) {
        HfModel m;
        const char *members = arena_printf(a, text, row[i].type);
        assert_no_error(hf_config_read(a, hf_folder_with(a, members, ""), &m));
        const Decoder *d = m.decoder;
        assert_close(d->usual_norm->eps, row[i].eps, 0);
        assert_close(d->layer[0].rope->base, row[i].theta, 0);
        assert_int_equal(d->sequence_length, row[i].longest);
        assert_int_equal(d->head_width, row[i].head_width);
        assert_int_equal(d->qkv_bias, row[i].qkv_bias);
        assert_int_equal(d->is_tied, row[i].is_tied);
        assert_true(!d->moe || d->moe->normalize);
        if (!strcmp(row[i].type, "granite_docling_text"))
            assert_true(d->embedding_scale == 12 && d->attention_scale == 0.015625 &&
                        d->residual_scale == 0.263 && d->logit_divisor == 4);
    }
    arena_free(a);
}

/* A table of embeddings with 8 rows more, of at least as many. */
static void with_rows_beyond(Arena *a, Tensor *t)
{
    char *wider = arena_alloc(a, 2 * tensor_bytes(t));
    memcpy(wider, t->data, tensor_bytes(t));
    t->data = wider;
    t->size[0] += 8;
}

/* As in Llama 3.2 Vision, whose layers 3, 8, 13 and so on see images alone, and whose embeddings
 * have 8 rows that no text has. */
TEST(layers_that_see_images_alone_are_left_out)
{
    static const char members[] =
        "\"model_type\": \"mllama\", \"text_config\": {\"model_type\": \"mllama_text_model\", "
        "\"vocab_size\": 16, \"tie_word_embeddings\": true, \"hidden_size\": 8, "
        "\"intermediate_size\": 12, "
        "\"num_hidden_layers\": 5, \"num_attention_heads\": 2, \"num_key_value_heads\": 1%s}";
    Arena *a = arena_new();
    HfModel m;
    assert_no_error(hf_config_read(a, hf_folder_with(a, arena_printf(a, members, ""), ""), &m));
    assert_int_equal(m.decoder->n_layer, 4);
    assert_int_equal(m.layer_of[3], 4);
    HfUnwritten u =
        hf_unwritten(a, arena_printf(a, members, ", \"cross_attention_layers\": [0, 2, 9]"));
    assert_int_equal(u.model->hf->decoder->n_layer, 3);
    for (int64_t i = 0; i < u.n_file; i++) {
        static const char *const number[] = { "1", "3", "4" };
        const char *name = u.file[i].name;
        Tensor *t = &u.file[i].tensor;
        if (str_starts(str_of(name), "model.layers."))
            u.file[i].name =
                arena_printf(a, "model.layers.%s%s", number[name[13] - '0'], name + 14);
        if (strcmp(name, "model.embed_tokens.weight") != 0) continue;
        with_rows_beyond(a, t);
    }
    returns(a, &u, PART_OF_5);
    hf_refuses(a, arena_printf(a, members, ", \"cross_attention_layers\": 3"), "",
               "cross_attention_layers: 3 is not known; it is a list of layers");
    hf_refuses(a, arena_printf(a, members, ", \"cross_attention_layers\": [-1]"), "",
               "each is the number of a layer");
    hf_refuses(a, arena_printf(a, members, ", \"cross_attention_layers\": [0, 1, 2, 3, 4]"), "",
               "it leaves no layer");
    arena_free(a);
}

/* As in Apertus 1.5, whose head gives text alone. */
TEST(token_ids_that_the_head_cannot_give_are_left_out)
{
    static const char members[] =
        "\"model_type\": \"apertus1p5_text\", \"vocab_size\": 24, \"hidden_size\": 8, "
        "\"intermediate_size\": 12, \"num_hidden_layers\": 2, \"num_attention_heads\": 2, "
        "\"rope_parameters\": {\"rope_type\": \"default\"}%s";
    Arena *a = arena_new();
    HfModel m;
    assert_no_error(hf_config_read(a, hf_folder_with(a, arena_printf(a, members, ""), ""), &m));
    assert_int_equal(m.decoder->vocab_size, 24);
    assert_int_equal(m.rows_beyond, 0);
    assert_close(m.decoder->layer[0].rope->base, 1.2e7, 0);
    HfUnwritten u = hf_unwritten(a, arena_printf(a, members, ", \"output_vocab_size\": 16"));
    assert_int_equal(u.model->hf->decoder->vocab_size, 16);
    assert_true(u.model->hf->is_part);
    with_rows_beyond(a, &hf_named(u.file, "model.embed_tokens.weight")->tensor);
    returns(a, &u, ONE_FILE);
    hf_refuses(a, arena_printf(a, members, ", \"output_vocab_size\": 25"), "",
               "output_vocab_size: 25 is not known; allowed are null and 1 to vocab_size");
    hf_refuses(
        a, arena_printf(a, members, ", \"output_vocab_size\": 16, \"tie_word_embeddings\": true"),
        "", "a tied head has all rows of the embeddings");
    arena_free(a);
}

/* As in ERNIE 4.5 VL: routers are transposed, biases for the choice have a row for images, too, and
 * the experts of images come behind. */
TEST(experts_of_images_stay_behind)
{
    static const char members[] =
        "\"model_type\": \"ernie4_5_vl_moe\", \"text_config\": {\"model_type\": "
        "\"ernie4_5_vl_moe_text\", \"vocab_size\": 16, \"hidden_size\": 8, "
        "\"intermediate_size\": 12, \"num_hidden_layers\": 4, \"num_attention_heads\": 2, "
        "\"num_key_value_heads\": 1, \"moe_num_experts\": 3, \"moe_k\": 2, "
        "\"moe_intermediate_size\": %s, \"mlp_layer_types\": %s}";
    static const char widths[] = "[6, 5]", apart[] = "[\"dense\", \"sparse\", \"dense\", "
                                                     "\"sparse\"]";
    Arena *a = arena_new();
    HfModel m;
    HfUnwritten u = hf_unwritten(a, arena_printf(a, members, widths, apart));
    const HfModel *hf = u.model->hf;
    assert_true(hf->is_part && !strcmp(hf->family->model_type, "ernie4_5_moe"));
    assert_int_equal(hf->decoder->moe->hidden, 6);
    for (int i = 0; i < 4; i++) assert_int_equal(hf->decoder->layer[i].is_sparse, i % 2);
    const Tensor *router = &hf_named(u.file, "model.layers.1.mlp.gate.weight")->tensor,
                 *biases =
                     &hf_named(u.file, "model.layers.1.mlp.moe_statics.e_score_correction_bias")
                          ->tensor;
    const float *ours = hf_named(u.param, "transformer.h.1.mlp.router.weight")->tensor.data,
                *theirs = router->data;
    assert_true(router->size[0] == 8 && router->size[1] == 3 && theirs[3 + 2] == ours[2 * 8 + 1]);
    assert_true(biases->n_dims == 2 && biases->size[0] == 2 && biases->size[1] == 3);
    returns(a, &u, ONE_FILE);
    const char *silent = arena_printf(a, members, "7", "null");
    assert_no_error(hf_config_read(a, hf_folder_with(a, silent, ""), &m));
    for (int i = 0; i < 4; i++) assert_int_equal(m.decoder->layer[i].is_sparse, i > 0);
    hf_refuses(a, arena_printf(a, members, "[6]", apart), "",
               "it has a number for text and one for images");
    hf_refuses(a, arena_printf(a, members, widths, "[\"sparse\", \"dense\", \"sparse\", 1]"), "",
               "mlp_layer_types: a list of 4 is not known; each layer is dense or sparse");
    hf_refuses(a, arena_printf(a, members, widths, "\"sparse\""), "", "it is a list");
    static const char *const wrong[] = {
        "[\"sparse\", \"sparse\", \"dense\", \"sparse\"]",
        "[\"sparse\", \"dense\", \"sparse\", \"dense\"]", /* (i + 1) % 2 is not 0 there */
        "[\"dense\", \"dense\", \"dense\", \"dense\"]"
    };
    for (int i = 0; i < 3; i++)
        hf_refuses(a, arena_printf(a, members, widths, wrong[i]), "",
                   "allowed are sparse layers of an interval, as ernie4_5_moe has them");
    arena_free(a);
}

/* As in Molmo 2, whose names are its own: a second table has token ids of images, and transformers
 * cuts both together into halves. */
TEST(tables_are_joined_where_files_cut_them)
{
    static const char members[] =
        "\"model_type\": \"molmo2\", \"text_config\": {\"model_type\": \"molmo2_text\", "
        "\"vocab_size\": 16, \"additional_vocab_size\": 4, \"hidden_size\": 8, "
        "\"intermediate_size\": 12, \"num_hidden_layers\": 2, \"num_attention_heads\": 2, "
        "\"num_key_value_heads\": 1, \"head_dim\": 4, \"layer_norm_eps\": 0.5%s}%s";
    Arena *a = arena_new();
    HfUnwritten u = hf_unwritten(a, arena_printf(a, members, "", ""));
    const HfModel *hf = u.model->hf;
    assert_true(hf->is_part && !strcmp(hf->family->model_type, "qwen3"));
    assert_close(hf->decoder->usual_norm->eps, 0.5, 0);
    const float *up = hf_named(u.param, "transformer.h.0.mlp.V.weight")->tensor.data,
                *both =
                    hf_named(u.file, "model.transformer.blocks.0.mlp.ff_proj.weight")->tensor.data;
    assert_true(both[9] == up[9]); /* what is gated lies in front of the gates */
    returns(a, &u, ONE_FILE);
    NamedTensor *cut = NEW_N(a, NamedTensor, u.n_file + 1), *rest = &cut[u.n_file];
    memcpy(cut, u.file, (size_t)u.n_file * sizeof *cut);
    Tensor *first = &hf_named(cut, "model.transformer.wte.embedding")->tensor;
    with_rows_beyond(a, first);
    *rest = (NamedTensor){ "model.transformer.wte.new_embedding", *first };
    rest->tensor.data = (float *)first->data + 10 * 8;
    first->size[0] = rest->tensor.size[0] = 10;
    u.file = cut;
    u.n_file++;
    returns(a, &u, ONE_FILE);
    CheckpointReader *r;
    rest->tensor.size[0] = 9;
    hf_store(a, u.folder, ONE_FILE, u.file, u.n_file);
    assert_error_has(hf_open(a, u.model, u.param, u.n, &r),
                     "wte.embedding has the shape [19, 8], but config.json makes it [16, 8]");
    static const struct {
        const char *of_text, *of_whole, *error;
    } wrong[] = {
        { ", \"qk_norm_type\": \"olmo\"", "",
          "qk_norm_type: \"olmo\" is not known; only qwen3 is: norms of each head" },
        { ", \"norm_after\": true", "", "norm_after: true is not known; only false is" },
        { ", \"qkv_bias\": true", "", "attention_bias: true is not known; only false is" },
        { "", ", \"tie_word_embeddings\": true", "only false is: the class does not tie them" },
        { ", \"rope_scaling_layers\": [0], \"rope_scaling\": {\"rope_type\": \"linear\", "
          "\"factor\": 2.0}",
          "", "rope_scaling_layers: a list of 1 is not known; only all layers are" },
        { ", \"additional_vocab_size\": -1", "",
          "additional_vocab_size: -1 is not known; allowed are whole numbers from 0 on" },
    };
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++)
        hf_refuses(a, arena_printf(a, members, wrong[i].of_text, wrong[i].of_whole), "",
                   wrong[i].error);
    const char *all = ", \"rope_scaling_layers\": [1, 0], \"rope_scaling\": {\"rope_type\": "
                      "\"linear\", \"factor\": 2.0}";
    HfModel m;
    assert_no_error(
        hf_config_read(a, hf_folder_with(a, arena_printf(a, members, all, ""), ""), &m));
    assert_int_equal(m.decoder->layer[1].rope->kind, ROPE_LINEAR);
    arena_free(a);
}

/* Phi 4 Multimodal: text goes by the layers that adapters for images and speech stand beside. */
TEST(layers_with_adapters_for_images_are_read_without_these)
{
    Arena *a = arena_new();
    round_trip(a,
               "\"model_type\": \"phi4mm\", \"vocab_size\": 16, \"hidden_size\": 8, "
               "\"intermediate_size\": 12, \"num_hidden_layers\": 2, \"num_attention_heads\": 2, "
               "\"num_key_value_heads\": 1",
               BASE_LAYERS);
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
    NamedTensor *param = hf_numbered(a, m, &n);
    assert_no_error(hf_open(a, m, param, n, &r));
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
    NamedTensor *param = hf_numbered(a, m, &n);
    assert_error_has(hf_open(a, m, param, n, &r),
                     "model.safetensors: model.layers.0.self_attn.k_proj.weight has the shape "
                     "[8, 8], but config.json makes it [4, 8]");
    hf_folder_with(a, hf_llama, ", \"attention_bias\": true");
    assert_no_error(hf_model_new(a, folder, "ids", "logits", &m));
    param = hf_numbered(a, m, &n);
    assert_error_has(hf_open(a, m, param, n, &r),
                     "model.safetensors has no tensor model.layers.0.self_attn.q_proj.bias");
    hf_write_index(a, index, "\"model.embed_tokens.weight\": \"model-00001-of-00002.safetensors\"");
    assert_error_has(hf_open(a, m, param, n, &r), "model.embed_tokens.weight lies in ");
    assert_error_has(hf_open(a, m, param, n, &r),
                     "model-00001-of-00002.safetensors, which is missing");
    hf_write_index(a, index, "\"model.embed_tokens.weight\": \"../x.safetensors\"");
    assert_error_has(hf_open(a, m, param, n, &r), "which is no file of the folder");
    hf_write_index(a, index, "\"model.embed_tokens.weight\": \"model.safetensors\"");
    assert_error_has(hf_open(a, m, param, n, &r),
                     "index.json has no tensor model.layers.0.input_layernorm.weight");
    unlink(path_join(a, folder, "model.safetensors"));
    unlink(index);
    assert_error_has(hf_open(a, m, param, n, &r), "holds no weights");
    arena_free(a);
}
