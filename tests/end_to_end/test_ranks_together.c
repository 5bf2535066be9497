/* test_ranks_together.c - ranks that work on the same samples (tp, cp) learn what one rank learns,
 * and resume with the same bits. */
#include "end_to_end/training.h"

/* Deals samples out to data-parallel ranks. */
#define SAMPLER                                                                                    \
    "train_dataloader.config.batch_sampler.config.sampler={component_key: sampler, variant_key: "  \
    "resumable_distributed_multi_dim_sampler, config: {dataset: {instance_key: train_dataset, "    \
    "pass_type: BY_REFERENCE}, device_mesh: {instance_key: device_mesh, pass_type: "               \
    "BY_REFERENCE}, data_parallel_key: dp_shard, shuffle: true, seed: 7, drop_last: true, "        \
    "skip_num_global_samples: \"${settings.training_progress.num_seen_samples}\"}}"
#define ACCUMULATION "settings.step_profile.gradient_accumulation_steps="
#define STEPS "settings.training_target.num_target_steps="
#define MESH "device_mesh: {instance_key: device_mesh, pass_type: BY_REFERENCE}"
#define RAW "model: {instance_key: model_raw, pass_type: BY_REFERENCE}"

static const char tensor[] =
    "wrapped_model.config.model={component_key: model, variant_key: gpt2_tp, config: {" RAW
    ", " MESH "}}";
static const char sequence[] =
    "wrapped_model={component_key: model, variant_key: parallelized, "
    "config: {" RAW ", " MESH ", param_dtype: FP_32, reduce_dtype: FP_32}}";
static const char heads[] = "wrapped_model={component_key: model, variant_key: parallelized, "
                            "config: {" RAW ", " MESH
                            ", param_dtype: FP_32, reduce_dtype: FP_32, context_method: ulysses}}";

/* A way to share the work, as settings. */
typedef struct RankLayout {
    const char *degree, *model;
    bool is_global; /* the mean is that over all tokens of a step */
} RankLayout;

enum { MOST_WORDS = 24 };

static Outcome run(const Bench *b, const char *id, const RankLayout *l, const char *ranks,
                   const char *const *more)
{
    const char *word[MOST_WORDS] = { "--set", SAMPLER, "--set", "model_raw.config.dropout=0.0" };
    int n = 4;
    if (ranks) {
        word[n++] = "--ranks", word[n++] = ranks;
        word[n++] = "--set", word[n++] = l->degree;
        word[n++] = "--set", word[n++] = l->model;
    } else
        word[n++] = "--set", word[n++] = ACCUMULATION "4";
    if (l->is_global) word[n++] = "--set", word[n++] = "loss_fn.config.normalization=global_tokens";
    for (int i = 0; more && more[i]; i++) word[n++] = more[i];
    return bench_run(b, id, NULL, word, NULL);
}

static void learns_as_one_rank(const RankLayout *l)
{
    static const char *const half[] = { "--set", STEPS "4", "--set",
                                        "lr_scheduler.config.total_steps=8", NULL };
    Bench b = bench_new();
    assert_ended_well(run(&b, "one", l, NULL, NULL));
    assert_ended_well(run(&b, "many", l, "4", NULL));
    assert_learnt_alike(&b, "many", "one");
    assert_ended_well(run(&b, "half", l, "4", half));
    assert_goes_on_as(&b, "half", "many");
    arena_free(b.arena);
}

TEST(ranks_that_share_matrices_learn_what_one_rank_learns)
{
    learns_as_one_rank(
        &(RankLayout){ "device_mesh.config.tensor_parallel_degree=2", tensor, false });
}

TEST(ranks_that_share_sequences_learn_what_one_rank_learns)
{
    learns_as_one_rank(
        &(RankLayout){ "device_mesh.config.context_parallel_degree=2", sequence, false });
}

TEST(ranks_that_exchange_heads_learn_what_one_rank_learns)
{
    learns_as_one_rank(
        &(RankLayout){ "device_mesh.config.context_parallel_degree=2", heads, true });
}

/* With nothing but a degree. */
TEST(ranks_that_nobody_told_how_to_share_sequences_pass_keys_round_and_say_so)
{
    static const RankLayout plain = { "device_mesh.config.context_parallel_degree=2",
                                      "model_raw.config.bias=true", false };
    Bench b = bench_new();
    assert_ended_well(run(&b, "one", &plain, NULL, NULL));
    Outcome o = run(&b, "many", &plain, "4", NULL);
    assert_ended_well(o);
    assert_contains(o.text, "the 2 ranks along cp have their tokens in zig-zag");
    assert_learnt_alike(&b, "many", "one");
    arena_free(b.arena);
}

/* The sampler of train.yaml deals samples out to all ranks. */
TEST(samplers_that_give_such_ranks_other_samples_are_refused)
{
    Bench b = bench_new();
    static const char *const words[] = { "--ranks", "4",
                                         "--set",   "device_mesh.config.tensor_parallel_degree=2",
                                         "--set",   tensor,
                                         NULL };
    Outcome o = bench_run(&b, "x", NULL, words, NULL);
    assert_refused(o, 1, "num_replicas: samples are dealt out to 4 ranks, but 2 of this run's 4");
    assert_false(file_exists(path_join(b.arena, b.root, "x")));
    arena_free(b.arena);
}
