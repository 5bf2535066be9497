/* test_topologies.c - a training goes on from a checkpoint of any mesh of ranks on any other one,
 * and on the same one with the same bits. */
#include "base/file.h"
#include "end_to_end/training.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define SET "--set"
#define PART(name) "{instance_key: " name ", pass_type: BY_REFERENCE}"

enum { STEPS = 20, SAVED_AFTER = 4, TEN = 10, SAMPLES = 4, MOST_WORDS = 40 };

typedef struct Topology {
    const char *name;
    int ranks, data_ranks;
    const char *degree[3]; /* of the mesh, beside dp_shard */
    const char *more;      /* of the model on these ranks */
} Topology;

static const Topology one = { "one", 1, 1, { NULL }, "" },
                      one_again = { "one-ac", 1, 1, { NULL }, ", recompute_every: 1" },
                      shards = { "dp2", 2, 2, { NULL }, "" },
                      copies = { "dp2-ac", 2, 2, { NULL }, ", zero_stage: 1, recompute_every: 1" },
                      tensor = { "tp2", 2, 1, { "tensor_parallel_degree=2" }, "" },
                      context = { "cp2", 2, 1, { "context_parallel_degree=2" }, "" },
                      stages = { "pp2", 2, 1, { "pipeline_parallel_degree=2" }, "" },
                      stages_tensor = { "pp2-tp2",
                                        4,
                                        1,
                                        { "pipeline_parallel_degree=2",
                                          "tensor_parallel_degree=2" },
                                        ", pipeline_schedule: zbvzerobubble" },
                      all = { "dp2-cp2-tp2",
                              8,
                              2,
                              { "context_parallel_degree=2", "tensor_parallel_degree=2" },
                              ", recompute_every: 1" },
                      experts_whole = { "ep1", 2, 2, { NULL }, "" },
                      experts = { "ep2", 2, 2, { "expert_parallel_degree=2" }, "" },
                      experts_tensor = { "ep2-tp2",
                                         4,
                                         2,
                                         { "expert_parallel_degree=2", "tensor_parallel_degree=2" },
                                         "" };

static const char sampler[] =
    "train_dataloader.config.batch_sampler.config.sampler={component_key: sampler, variant_key: "
    "resumable_distributed_multi_dim_sampler, config: {dataset: " PART(
        "train_dataset") ", device_mesh: " PART("device_mesh") ", data_parallel_key: dp_shard, "
                                                               "shuffle: true, seed: 7, drop_last: "
                                                               "true, skip_num_global_samples: "
                                                               "\"${settings.training_progress.num_"
                                                               "seen_samples}\"}}";

/* Without dropout, whose random numbers would differ. The mixture is one of the family qwen3_moe.
 */
static const char *const dense[] = { SET, "model_raw.config.dropout=0.0", NULL };
static const char *const mixture[] = {
    SET,
    "model_raw={component_key: model, variant_key: decoder, config: {sample_key: input_ids, "
    "prediction_key: logits, vocab_size: 64, sequence_length: 64, n_layer: 2, n_embd: 32, "
    "n_head_q: 4, n_head_kv: 2, head_width: 12, qk_norm: head, ffn_hidden: 24, rope: {base: "
    "10000.0}, layers: [{sparse: true}], "
    "mixture: {n_experts: 4, top_k: 2, hidden: 24, aux_loss: 0.02}}}",
    NULL
};

/* Some of them, so that the setting changes from one to the next. */
static bool has_fused_optimizer(const Topology *t)
{
    return t == &copies || t == &stages_tensor;
}

/* Every topology takes the same samples in a step. */
static void train(const Bench *b, const char *id, const char *from, const Topology *t, Words model)
{
    Arena *a = b->arena;
    const char *word[MOST_WORDS] = { "--ranks", arena_printf(a, "%d", t->ranks), SET, sampler };
    const char *set[] = {
        arena_printf(a, "settings.step_profile.gradient_accumulation_steps=%d",
                     SAMPLES / t->data_ranks),
        has_fused_optimizer(t) ? "optimizer.config.fused=true" : NULL,
        "settings.step_profile.local_train_micro_batch_size=1",
        arena_printf(a, "settings.intervals.checkpointing_interval_in_steps=%d", SAVED_AFTER),
        "settings.intervals.evaluation_interval_in_steps=1000",
        "checkpoint_saving.config.checkpoint_saving_strategy.config.k=-1",
        arena_printf(a,
                     "wrapped_model={component_key: model, variant_key: parallelized, config: "
                     "{model: " PART("model_raw") ", device_mesh: " PART(
                         "device_mesh") ", param_dtype: FP_32%s}}",
                     t->more),
        from ? NULL : arena_printf(a, "settings.training_target.num_target_steps=%d", STEPS),
    };
    int n = 4;
    for (size_t i = 0; i < sizeof set / sizeof *set; i++)
        if (set[i]) word[n++] = SET, word[n++] = set[i];
    for (int i = 0; t->degree[i]; i++)
        word[n++] = SET, word[n++] = arena_printf(a, "device_mesh.config.%s", t->degree[i]);
    for (int i = 0; model[i]; i++) word[n++] = model[i];
    Outcome o = bench_run(b, id, from, word, NULL);
    if (o.status) fail_msg("%s: status %d: %s", id, o.status, o.text);
}

/* The losses by step; NAN where there is none. */
static void read_losses(const Bench *b, const char *id, double loss[STEPS + 1])
{
    Str text;
    const char *path = arena_printf(b->arena, "%s/%s/evaluation_results.jsonl", b->root, id);
    for (int i = 0; i <= STEPS; i++) loss[i] = NAN;
    assert_no_error(file_read(b->arena, path, &text));
    for (const char *at = text.ptr; (at = strstr(at, "\"num_train_steps_done\": "));) {
        at = strchr(at, ':') + 1;
        const long step = strtol(at, NULL, 10);
        const char *value = strstr(at, "\"train loss avg\": ");
        assert_in_range(step, 1, STEPS);
        if (value) loss[step] = strtod(strchr(value, ':') + 1, NULL);
    }
}

/* A last_checkpoint_info.json of the checkpoint in the middle, as that of an experiment. */
static const char *middle_of(const Bench *b, const char *id)
{
    Arena *a = b->arena;
    const char *name = arena_printf(a, "%s-middle", id);
    const char *folder = arena_printf(a, "%s/%s/checkpoints", b->root, name);
    const int tokens = SAMPLES * 16;
    const char *info =
        arena_printf(a,
                     "{\"checkpoint_folder_path\": \"%s/%s/checkpoints/"
                     "eid_%s-seen_steps_%d-seen_tokens_%d-target_steps_%d-"
                     "target_tokens_%d\"}",
                     b->root, id, id, SAVED_AFTER, SAVED_AFTER * tokens, STEPS, STEPS * tokens);
    assert_no_error(make_directories(folder));
    assert_no_error(
        file_write(path_join(a, folder, "last_checkpoint_info.json"), info, strlen(info)));
    return name;
}

static double bound_of(int step)
{
    const int since = step - SAVED_AFTER;
    return since == 1 ? 1e-6 : since <= TEN ? 1e-5 : 1e-4;
}

/* The farthest that a loss is off, in bounds. */
static double check_pair(const Bench *b, const Topology *from, const Topology *to, Words model)
{
    double whole[STEPS + 1], rest[STEPS + 1], most = 0;
    const char *id = arena_printf(b->arena, "%s-to-%s", from->name, to->name);
    train(b, id, middle_of(b, from->name), to, model);
    read_losses(b, from->name, whole);
    read_losses(b, id, rest);
    for (int i = SAVED_AFTER + 1; i <= STEPS; i++) {
        const double off = fabs(rest[i] / whole[i] - 1);
        if (!(off <= bound_of(i)))
            fail_msg("%s: step %d: %.9g instead of %.9g, %.1e off", id, i, rest[i], whole[i], off);
        if (off / bound_of(i) > most) most = off / bound_of(i);
    }
    if (from == to) {
        assert_same_state(b, id, from->name);
        assert_true(most == 0);
    }
    return most;
}

/* Each of the n goes on on the next one, the last on the first; and the first on itself. */
static void check_ring(const Topology *const *t, int n, Words model)
{
    Bench b = bench_new();
    double most = 0;
    for (int i = 0; i < n; i++) train(&b, t[i]->name, NULL, t[i], model);
    for (int i = 0; i < n; i++) {
        const double off = check_pair(&b, t[i], t[(i + 1) % n], model);
        if (off > most) most = off;
    }
    for (int i = 0; i < n; i++) check_pair(&b, t[i], t[i], model);
    test_note("%d pairs of meshes: losses off by %.2f of their bounds at most", n, most);
    arena_free(b.arena);
}

TEST(a_training_goes_on_on_ranks_that_share_samples_matrices_or_sequences)
{
    check_ring((const Topology *const[]){ &one, &shards, &tensor, &copies, &context }, 5, dense);
}

TEST(a_training_goes_on_on_ranks_that_share_layers_and_in_products)
{
    check_ring((const Topology *const[]){ &stages, &one_again, &all, &stages_tensor }, 4, dense);
}

TEST(a_training_goes_on_on_ranks_that_share_experts)
{
    check_ring((const Topology *const[]){ &experts, &experts_whole, &experts_tensor }, 3, mixture);
}

/* Rank 0 puts the tensors of stages and of shared matrices together. */
TEST(whole_files_of_ranks_that_share_layers_and_matrices_hold_what_their_parts_do)
{
    Bench b = bench_new();
    static const char *const whole[] = { SET, "model_raw.config.dropout=0.0", FSDP1_FILES, NULL };
    train(&b, "parts", NULL, &stages_tensor, dense);
    train(&b, "whole", NULL, &stages_tensor, whole);
    assert_same_checkpoint(&b, "whole", "parts");
    arena_free(b.arena);
}
