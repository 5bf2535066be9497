/* test_multi_token.c - a training that predicts later tokens, too: its results, how it goes on, and
 * what its checkpoints are for. */
#include "base/file.h"
#include "checkpoint/safetensors.h"
#include "end_to_end/training.h"
#include <string.h>

#define SET "--set"
#define DECODER                                                                                    \
    "{component_key: model, variant_key: decoder, config: {sample_key: input_ids, "                \
    "prediction_key: logits, vocab_size: 64, sequence_length: 64, n_layer: 2, n_embd: 32, "        \
    "n_head_q: 4, n_head_kv: 4, ffn_hidden: 24, norm: {eps: 1e-6}, rope: {base: 10000.0}, "        \
    "latent: {key_rank: 8, rope_width: 4, value_width: 8}, multi_token: {depth: 2, weight: 0.5}}}"
#define BLOCKS SET, "wrapped_model.config.block_names=[DecoderBlock]"
#define MODEL SET, "model_raw=" DECODER, BLOCKS

TEST(a_training_of_later_tokens_tells_their_losses_and_goes_on)
{
    Bench b = bench_new();
    const Outcome o = bench_run(&b, "whole", NULL, (const char *[]){ MODEL, NULL }, NULL);
    assert_ended_well(o);
    assert_contains(o.text, " | train loss of token +2: ");
    assert_contains(o.text, " | train loss of token +3: ");
    assert_null(strstr(o.text, "token +4"));
    assert_ended_well(
        bench_run(&b, "half", NULL,
                  (const char *[]){ MODEL, SET, "settings.training_target.num_target_steps=4", SET,
                                    "lr_scheduler.config.total_steps=8", NULL },
                  NULL));
    assert_goes_on_as(&b, "half", "whole");
    assert_ended_well(
        bench_run(&b, "two", NULL, (const char *[]){ "--ranks", "2", MODEL, NULL }, NULL));
    assert_results_near(&b, "two", "whole", "train loss of token +2", 0.5);
    arena_free(b.arena);
}

/* A training of the model, and what its export says; *config receives its config.json. */
static Outcome exported(const Bench *b, const char *model, const char **config)
{
    int64_t steps;
    const char *yaml = path_join(b->arena, b->root, "model.yaml"),
               *out = path_join(b->arena, b->root, "hf"),
               *text = arena_printf(b->arena, "model_raw: %s\n", model);
    const char *set = arena_printf(b->arena, "model_raw=%s", model);
    assert_ended_well(bench_run(b, "run", NULL, (const char *[]){ SET, set, BLOCKS, NULL }, NULL));
    assert_no_error(file_write_unsynced(yaml, text, strlen(text)));
    const char *words[] = { "convert_pytorch_to_hf_checkpoint",
                            "--config_file_path",
                            yaml,
                            "--checkpoint_path",
                            bench_last_checkpoint(b, "run", &steps),
                            "--output_hf_checkpoint_dir",
                            out,
                            NULL };
    const Outcome o = command_output(b->arena, words, NULL);
    assert_ended_well(o);
    Str json;
    assert_no_error(file_read(b->arena, path_join(b->arena, out, "config.json"), &json));
    *config = arena_string_n(b->arena, json.ptr, json.len);
    return o;
}

/* Whoever reads them has no blocks for later tokens. */
TEST(a_checkpoint_with_blocks_of_later_tokens_is_exported_without_them)
{
    Bench b = bench_new();
    const char *config;
    const Outcome o = exported(&b, DECODER, &config);
    assert_contains(
        o.text, "the blocks of multi_token stay behind: the class predicts the next token alone");
    assert_contains(config, "\"YoutuForCausalLM\"");
    arena_free(b.arena);
}

/* `model run` of a component that brings its weights gives logits of later tokens, too. */
static void give_logits(const Bench *b, const char *model)
{
    int32_t ids[6] = { 3, 1, 4, 1, 5, 9 };
    const char *yaml = path_join(b->arena, b->root, "run.yaml"),
               *batch = path_join(b->arena, b->root, "batch.safetensors"),
               *out = path_join(b->arena, b->root, "out.safetensors"),
               *text = arena_printf(b->arena, "model_raw: %s\n", model);
    const NamedTensor input = { "input_ids",
                                { .dtype = I32, .n_dims = 2, .size = { 1, 6 }, .data = ids } };
    Safetensors *made;
    assert_no_error(file_write_unsynced(yaml, text, strlen(text)));
    assert_no_error(safetensors_write(batch, &input, 1));
    assert_ended_well(
        command_output(b->arena,
                       (const char *[]){ "model", "run", "--config_file_path", yaml, "--batch_path",
                                         batch, "--output_path", out, NULL },
                       NULL));
    assert_no_error(safetensors_open(b->arena, out, &made));
    const Tensor *next = safetensors_find(made, "logits"),
                 *later = safetensors_find(made, "logits_ahead.0");
    assert_true(next && later && tensor_count(next) == tensor_count(later));
    assert_null(safetensors_find(made, "logits_ahead.1"));
}

/* A folder's model, with the weight of the losses of its blocks for later tokens. */
static const char *model_of(const Bench *b, const char *folder, const char *weight)
{
    return arena_printf(
        b->arena,
        "{component_key: model, variant_key: huggingface_pretrained_model, config: {model_type: "
        "AutoModelForCausalLM, model_name: %s, prediction_key: logits, "
        "huggingface_prediction_subscription_key: logits, sample_key: input_ids, "
        "multi_token_weight: %s}}",
        path_join(b->arena, b->root, folder), weight);
}

/* What an export of such a model into the folder `to` says. */
static Outcome written(const Bench *b, const char *model, const char *to)
{
    const char *yaml = path_join(b->arena, b->root, "hf.yaml"),
               *text = arena_printf(b->arena, "model: %s\n", model);
    assert_no_error(file_write_unsynced(yaml, text, strlen(text)));
    const Outcome o = command_output(
        b->arena, (const char *[]){ "convert_gpt2", yaml, path_join(b->arena, b->root, to), NULL },
        NULL);
    assert_ended_well(o);
    return o;
}

/* Of the folder's weights: there is no initializer. */
static Outcome trained(const Bench *b, const char *model, const char *run)
{
    const Outcome o = bench_run(
        b, run, NULL,
        (const char *[]){ SET, arena_printf(b->arena, "model_raw=%s", model), SET,
                          "initialized_model={component_key: model, variant_key: compiled, config: "
                          "{model: {instance_key: wrapped_model, pass_type: BY_REFERENCE}, "
                          "block_names: [DeepseekV3DecoderLayer]}}",
                          SET, "wrapped_model.config.block_names=[DeepseekV3DecoderLayer]", NULL },
        NULL);
    assert_ended_well(o);
    return o;
}

/* What is exported goes on as a folder: three steps, and out again. */
TEST(blocks_of_later_tokens_go_out_to_a_class_that_has_them_and_come_back)
{
    Bench b = bench_new();
    const char *config;
    const Outcome o = exported(
        &b,
        "{component_key: model, variant_key: decoder, config: {sample_key: input_ids, "
        "prediction_key: logits, vocab_size: 64, sequence_length: 64, n_layer: 2, n_embd: 32, "
        "n_head_q: 4, n_head_kv: 4, ffn_hidden: 24, norm: {eps: 1e-6}, rope: {base: 10000.0}, "
        "latent: {key_rank: 8, rope_width: 4, value_width: 8}, layers: [{sparse: true}], mixture: "
        "{n_experts: 4, top_k: 2, hidden: 8, shared_hidden: 8, score: sigmoid, balance_rate: "
        "0.001}, multi_token: {behind_norm: true}}}",
        &config);
    assert_null(strstr(o.text, "stay behind"));
    assert_contains(config, "\"DeepseekV3ForCausalLM\"");
    assert_contains(config, "\"num_nextn_predict_layers\": 1");
    const char *folder = model_of(&b, "hf", "0.3");
    assert_null(strstr(written(&b, folder, "again").text, "stay behind"));
    Str first, second;
    static const char weights[] = "model.safetensors";
    assert_no_error(
        file_read(b.arena, path_join(b.arena, path_join(b.arena, b.root, "hf"), weights), &first));
    assert_no_error(file_read(
        b.arena, path_join(b.arena, path_join(b.arena, b.root, "again"), weights), &second));
    assert_true(first.len == second.len && !memcmp(first.ptr, second.ptr, first.len));
    give_logits(&b, folder);
    const Outcome more = trained(&b, folder, "more");
    assert_contains(more.text, " | train loss of token +2: ");
    assert_null(strstr(more.text, "are not trained"));
    const char *alone = model_of(&b, "hf", "0.0");
    assert_contains(written(&b, alone, "alone").text,
                    "/hf has blocks for later tokens (model.layers.2.*), which stay behind: "
                    "multi_token_weight is 0");
    assert_contains(trained(&b, alone, "less").text,
                    "/hf has blocks for later tokens (model.layers.2.*), which are not trained: "
                    "multi_token_weight is 0");
    arena_free(b.arena);
}
