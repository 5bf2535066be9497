/* test_hf.c - Hugging Face folders: what is read of config.json, the local cache, and the goldens.
 */
#include "models/hf/model.h"
#include "models/hf/write.h"
#include "models/hf_folder.h"
#include "test.h"
#include "train/generate.h"
#include "train/model_run.h"
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

TEST(each_class_has_dropout_at_its_own_places)
{
    static const struct {
        const char *type, *more;
        double layers, embedding, attention;
    } row[] = {
        { "llama", "\"resid_pdrop\": 0.1, \"attention_dropout\": 0.3", 0, 0, 0.3 },
        { "gpt2", "\"resid_pdrop\": 0.2", 0.2, 0.1, 0.1 },
        { "phi3", "\"resid_pdrop\": 0.2, \"embd_pdrop\": 0.3", 0.2, 0, 0 },
        { "gpt_neox", "\"hidden_dropout\": 0.2, \"rotary_pct\": 0.5", 0.2, 0.2, 0 },
        { "starcoder2", "\"residual_dropout\": 0.2, \"embedding_dropout\": 0.3", 0.2, 0.3, 0 },
        { "seed_oss", "\"attention_dropout\": 0.2, \"head_dim\": 4", 0.1, 0, 0.2 },
        { "xglm", "\"attention_dropout\": 0.2", 0.1, 0.1, 0.2 },
        { "ctrl", "\"resid_pdrop\": 0.2, \"attention_dropout\": 0.3", 0.2, 0.1, 0 },
    };
    Arena *a = arena_new();
    for (size_t i = 0; i < sizeof row / sizeof *row; i++) {
        const char *members = arena_printf(
            a,
            "\"model_type\": \"%s\", \"vocab_size\": 16, \"hidden_size\": 8, "
            "\"intermediate_size\": 12, \"num_hidden_layers\": 2, \"num_attention_heads\": 2, ",
            row[i].type);
        const Decoder *d = hf_decoder_with(a, members, row[i].more);
        assert_close(d->dropout, row[i].layers, 0);
        assert_close(d->embedding_dropout, row[i].embedding, 0);
        assert_close(d->attention_dropout, row[i].attention, 0);
        const HfFamily *f;
        Text text = { 0 };
        HfModel again;
        Yaml *root;
        assert_no_error(hf_config_write(a, d, F32, hf_family_find(row[i].type), &f, &text));
        assert_string_equal(f->model_type, row[i].type);
        assert_no_error(yaml_parse(a, str_of(arena_string(a, text.ptr)), "config.json", &root));
        assert_no_error(hf_config_parse(a, root, "config.json", &again));
        assert_close(again.decoder->dropout, row[i].layers, 0);
        assert_close(again.decoder->embedding_dropout, row[i].embedding, 0);
        text_free(&text);
    }
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
        { "llama", ", \"hidden_act\": \"gelu_python_tanh\"", ACTIVATE_GELU_TANH },
        { "llama", ", \"hidden_act\": \"swish\"", ACTIVATE_SILU },
        { "llama", ", \"hidden_act\": \"quick_gelu\"", ACTIVATE_QUICK_GELU },
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
                         strchr(hf_llama, ','));
        assert_int_equal(hf_decoder_with(a, members, row[i].more)->activation, row[i].activation);
    }
    arena_free(a);
}

TEST(a_silent_config_json_means_the_mixture_of_the_class)
{
    static const struct {
        const char *type;
        int64_t top_k;
        bool normalize;
    } row[] = { { "mixtral", 2, true },     { "qwen3_moe", 8, false }, { "olmoe", 8, false },
                { "qwen3_next", 10, true }, { "gpt_oss", 4, true },    { "granitemoe", 2, true } };
    Arena *a = arena_new();
    for (size_t i = 0; i < sizeof row / sizeof *row; i++) {
        const Decoder *d = hf_decoder_with(
            a,
            arena_printf(a,
                         "\"model_type\": \"%s\", \"vocab_size\": 16, \"hidden_size\": 8, "
                         "\"intermediate_size\": 12, \"num_hidden_layers\": 2, "
                         "\"num_attention_heads\": 2, \"num_key_value_heads\": 2",
                         row[i].type),
            ", \"num_local_experts\": 16, \"shared_expert_intermediate_size\": 4, "
            "\"rope_scaling\": {\"type\": \"linear\", \"factor\": 2.0}");
        assert_int_equal(d->moe->top_k, row[i].top_k);
        assert_int_equal(d->moe->normalize, row[i].normalize);
    }
    arena_free(a);
}

/* Of a type with a mixture. */
static const char sizes[] =
    "\"model_type\": \"%s\", \"vocab_size\": 16, \"hidden_size\": 8, \"intermediate_size\": "
    "12, \"num_hidden_layers\": 2, \"num_attention_heads\": 2, \"num_key_value_heads\": 2, "
    "\"moe_intermediate_size\": 4, \"num_experts_per_tok\": 2";

TEST(a_silent_config_json_means_the_factor_groups_and_penalty_of_the_class)
{
    static const struct {
        const char *type;
        double factor;
        int64_t n_groups, top_groups;
    } row[] = {
        { "deepseek_v3", 2.5, 8, 4 }, { "axk1", 2.5, 8, 4 },    { "glm4_moe_lite", 1.8, 0, 0 },
        { "exaone_moe", 2.5, 0, 0 },  { "hy_v3", 2.826, 0, 0 }, { "glm4_moe", 1, 0, 0 },
    };
    Arena *a = arena_new();
    for (size_t i = 0; i < sizeof row / sizeof *row; i++) {
        const Decoder *d = hf_decoder_with(
            a, arena_printf(a, sizes, row[i].type),
            ", \"n_routed_experts\": 16, \"n_shared_experts\": 1, \"num_experts\": 16, "
            "\"num_shared_experts\": 1, \"kv_lora_rank\": 4, \"q_lora_rank\": 4, "
            "\"qk_nope_head_dim\": 4, \"qk_rope_head_dim\": 2, \"v_head_dim\": 4, "
            "\"head_dim\": 4, \"first_k_dense_replace\": 1, \"norm_topk_prob\": true");
        assert_true(d->moe->factor == row[i].factor);
        assert_int_equal(d->moe->n_groups, row[i].n_groups);
        assert_int_equal(d->moe->top_groups, row[i].top_groups);
    }
    assert_true(hf_decoder_with(a, arena_printf(a, sizes, "olmoe"), ", \"num_experts\": 4")
                    ->moe->aux_loss == 0.01);
    assert_true(hf_decoder_with(a, arena_printf(a, sizes, "mixtral"), ", \"num_experts\": 4")
                    ->moe->aux_loss == 0.001);
    arena_free(a);
}

TEST(config_json_says_how_much_uneven_load_costs)
{
    static const char dbrx[] =
        "\"model_type\": \"dbrx\", \"vocab_size\": 16, \"d_model\": 8, \"n_layers\": 2, "
        "\"n_heads\": 2, \"attn_config\": {\"clip_qkv\": 8}, \"ffn_config\": "
        "{\"ffn_hidden_size\": 6, \"moe_num_experts\": 4, \"moe_top_k\": 2%s}";
    Arena *a = arena_new();
    const char *mixtral = arena_printf(a, sizes, "mixtral");
    const struct {
        const char *json, *more;
        double aux_loss;
    } row[] = {
        { arena_printf(a, dbrx, ""), "", 0.01 },
        { arena_printf(a, dbrx, ", \"moe_loss_weight\": 0.05"), "", 0.05 },
        { mixtral, ", \"num_experts\": 4, \"router_aux_loss_coef\": 0.25", 0.25 },
        { mixtral, ", \"num_experts\": 4, \"router_aux_loss_coef\": 0", 0 },
    };
    for (size_t i = 0; i < sizeof row / sizeof *row; i++)
        assert_true(hf_decoder_with(a, row[i].json, row[i].more)->moe->aux_loss == row[i].aux_loss);
    arena_free(a);
}

TEST(config_json_gives_each_layer_its_window)
{
    Arena *a = arena_new();
    char members[400];
    snprintf(members, sizeof members, "%s", hf_llama);
    memcpy(strstr(members, "llama"), "qwen2", 5);
    const Decoder *d =
        hf_decoder_with(a, members, ", \"sliding_window\": 3, \"max_window_layers\": 1");
    assert_int_equal(d->layer[1].window, 0);
    d = hf_decoder_with(a, members,
                        ", \"use_sliding_window\": true, \"sliding_window\": 3, "
                        "\"max_window_layers\": 1");
    assert_true(d->layer[0].window == 0 && d->layer[1].window == 3);
    memcpy(strstr(members, "qwen2\""), "olmo2", 5);
    assert_true(hf_decoder_with(a, members, "")->attention_norm == NULL);
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
    double of_short[] = { 1, 1.25, 1.5, 2, 2, 2, 2, 3 },
           of_long[] = { 1.5, 2.5, 4, 5, 6, 7, 8, 9.75 };
    const RopeScaling longrope = { .base = 10000,
                                   .kind = ROPE_LONG,
                                   .original = 64,
                                   .short_factors = { of_short, 8 },
                                   .long_factors = { of_long, 8 } };
    const struct {
        const RopeScaling *s;
        int64_t n, j;
        float expected;
    } row[] = {
        { &longrope, 64, 1, 0.252982229f },     { &longrope, 64, 7, 0.000105409257f },
        { &longrope, 65, 1, 0.126491114f },     { &longrope, 200, 0, 0.666666687f },
        { &longrope, 200, 7, 3.24336179e-05f }, { &linear, 64, 1, 0.105409257f },
        { &linear, 64, 7, 0.000105409265f },    { &dynamic, 200, 1, 0.249528468f },
        { &dynamic, 200, 7, 6.02338623e-05f },  { &dynamic, 40, 1, 0.316227764f },
        { &llama3, 64, 0, 0.576056361f },       { &llama3, 64, 1, 0.0242403448f },
        { &llama3, 64, 7, 1.28917316e-06f },    { &yarn, 256, 0, 1 },
        { &yarn, 256, 1, 0.237170815f },        { &yarn, 256, 2, 0.049999997f },
        { &yarn, 256, 7, 7.90569466e-05f },     { &smooth, 256, 1, 0.14849025f },
        { &smooth, 256, 2, 0.0250000004f },
    };
    for (size_t i = 0; i < sizeof row / sizeof *row; i++) {
        float f = rope_scaled_frequency(row[i].s, row[i].n, row[i].j, 16);
        if (fabsf(f - row[i].expected) > 1e-7f * row[i].expected)
            fail_msg("row %zu: %.9g, not %.9g", i, (double)f, (double)row[i].expected);
    }
    assert_close(rope_long_attention(4, 64), 1.1547005383792517, 1e-15);
    assert_close(rope_long_attention(1, 64), 1, 0);
    assert_close(rope_yarn_attention(4, 1), 1.138629436111989, 1e-15);
    assert_close(rope_yarn_attention(40, 1) / rope_yarn_attention(40, 0.5), 1.1557219901962608,
                 1e-15);
}

TEST(rope_scaling_is_read_as_yarn_writes_it)
{
    Arena *a = arena_new();
    const Decoder *d =
        hf_decoder_with(a, hf_llama,
                        ", \"max_position_embeddings\": 256, \"rope_scaling\": {\"rope_type\": "
                        "\"yarn\", \"factor\": 4.0, \"original_max_position_embeddings\": 64}");
    const RopeScaling *s = d->layer[0].rope;
    assert_true(s->kind == ROPE_YARN && s->original == 64 && s->truncate && s->beta_fast == 32);
    assert_close(s->attention, 1.138629436111989, 1e-15);
    d = hf_decoder_with(a, hf_llama,
                        ", \"max_position_embeddings\": 64, \"rope_parameters\": {\"rope_type\": "
                        "\"dynamic\", \"factor\": 2.0, \"rope_theta\": 5000.0}");
    s = d->layer[0].rope;
    assert_true(s->kind == ROPE_DYNAMIC && s->original == 64 && s->base == 5000);
    assert_int_equal(d->sequence_length, 128);
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
