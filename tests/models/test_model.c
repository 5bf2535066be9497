/* test_model.c - what models declare: inputs of any kind, and classes of blocks. */
#include "components.h"
#include "data/data.h"
#include "exec/program.h"
#include "exec/schedule.h"
#include "models/model.h"
#include "ops/attention.h"
#include "ops/dropout.h"
#include "test.h"
#include "train/evaluator.h"
#include <math.h>
#include <string.h>

static const ModelInput image = {
    .name = "image",
    .setting = "image_key",
    .dtype = F32,
    .n_dims = 4,
    .dim = { { .axis = "batch" }, { .size = 3 }, { .size = 8 }, { .size = 9 } }
};

TEST(model_inputs_have_the_sizes_of_the_microbatch_where_they_leave_them_open)
{
    Arena *a = arena_new();
    Graph *g = graph_new(a);
    const ForwardSettings f = { .batch = 5, .sequence = 7 };
    const ModelInput ids = model_token_ids("ids", "sample_key", 10);
    const Value *x = model_input(g, &image, &f), *y = model_input(g, &ids, &f);
    assert_true(x->dtype == F32 && x->n_dims == 4 && x->dim[0].size == 5 && x->dim[3].size == 9);
    assert_true(y->dtype == I32 && y->n_dims == 2 && y->dim[0].size == 5 && y->dim[1].size == 7);
    arena_free(a);
}

TEST(model_text_is_the_one_input_of_token_ids)
{
    ModelInput documents = model_token_ids("documents", "document_key", 0);
    documents.of_documents = true;
    const ModelInput ids = model_token_ids("ids", "sample_key", 10);
    const ModelInput plain[] = { ids, documents, { 0 } }, both[] = { ids, image, { 0 } },
                     images[] = { image, { 0 } };
    assert_ptr_equal(model_text(&(Model){ .inputs = plain }), &plain[0]);
    assert_null(model_text(&(Model){ .inputs = both }));
    assert_null(model_text(&(Model){ .inputs = images }));
}

static int64_t nothing(const Sampler *self)
{
    (void)self;
    return 0;
}

TEST(batch_without_what_the_model_reads_is_named)
{
    Arena *a = arena_new();
    const ModelInput both[] = { model_token_ids("ids", "sample_key", 10), image, { 0 } };
    Model model = { .inputs = both };
    AppState state = { .model = &model };
    Loss loss = loss_of_tokens("targets");
    const TrainingJob job = { .state = &state, .loss = &loss };
    Batch b = { .arena = a, .n_samples = 2 };
    const int64_t tokens[] = { 2, 6 }, pixels[] = { 2, 3, 8, 9 };
    int64_t n_samples, sequence;
    batch_item(&b, "ids", I32, 2, tokens);
    batch_item(&b, "targets", I32, 2, tokens);
    const Sampler sampler = { .count = nothing };
    const BatchSampler batches = { &sampler, 2 };
    Loader *l = loader_new(a, &(LoaderSettings){ .tag = "train", .batches = &batches });
    assert_error_has(
        batch_shape(&job, l, &b, &n_samples, &sequence),
        "hold ids, targets, but no numbers named image, which is the model's image_key");
    batch_item(&b, "image", F32, 4, pixels);
    assert_no_error(batch_shape(&job, l, &b, &n_samples, &sequence));
    assert_true(n_samples == 2 && sequence == 6);
    loss.target_key = "labels";
    assert_error_has(batch_shape(&job, l, &b, &n_samples, &sequence),
                     "no ids named labels, which is the loss's target_key");
    arena_free(a);
}

TEST(model_without_blocks_says_so_and_others_list_theirs)
{
    static const BlockClass blocks[] = { { "TextBlock", "text.h" },
                                         { "ImageBlock", "image.h" },
                                         { 0 } };
    const Model without = { .name = "bigram" }, with = { .name = "coca", .blocks = blocks };
    const StringList one = { (const char *[]){ "ImageBlock" }, 1 },
                     other = { (const char *[]){ "GPT2Block" }, 1 };
    assert_no_error(model_check_blocks(&with, "block_names", &one));
    assert_error_has(model_check_blocks(&with, "block_names", &other), "are TextBlock, ImageBlock");
    assert_error_has(model_check_blocks(&without, "block_names", &one),
                     "model.bigram has no blocks");
    assert_string_equal(model_block_stack(&with, "image.h")->name, "ImageBlock");
}

TEST(z_loss_is_the_mean_square_of_the_log_of_the_sum_beside_a_loss)
{
    static const char yaml[] =
        "loss_fn:\n  component_key: loss\n  variant_key: weighted_sum\n  config:\n"
        "    loss: {component_key: loss, variant_key: clm_cross_entropy_loss, config: {target_key: "
        "targets, prediction_key: logits}}\n"
        "    terms: [{component_key: loss, variant_key: z_loss, config: {}}]\n    weights: "
        "[0.25]\n";
    static const float logit[] = { 1, 2, 0.5f, -1, 0, 3 };
    static const int32_t target[] = { 1, 2 };
    Arena *a = arena_new();
    const char *path = path_join(a, test_folder(), "loss.yaml");
    void *made;
    assert_no_error(file_write_unsynced(path, yaml, strlen(yaml)));
    assert_no_error(component_from_file(a, path, (StringList){ 0 }, "loss_fn", "loss", &made));
    const Loss *l = made;
    Graph *g = graph_new(a);
    const Dim d[] = { { .size = 1 }, { .size = 2 }, { .size = 3 } };
    const ModelOutput out = { .logits = graph_input(g, "logits", F32, 3, d) };
    assert_no_error(l->apply(l, g, &out, &(ForwardSettings){ .batch = 1, .sequence = 2 }));
    Device *device = cpu_device_new(1);
    ParamStore *store = store_new(device);
    Program *p;
    const ProgramSettings settings = { .device = device, .store = store, .name = "loss" };
    assert_no_error(program_new(g, &settings, &p));
    assert_no_error(program_write(p, "logits", 0, logit));
    assert_no_error(program_write(p, "targets", 0, target));
    assert_no_error(program_run_phases(p, RUN_FORWARD, &(RunTime){ .loss_scale = 1 }));
    const double x = log(exp(1) + exp(2) + exp(0.5)), y = log(exp(-1) + 1 + exp(3));
    const double mean = (x - 2 + y - 3) / 2;
    assert_close(program_scalar(p, "loss", 0), mean + 0.25 * (x * x + y * y) / 2, 1e-6);
    assert_close(program_scalar(p, "loss_mean", 0), mean, 1e-6);
    program_free(p);
    store_free(store);
    device->free(device);
    arena_free(a);
}

/* The salt of a node that drops elements; -1: it is none. */
static int64_t salt_of(const Node *n)
{
    if (!strcmp(n->op->name, "dropout")) return ((const Dropout *)n->attrs)->salt;
    const Attention *x = !strcmp(n->op->name, "attention") ? n->attrs : NULL;
    return x && x->dropout > 0 ? x->salt : -1;
}

TEST(every_dropout_of_a_model_has_a_mask_of_its_own)
{
    static const char yaml[] =
        "coca: {component_key: model, variant_key: coca, config: {prediction_key: logits, "
        "vision_embd_prediction_key: vision, text_embd_prediction_key: text, "
        "vision_cls_prediction_key: vision_cls, text_cls_prediction_key: text_cls, "
        "vision_encoder_config: {sample_key: images, prediction_key: vision, img_size: 8, "
        "n_classes: null, n_layer: 2, n_head: 2, n_embd: 32, dropout: 0.1, patch_size: 4, "
        "patch_stride: 4, n_img_channels: 2, add_cls_token: false, bias: true, attention_config: "
        "{attention_engine_type: default_attention}}, text_decoder_config: {sample_key: input_ids, "
        "prediction_key: logits, block_size: 16, vocab_size: 64, n_layer_text: 2, "
        "n_layer_multimodal_text: 2, n_head: 2, n_embd: 32, ffn_hidden: 24, dropout: 0.1, bias: "
        "true, attention_config: {attention_engine_type: default_attention}, activation: gelu, "
        "epsilon: 1e-5}, n_pool_head: 2, n_vision_queries: 3, bias_attn_pool: false, "
        "epsilon_attn_pool: 1e-5}}\n"
        "decoder: {component_key: model, variant_key: decoder, config: {sample_key: input_ids, "
        "prediction_key: logits, vocab_size: 16, sequence_length: 16, n_embd: 8, n_layer: 3, "
        "n_head_q: 2, n_head_kv: 1, ffn_hidden: 12, gated: false, dropout: 0.1, attention_dropout: "
        "0.1, rope: {base: 10000.0}}}\n";
    static const char *const names[] = { "coca", "decoder" };
    static const int n_dropouts[] = { 20, 10 };
    Arena *a = arena_new();
    const char *path = path_join(a, test_folder(), "models.yaml");
    assert_no_error(file_write_unsynced(path, yaml, strlen(yaml)));
    for (int k = 0; k < 2; k++) {
        void *made;
        ModelOutput out = { 0 };
        Graph *g = graph_new(a);
        assert_no_error(component_from_file(a, path, (StringList){ 0 }, names[k], "model", &made));
        const Model *m = made;
        const ForwardSettings f = { .batch = 2, .sequence = 16, .training = true };
        assert_no_error(m->forward(m, g, &f, &out));
        int n = 0;
        for (int64_t i = 0; i < g->n_nodes; i++) {
            if (salt_of(g->node[i]) < 0) continue;
            n++;
            for (int64_t j = 0; j < i; j++)
                if (salt_of(g->node[j]) == salt_of(g->node[i]))
                    fail_msg("%s: %s and %s have the same mask", names[k], g->node[j]->module,
                             g->node[i]->module);
        }
        assert_int_equal(n, n_dropouts[k]);
    }
    arena_free(a);
}
