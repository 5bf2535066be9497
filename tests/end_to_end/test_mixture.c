/* test_mixture.c - a mixture of experts from YAML: trained on one rank and on ranks that share its
 * experts, resumed in another layout, exported. */
#include "base/file.h"
#include "end_to_end/training.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define SET "--set"
#define MODEL_ONLY                                                                                 \
    SET, "model_raw={component_key: model, variant_key: decoder, config: {sample_key: input_ids, " \
         "prediction_key: logits, vocab_size: 64, sequence_length: 64, n_layer: 2, n_embd: 32, "   \
         "n_head_q: 4, n_head_kv: 2, ffn_hidden: 24, rope: {base: 10000.0}, layers: [{sparse: "    \
         "true}], mixture: {n_experts: 4, top_k: 2, hidden: 24, aux_loss: 0.02}}}"
#define MODEL MODEL_ONLY, SET, "wrapped_model.config.block_names=[DecoderBlock]"
#define ACCUMULATION "settings.step_profile.gradient_accumulation_steps="
#define EXPERTS "device_mesh.config.expert_parallel_degree=2"

static double last_result(const Bench *b, const char *id, const char *name)
{
    Str text;
    const char *last = NULL, *key = arena_printf(b->arena, "\"%s\": ", name);
    const char *path = arena_printf(b->arena, "%s/%s/evaluation_results.jsonl", b->root, id);
    assert_no_error(file_read(b->arena, path, &text));
    for (const char *at = text.ptr; (at = strstr(at, key)); at++) last = at;
    assert_non_null(last);
    return atof(last + strlen(key));
}

/* One rank adds up in another order than two, and what that changes in the last digit may send a
 * token elsewhere. */
TEST(ranks_that_share_experts_learn_what_ranks_with_all_of_them_learn)
{
    Bench b = bench_new();
    assert_ended_well(
        bench_run(&b, "one", NULL, (const char *[]){ MODEL, SET, ACCUMULATION "4", NULL }, NULL));
    assert_ended_well(
        bench_run(&b, "all", NULL, (const char *[]){ "--ranks", "2", MODEL, NULL }, NULL));
    assert_ended_well(bench_run(
        &b, "shared", NULL, (const char *[]){ "--ranks", "2", MODEL, SET, EXPERTS, NULL }, NULL));
    assert_learnt_alike(&b, "shared", "all");
    assert_results_near(&b, "shared", "one", "train loss avg", 1e-3);
    assert_results_near(&b, "shared", "one", "CLMCrossEntropyLoss", 1e-3);
    assert_results_near(&b, "shared", "all", "expert load max", 1e-5);
    assert_results_near(&b, "shared", "all", "expert load/3", 1e-5);
    arena_free(b.arena);
}

/* Four ranks: two share the experts, and pairs of them every matrix; samples are dealt out by the
 * mesh. */
TEST(ranks_that_share_experts_and_matrices_learn_what_one_rank_learns)
{
    static const char sampler[] =
        "train_dataloader.config.batch_sampler.config.sampler={component_key: sampler, "
        "variant_key: resumable_distributed_multi_dim_sampler, config: {dataset: {instance_key: "
        "train_dataset, pass_type: BY_REFERENCE}, device_mesh: {instance_key: device_mesh, "
        "pass_type: BY_REFERENCE}, data_parallel_key: dp_shard, shuffle: true, seed: 7, drop_last: "
        "true, skip_num_global_samples: "
        "\"${settings.training_progress.num_seen_samples}\"}}";
    static const char parallel[] =
        "wrapped_model={component_key: model, variant_key: parallelized, config: {model: "
        "{instance_key: model_raw, pass_type: BY_REFERENCE}, device_mesh: {instance_key: "
        "device_mesh, pass_type: BY_REFERENCE}, param_dtype: FP_32, reduce_dtype: FP_32}}";
    Bench b = bench_new();
    assert_ended_well(
        bench_run(&b, "one", NULL,
                  (const char *[]){ MODEL, SET, sampler, SET, ACCUMULATION "4", NULL }, NULL));
    assert_ended_well(bench_run(
        &b, "many", NULL,
        (const char *[]){ "--ranks", "4", MODEL_ONLY, SET, sampler, SET, parallel, SET, EXPERTS,
                          SET, "device_mesh.config.tensor_parallel_degree=2", NULL },
        NULL));
    assert_results_near(&b, "many", "one", "train loss avg", 1e-3);
    assert_results_near(&b, "many", "one", "grad norm avg", 2e-2);
    assert_results_near(&b, "many", "one", "CLMCrossEntropyLoss", 1e-3);
    assert_results_near(&b, "many", "one", "consumed tokens", 0);
    arena_free(b.arena);
}

TEST(experts_that_ranks_cannot_divide_are_refused_before_training)
{
    Bench b = bench_new();
    const Outcome o = bench_run(&b, "odd", NULL,
                                (const char *[]){ "--ranks", "2", MODEL, SET, EXPERTS, SET,
                                                  "model_raw.config.mixture.n_experts=5", NULL },
                                NULL);
    assert_refused(o, 1,
                   "device_mesh.config.expert_parallel_degree: the model's 5 experts do not divide "
                   "among 2 ranks; allowed are divisors of 5");
    arena_free(b.arena);
}

/* Loads are multiples of a fair share, and what a capacity drops is told, of all ranks. */
TEST(results_tell_the_load_of_experts)
{
    Bench b = bench_new();
    Outcome o = bench_run(&b, "run", NULL,
                          (const char *[]){ "--ranks", "2", MODEL, SET,
                                            "model_raw.config.mixture.capacity=0.5", NULL },
                          NULL);
    assert_ended_well(o);
    assert_contains(o.text, " | expert load max: ");
    assert_null(strstr(o.text, "expert load/0"));
    double load[4], sum = 0;
    for (int i = 0; i < 4; i++) {
        load[i] = last_result(&b, "run", arena_printf(b.arena, "expert load/%d", i));
        sum += load[i];
        assert_true(load[i] >= last_result(&b, "run", "expert load min"));
        assert_true(load[i] <= last_result(&b, "run", "expert load max"));
    }
    assert_true(fabs(sum - 4) < 1e-5);
    const double dropped = last_result(&b, "run", "expert pairs dropped");
    assert_true(dropped >= 0.5 && dropped < 1); /* capacity 0.5: half of all pairs, at least */
    arena_free(b.arena);
}

/* Biases of the router are kept and go on, though no optimizer knows them. */
TEST(a_training_with_biases_of_routers_goes_on)
{
    static const char rate[] = "model_raw.config.mixture.balance_rate=0.01";
    Bench b = bench_new();
    assert_ended_well(
        bench_run(&b, "whole", NULL, (const char *[]){ MODEL, SET, rate, NULL }, NULL));
    assert_ended_well(bench_run(&b, "half", NULL,
                                (const char *[]){ MODEL, SET, rate, SET,
                                                  "settings.training_target.num_target_steps=4",
                                                  SET, "lr_scheduler.config.total_steps=8", NULL },
                                NULL));
    assert_goes_on_as(&b, "half", "whole");
    arena_free(b.arena);
}

/* The checkpoint of ranks that share experts holds all of them, under their names. */
TEST(a_training_of_experts_is_exported_and_imported_by_ranks_that_share_them)
{
    Bench b = bench_new();
    int64_t steps;
    assert_ended_well(bench_run(
        &b, "two", NULL,
        (const char *[]){ "--ranks", "4", MODEL, SET, EXPERTS, SET, ACCUMULATION "1", NULL },
        NULL));
    const char *from = bench_last_checkpoint(&b, "two", &steps);
    const char *out = path_join(b.arena, b.root, "hf");
    const char *config = path_join(b.arena, b.root, "model.yaml");
    static const char text[] =
        "model_raw: {component_key: model, variant_key: decoder, config: {sample_key: input_ids, "
        "prediction_key: logits, vocab_size: 64, sequence_length: 64, n_layer: 2, n_embd: 32, "
        "n_head_q: 4, n_head_kv: 2, ffn_hidden: 24, rope: {base: 10000.0}, layers: [{sparse: "
        "true}], mixture: {n_experts: 4, top_k: 2, hidden: 24, aux_loss: 0.02}}}\n";
    assert_no_error(file_write_unsynced(config, text, strlen(text)));
    const char *words[] = { "convert_pytorch_to_hf_checkpoint",
                            "--config_file_path",
                            config,
                            "--checkpoint_path",
                            from,
                            "--output_hf_checkpoint_dir",
                            out,
                            NULL };
    assert_ended_well(command_output(b.arena, words, NULL));
    Str json;
    assert_no_error(file_read(b.arena, path_join(b.arena, out, "config.json"), &json));
    assert_contains(arena_string_n(b.arena, json.ptr, json.len), "\"MixtralForCausalLM\"");
    const char *model =
        arena_printf(b.arena,
                     "model_raw={component_key: model, variant_key: huggingface_pretrained_model, "
                     "config: {model_type: AutoModelForCausalLM, model_name: %s, prediction_key: "
                     "logits, huggingface_prediction_subscription_key: logits, sample_key: "
                     "input_ids}}",
                     out);
    /* no initializer: the weights are the folder's */
    static const char plain[] =
        "initialized_model={component_key: model, variant_key: compiled, config: {model: "
        "{instance_key: wrapped_model, pass_type: BY_REFERENCE}, block_names: "
        "[MixtralDecoderLayer]}}";
#define IMPORTED                                                                                   \
    SET, model, SET, plain, SET, "wrapped_model.config.block_names=[MixtralDecoderLayer]"
    assert_ended_well(bench_run(&b, "imported", NULL,
                                (const char *[]){ IMPORTED, SET, ACCUMULATION "4", NULL }, NULL));
    assert_ended_well(bench_run(&b, "divided", NULL,
                                (const char *[]){ "--ranks", "2", IMPORTED, SET, EXPERTS, NULL },
                                NULL));
    assert_results_near(&b, "divided", "imported", "train loss avg", 1e-3);
    assert_true(last_result(&b, "divided", "train loss avg") <
                last_result(&b, "two", "train loss avg"));
    arena_free(b.arena);
}
