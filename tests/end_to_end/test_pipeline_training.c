/* test_pipeline_training.c - ranks of a pipeline learn what one rank learns, evaluate, save, and go
 * on; alone and together with other ways to share a model. */
#include "end_to_end/training.h"

#define ACCUMULATION "settings.step_profile.gradient_accumulation_steps="
#define BATCH "settings.step_profile.local_train_micro_batch_size="
#define STEPS "settings.training_target.num_target_steps="
#define PART(NAME) "{instance_key: " NAME ", pass_type: BY_REFERENCE}"
#define MODEL_PART(NAME)                                                                           \
    "{component_key: pipeline, variant_key: selector, config: {pipeline: " PART(                   \
        NAME) ", "                                                                                 \
              "selection_type: MODEL_PART}}"

static const char sampler[] =
    "train_dataloader.config.batch_sampler.config.sampler={component_key: sampler, variant_key: "
    "resumable_distributed_multi_dim_sampler, config: {dataset: " PART(
        "train_dataset") ", device_mesh: " PART("device_mesh") ", data_parallel_key: dp_shard, "
                                                               "shuffle: true, seed: 7, "
                                                               "drop_last: true, "
                                                               "skip_num_global_samples: "
                                                               "\"${settings.training_progress.num_"
                                                               "seen_samples}\"}}";

static const char staged[] =
    "staged_pipeline={component_key: pipeline, variant_key: staged, config: {whole_model: " PART(
        "model_raw") ", stages_generator: {component_key: stages_generator, variant_key: "
                     "gpt2_stages_generator, config: {num_model_layers: "
                     "\"${model_raw.config.n_layer}\", "
                     "input_layer_equivalence: 1, output_layer_equivalence: 1}}, "
                     "device_mesh: " PART(
                         "device_mesh") ", local_rank: \"${settings.cuda_env.local_rank}\", "
                                        "pp_schedule_name: "
                                        "\"${scheduled_pipeline.config.pp_schedule_name}\", "
                                        "num_layers_per_stage: %d}}";

static const char scheduled[] =
    "scheduled_pipeline={component_key: pipeline, variant_key: scheduled, config: "
    "{loss_fn: " PART("loss_fn") ", pp_schedule_name: %s, batch_size: "
                                 "\"${settings.step_profile.local_train_micro_batch_size}\", "
                                 "microbatch_size: 1, pp_degree: 2, "
                                 "pipeline: {component_key: pipeline, variant_key: builder, "
                                 "config: {pp_stage: {component_key: "
                                 "pipeline, variant_key: selector, config: {pipeline: " PART(
                                     "staged_pipeline") ", selection_type: PP_STAGE}}, "
                                                        "model_part: " PART("wrapped_model") "}}}}";

static const char cut[] = "wrapped_model.config.model=" MODEL_PART("staged_pipeline");
static const char cut_with_tp[] =
    "wrapped_model.config.model={component_key: model, variant_key: gpt2_tp, config: "
    "{model: " MODEL_PART("staged_pipeline") ", device_mesh: " PART("device_mesh") "}}";
static const char cut_with_cp[] =
    "wrapped_model={component_key: model, variant_key: parallelized, config: {model: " MODEL_PART(
        "staged_pipeline") ", device_mesh: " PART("device_mesh") ", param_dtype: FP_32, "
                                                                 "reduce_dtype: FP_32}}";

typedef struct RankLayout {
    const char *schedule, *model;
    int layers_per_stage; /* of four: two blocks, the embedding and the head */
    const char *degree;   /* what else shares the model, as a setting; NULL: dp_shard 2 */
    const char *more;     /* a setting of the model or the loss, on one rank, too; NULL: none */
} RankLayout;

enum { MOST_WORDS = 48 };

/* What a pipeline of two, on four ranks, says more than train.yaml. */
static int layout_words(const Bench *b, const RankLayout *l, const char **word)
{
    int n = 0;
    word[n++] = "--ranks", word[n++] = "4";
    word[n++] = "--set", word[n++] = "device_mesh.config.pipeline_parallel_degree=2";
    word[n++] = "--set", word[n++] = arena_printf(b->arena, staged, l->layers_per_stage);
    word[n++] = "--set", word[n++] = arena_printf(b->arena, scheduled, l->schedule);
    word[n++] = "--set", word[n++] = l->model;
    word[n++] = "--set";
    word[n++] = "initialized_model.config.model=" MODEL_PART("scheduled_pipeline");
    if (l->degree) {
        word[n++] = "--set", word[n++] = l->degree;
        word[n++] = "--set", word[n++] = ACCUMULATION "4"; /* as many samples as by dp_shard */
    }
    return n;
}

static Outcome run(const Bench *b, const char *id, const char *from, const RankLayout *l,
                   bool alone, const char *const *more)
{
    const char *word[MOST_WORDS] = { NULL };
    int n = 0;
    if (alone) {
        word[n++] = "--set", word[n++] = ACCUMULATION "8";
        word[n++] = "--set", word[n++] = BATCH "1";
    } else
        n = layout_words(b, l, word);
    word[n++] = "--set", word[n++] = sampler;
    word[n++] = "--set", word[n++] = "model_raw.config.dropout=0.0";
    if (l->more) word[n++] = "--set", word[n++] = l->more;
    for (int i = 0; more && more[i]; i++) word[n++] = more[i];
    return bench_run(b, id, from, word, NULL);
}

static const char *const half[] = { "--set", STEPS "4", "--set",
                                    "lr_scheduler.config.total_steps=8", NULL };

static void learns_as_one_rank(const RankLayout *l)
{
    Bench b = bench_new();
    assert_ended_well(run(&b, "one", NULL, l, true, NULL));
    assert_ended_well(run(&b, "many", NULL, l, false, NULL));
    assert_learnt_alike(&b, "many", "one");
    assert_ended_well(run(&b, "half", NULL, l, false, half));
    assert_goes_on_as(&b, "half", "many");
    arena_free(b.arena);
}

TEST(a_pipeline_with_shards_learns_what_one_rank_learns)
{
    learns_as_one_rank(&(RankLayout){ .schedule = "1F1B", .model = cut, .layers_per_stage = 2 });
}

TEST(a_pipeline_with_shared_matrices_learns_what_one_rank_learns)
{
    learns_as_one_rank(&(RankLayout){ .schedule = "Interleaved1F1B",
                                      .model = cut_with_tp,
                                      .layers_per_stage = 1,
                                      .degree = "device_mesh.config.tensor_parallel_degree=2" });
}

TEST(a_pipeline_with_shared_sequences_learns_what_one_rank_learns)
{
    learns_as_one_rank(&(RankLayout){ .schedule = "ZBVZeroBubble",
                                      .model = cut_with_cp,
                                      .layers_per_stage = 1,
                                      .degree = "device_mesh.config.context_parallel_degree=2",
                                      .more = "loss_fn.config.normalization=global_tokens" });
}

TEST(a_pipeline_with_tied_embeddings_learns_what_one_rank_learns)
{
    learns_as_one_rank(&(RankLayout){ .schedule = "GPipe",
                                      .model = cut,
                                      .layers_per_stage = 2,
                                      .more = "model_raw.config.use_weight_tying=true" });
}

static const char *const to_eight[] = { "--set", STEPS "8", "--set",
                                        "settings.training_target.num_target_tokens=1024", NULL };
static const RankLayout plain = { .schedule = "1F1B", .model = cut, .layers_per_stage = 2 };

/* A checkpoint of a pipeline is that of the model: any layout goes on from it. */
TEST(one_rank_goes_on_from_a_pipeline_and_a_pipeline_from_one_rank)
{
    Bench b = bench_new();
    assert_ended_well(run(&b, "whole", NULL, &plain, true, NULL));
    assert_ended_well(run(&b, "pipeline", NULL, &plain, false, half));
    assert_ended_well(run(&b, "alone", NULL, &plain, true, half));
    assert_ended_well(run(&b, "alone-on", "pipeline", &plain, true, to_eight));
    assert_ended_well(run(&b, "pipeline-on", "alone", &plain, false, to_eight));
    assert_learnt_alike(&b, "alone-on", "pipeline-on");
    assert_last_result_near(&b, "alone-on", "whole", "train loss avg", 1e-5);
    arena_free(b.arena);
}

TEST(a_pipeline_refuses_the_checkpoint_of_another_model)
{
    Bench b = bench_new();
    assert_ended_well(run(&b, "alone", NULL, &plain, true, half));
    RankLayout other = plain;
    other.more = "model_raw.config.bias=false";
    Outcome o = run(&b, "x", "alone", &other, false, to_eight);
    assert_refused(o, 1, "does not fit");
    assert_contains(o.text, "only in the checkpoint");
    arena_free(b.arena);
}

TEST(a_pipeline_finds_what_is_not_finite_where_one_rank_finds_it)
{
    Bench b = bench_new();
    static const char first[] = "step 2, microbatch 0: the first NaN or infinity comes from "
                                "contract in block 0 (forward)";
    static const char *const wild[] = { "--set", "lr_scheduler.config.max_lr=1e30", "--set",
                                        "gradient_clipper.config.max_norm=1e30", NULL };
    assert_refused(run(&b, "one", NULL, &plain, true, wild), 1, first);
    assert_refused(run(&b, "many", NULL, &plain, false, wild), 1, first);
    arena_free(b.arena);
}

/* The short form: one block says what the components above say. */
TEST(a_pipeline_in_one_block_learns_what_one_rank_learns)
{
    static const char *const short_form[] = {
        "--ranks",
        "4",
        "--set",
        "device_mesh.config.pipeline_parallel_degree=2",
        "--set",
        "wrapped_model={component_key: model, variant_key: parallelized, config: {model: " PART(
            "model_raw") ", device_mesh: " PART("device_mesh") ", param_dtype: FP_32, "
                                                               "pipeline_schedule: zbvzerobubble, "
                                                               "microbatches: 2}}",
        "--set",
        BATCH "2",
        "--set",
        ACCUMULATION "2",
        "--set",
        sampler,
        "--set",
        "model_raw.config.dropout=0.0",
        NULL
    };
    Bench b = bench_new();
    const RankLayout nothing = { 0 };
    assert_ended_well(run(&b, "one", NULL, &nothing, true, NULL));
    assert_ended_well(bench_run(&b, "many", NULL, short_form, NULL));
    assert_learnt_alike(&b, "many", "one");
    arena_free(b.arena);
}
