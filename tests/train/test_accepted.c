/* test_accepted.c - values in files of the original that mean less, or something else, than they
 * seem to. */
#include "train/small_job.h"

#define WRAPPED "initialized_model.config.model={component_key: model, variant_key: "
#define FSDP1                                                                                      \
    "wrapped_model={component_key: model, variant_key: fsdp1_wrapped, config: {model: "            \
    "{instance_key: model_raw, pass_type: BY_REFERENCE}, sync_module_states: true, "               \
    "sharding_strategy: FULL_SHARD, block_names: [GPT2Block], mixed_precision_settings: "

static Dtype compute_of(const char *set)
{
    SmallJob *s = small_job_new("x", (const char *[]){ set, NULL });
    Dtype t = s->job.state->model->compute;
    arena_free(s->bench.arena);
    return t;
}

/* There param_dtype is float32. */
TEST(bf_16_working_computes_in_f32)
{
    assert_int_equal(compute_of(FSDP1 "BF_16_WORKING}}"), F32);
    assert_int_equal(compute_of(FSDP1 "BF_16}}"), BF16);
    assert_int_equal(compute_of(FSDP1 "MIXED_PRECISION_MEGATRON}}"), BF16);
}

TEST(null_is_accepted_where_the_original_accepts_it)
{
    static const char *const set[] = {
        "model_raw.config.use_meta_device=null", "device_mesh.config.enable_loss_parallel=null",
        WRAPPED "compiled, config: {model: {instance_key: wrapped_model, pass_type: BY_REFERENCE}, "
                "block_names: [GPT2Block], fullgraph: null, debug: null}}",
        NULL
    };
    SmallJob *s = small_job_new("x", set);
    arena_free(s->bench.arena);
}

TEST(full_activation_checkpointing_ignores_a_left_over_ac_freq)
{
    static const char *const set[] = {
        WRAPPED "activation_checkpointed, config: {model: {instance_key: wrapped_model, pass_type: "
                "BY_REFERENCE}, ac_variant: full_activation_checkpointing, layers_fqn: "
                "transformer.h, ac_fun_params: {ac_freq: 2}}}",
        NULL
    };
    SmallJob *s = small_job_new("x", set);
    TrainingEnd end;
    assert_no_error(trainer_run(&s->job, &end));
    arena_free(s->bench.arena);
}

#define NATIVE "checkpoint_saving.config.checkpoint_saving_execution.config.format=native"

/* Other rates and bits than with the optimizer's own beta1. */
TEST(a_cycled_beta1_reaches_the_updates)
{
    Bench b = bench_new();
    static const char *const cycled[] = { "--set", "lr_scheduler.config.cycle_momentum=true",
                                          "--set", NATIVE, NULL };
    static const char *const native[] = { "--set", NATIVE, NULL };
    int64_t steps;
    assert_ended_well(bench_run(&b, "own", NULL, native, NULL));
    assert_ended_well(bench_run(&b, "cycled", NULL, cycled, NULL));
    Str own, other;
    assert_no_error(file_read(
        b.arena, path_join(b.arena, bench_last_checkpoint(&b, "own", &steps), "part_0.safetensors"),
        &own));
    assert_no_error(file_read(
        b.arena,
        path_join(b.arena, bench_last_checkpoint(&b, "cycled", &steps), "part_0.safetensors"),
        &other));
    assert_int_equal(own.len, other.len);
    assert_memory_not_equal(own.ptr, other.ptr, own.len);
    arena_free(b.arena);
}

TEST(the_rank_of_a_progress_subscriber_is_a_number)
{
    Bench b = bench_new();
    static const char *const set[] = {
        "--set",
        "progress_subscriber={component_key: progress_subscriber, variant_key: rich, config: "
        "{eval_dataloaders: [], train_dataloader_tag: train, num_seen_steps: 0, num_target_steps: "
        "8, global_rank: \"0\"}}",
        NULL
    };
    assert_refused(bench_run(&b, "x", NULL, set, NULL), 2,
                   "global_rank: \"0\"; allowed: an integer");
    arena_free(b.arena);
}
