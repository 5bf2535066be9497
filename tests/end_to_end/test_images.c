/* test_images.c - models of images are trained on arrays of a file, gone on with, and asked. */
#include "base/file.h"
#include "base/rng.h"
#include "checkpoint/safetensors.h"
#include "end_to_end/training.h"
#include <stdlib.h>
#include <string.h>

#define SET "--set"
#define ARRAYS(names)                                                                              \
    "train_dataset={component_key: dataset, variant_key: safetensors, config: {raw_data_path: "    \
    "\"${oc.env:ARRAYS}\", sample_keys: [" names "]}}"
#define VISION                                                                                     \
    "sample_key: images, prediction_key: logits, img_size: 8, n_layer: 1, n_head: 2, n_embd: 16, " \
    "patch_size: 4, patch_stride: 4, n_img_channels: 3, "
#define PLAIN "initialized_model.config.model_initializer.config.weight_init_type=plain"

enum { N_SAMPLES = 256, PIXELS = 3 * 8 * 8, TEXT = 17, CLASSES = 4 };

static NamedTensor new_array(Arena *a, const char *name, Dtype t, int n_dims, const int64_t *size)
{
    NamedTensor x = { name, { .dtype = t, .n_dims = n_dims } };
    memcpy(x.tensor.size, size, sizeof *size * (size_t)n_dims);
    x.tensor.data = arena_alloc(a, tensor_bytes(&x.tensor));
    return x;
}

/* Images of four kinds, which their texts and labels tell; names the file in ARRAYS. */
static void write_images(Arena *a)
{
    NamedTensor x[] = {
        new_array(a, "images", F16, 4, (int64_t[]){ N_SAMPLES, 3, 8, 8 }),
        new_array(a, "input_ids", I64, 2, (int64_t[]){ N_SAMPLES, TEXT }),
        new_array(a, "labels", U8, 1, (int64_t[]){ N_SAMPLES }),
    };
    const uint64_t key = rng_key(3, RNG_DATA, 0, 0);
    for (int64_t i = 0; i < N_SAMPLES; i++) {
        const int64_t kind = i * 7 % CLASSES;
        for (int64_t k = 0; k < PIXELS; k++)
            dtype_set(F16, x[0].tensor.data, i * PIXELS + k,
                      (k % CLASSES == kind) + 0.1 * rng_normal(key, (uint64_t)(i * PIXELS + k)));
        for (int64_t k = 0; k < TEXT; k++)
            dtype_set(I64, x[1].tensor.data, i * TEXT + k, (double)((kind * 13 + k * 5) % 64));
        dtype_set(U8, x[2].tensor.data, i, (double)kind);
    }
    const char *path = path_join(a, path_absolute(a, test_folder()), "arrays.safetensors");
    assert_no_error(safetensors_write(path, x, 3));
    assert_int_equal(setenv("ARRAYS", path, 1), 0);
}

static double loss_at(const Bench *b, const char *id, bool is_last)
{
    Str text;
    const char *key = "\"train loss avg\": ", *at = NULL;
    assert_no_error(file_read(
        b->arena, arena_printf(b->arena, "%s/%s/evaluation_results.jsonl", b->root, id), &text));
    for (const char *p = text.ptr; (p = strstr(p, key)) && (is_last || !at); p++) at = p;
    assert_non_null(at);
    return atof(at + strlen(key));
}

#define COCA                                                                                       \
    SET, ARRAYS("images, input_ids"), SET, "eval_dataloaders=[]", SET, PLAIN, SET,                 \
        "initialized_model.config.model_initializer.config.model_type=coca", SET,                  \
        "initialized_model.config.model_initializer.config.num_layers=null", SET,                  \
        "wrapped_model.config.block_names=[VisionTransformerBlock, TransformerBlock]", SET,        \
        "optimizer.config.weight_decay_groups_excluded=[]", SET,                                   \
        "collate_fn={component_key: collate_fn, variant_key: coca_collator, config: "              \
        "{sample_keys: [images, input_ids], target_keys: [], text_sample_key: input_ids, "         \
        "text_target_key: target_ids}}",                                                           \
        SET,                                                                                       \
        "model_raw={component_key: model, variant_key: coca, config: {prediction_key: logits, "    \
        "vision_embd_prediction_key: a, text_embd_prediction_key: b, vision_cls_prediction_key: "  \
        "vision_cls, text_cls_prediction_key: text_cls, vision_encoder_config: {" VISION           \
        "n_classes: null, add_cls_token: false}, text_decoder_config: {sample_key: input_ids, "    \
        "prediction_key: logits, block_size: 16, vocab_size: 64, n_layer_text: 1, "                \
        "n_layer_multimodal_text: 1, n_head: 2, n_embd: 16, ffn_hidden: 32, dropout: 0.0, bias: "  \
        "true, attention_config: {attention_engine_type: default_attention}, activation: gelu, "   \
        "epsilon: 1e-5}, n_pool_head: 2, n_vision_queries: 3, bias_attn_pool: false, "             \
        "epsilon_attn_pool: 1e-5}}",                                                               \
        SET,                                                                                       \
        "loss_fn={component_key: loss, variant_key: weighted_sum, config: {loss: "                 \
        "{component_key: loss, variant_key: clm_cross_entropy_loss, config: {target_key: "         \
        "target_ids, prediction_key: logits}}, terms: [{component_key: loss, variant_key: "        \
        "nce_loss, config: {prediction_key1: vision_cls, prediction_key2: text_cls, temperature: " \
        "0.07}}], weights: [0.5]}}"

TEST(captions_of_images_in_a_file_are_learnt_and_gone_on_with)
{
    Bench b = bench_new();
    write_images(b.arena);
    assert_ended_well(bench_run(&b, "whole", NULL, (const char *[]){ COCA, NULL }, NULL));
    assert_true(loss_at(&b, "whole", true) < loss_at(&b, "whole", false));
    assert_ended_well(
        bench_run(&b, "half", NULL,
                  (const char *[]){ COCA, SET, "settings.training_target.num_target_steps=4", SET,
                                    "lr_scheduler.config.total_steps=8", NULL },
                  NULL));
    assert_goes_on_as(&b, "half", "whole");
    arena_free(b.arena);
}

/* Without what contrasts the samples of a microbatch, which are others on ranks. */
TEST(ranks_learn_captions_of_images_as_one_rank_does)
{
    Bench b = bench_new();
    write_images(b.arena);
#define ALONE COCA, SET, "loss_fn.config.weights=[0.0]"
    assert_ended_well(bench_run(&b, "one", NULL, (const char *[]){ ALONE, NULL }, NULL));
    assert_ended_well(
        bench_run(&b, "two", NULL,
                  (const char *[]){ "--ranks", "2", ALONE, SET,
                                    "settings.step_profile.gradient_accumulation_steps=1", NULL },
                  NULL));
    assert_results_near(&b, "two", "one", "train loss avg", 1e-5);
    assert_results_near(&b, "two", "one", "grad norm avg", 1e-4);
    arena_free(b.arena);
}

#define CLASSIFIER                                                                                 \
    "{component_key: model, variant_key: vision_transformer, config: {" VISION "n_classes: 4}}"

/* `model run` with the weights of the last checkpoint on some of the images. */
static void assert_knows_classes(const Bench *b, const char *id)
{
    enum { N = 8 };
    Arena *a = b->arena;
    Safetensors *all, *out;
    static const char yaml[] = "model_raw: " CLASSIFIER "\n";
    const char *config = path_join(a, b->root, "model.yaml"),
               *batch = path_join(a, b->root, "batch.safetensors"),
               *to = path_join(a, b->root, "out.safetensors");
    assert_no_error(file_write(config, yaml, strlen(yaml)));
    assert_no_error(safetensors_open(a, getenv("ARRAYS"), &all));
    NamedTensor x = new_array(a, "images", F32, 4, (int64_t[]){ N, 3, 8, 8 });
    for (int64_t i = 0; i < N * PIXELS; i++)
        dtype_set(F32, x.tensor.data, i, dtype_get(F16, safetensors_find(all, "images")->data, i));
    assert_no_error(safetensors_write(batch, &x, 1));
    assert_ended_well(
        command_output(a,
                       (const char *[]){ "model", "run", "--config_file_path", config,
                                         "--weights_path", bench_last_checkpoint(b, id, NULL),
                                         "--batch_path", batch, "--output_path", to, NULL },
                       NULL));
    assert_no_error(safetensors_open(a, to, &out));
    const float *logit = safetensors_find(out, "logits")->data;
    const uint8_t *label = safetensors_find(all, "labels")->data;
    for (int i = 0; i < N; i++)
        for (int k = 0; k < CLASSES; k++)
            assert_true(logit[i * CLASSES + k] <= logit[i * CLASSES + label[i]]);
}

TEST(classes_of_images_in_a_file_are_learnt_and_asked_for)
{
    Bench b = bench_new();
    write_images(b.arena);
    static const char *const words[] = {
        SET, ARRAYS("images, labels"),
        SET, "eval_dataloaders=[]",
        SET, PLAIN,
        SET, "initialized_model.config.model_initializer.config.num_layers=null",
        SET, "wrapped_model.config.block_names=[VisionTransformerBlock]",
        SET, "optimizer.config.weight_decay_groups_excluded=[]",
        SET, "train_dataloader.config.collate_fn=null",
        SET, "settings.referencing_keys.target_key=labels",
        SET, "settings.step_profile.sequence_length=1",
        SET, "settings.consistency_enforcement.enforce_enough_tokens_in_dataset=false",
        SET, "model_raw=" CLASSIFIER,
        SET, "settings.training_target.num_target_steps=30",
        SET, "settings.step_profile.local_train_micro_batch_size=4",
        NULL
    };
    assert_ended_well(bench_run(&b, "x", NULL, words, NULL));
    assert_true(loss_at(&b, "x", true) < 0.7 * loss_at(&b, "x", false));
    assert_knows_classes(&b, "x");
    arena_free(b.arena);
}
