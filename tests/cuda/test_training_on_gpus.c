/* test_training_on_gpus.c - whole trainings on the mock of a GPU: they learn what the CPU learns,
 * resume with the same bits, and end with a clear error where there is no such GPU. */
#include "base/file.h"
#include "end_to_end/training.h"
#include "trainings.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* As test_resume.c, but for what each turns on. */
static const char *const plain[] = { NULL };
/* Without dropout attention goes through cuDNN. */
static const char *const bf16[] = { "--set",
                                    "wrapped_model.config.mixed_precision_settings.param_dtype="
                                    "BF_16",
                                    "--set", "model_raw.config.dropout=0", NULL };
static const char *const tied_swiglu[] = { "--set", "model_raw.config.use_weight_tying=true",
                                           "--set", "model_raw.config.activation_type=swiglu",
                                           NULL };

#define F16_PARAMS                                                                                 \
    "--set",                                                                                       \
        "wrapped_model.config.mixed_precision_settings={param_dtype: FP_16, reduce_dtype: "        \
        "FP_32}",                                                                                  \
        "--set", "model_raw.config.dropout=0"
static const char *const f16[] = { F16_PARAMS, NULL };
/* Weights so large that gradients leave the range of float16 at first. */
static const char *const overflowing[] = {
    F16_PARAMS, "--set", "initialized_model.config.model_initializer.config.std=1.5", NULL
};

/* Thresholds that logits pass from the first step on. */
static const char *const clipped[] = {
    "--set",
    "initialized_model.config.model={component_key: model, variant_key: qk_clip, config: {model: "
    "{instance_key: wrapped_model, pass_type: BY_REFERENCE}, threshold: 0.01}}",
    NULL
};
/* Biases of routers follow the load of their experts. */
#define BALANCED                                                                                   \
    "--set",                                                                                       \
        "model_raw={component_key: model, variant_key: decoder, config: {sample_key: input_ids, "  \
        "prediction_key: logits, vocab_size: 64, sequence_length: 64, n_layer: 2, n_embd: 32, "    \
        "n_head_q: 4, n_head_kv: 2, ffn_hidden: 24, rope: {base: 10000.0}, layers: [{sparse: "     \
        "true}], mixture: {n_experts: 4, top_k: 2, hidden: 24, balance_rate: 0.01}}}",             \
        "--set", "wrapped_model.config.block_names=[DecoderBlock]"
static const char *const balanced[] = { BALANCED, NULL };

/* Products end with biases, gelu and its gradient. */
static const char *const older[] = {
    "--set",
    "model_raw={component_key: model, variant_key: decoder, config: {sample_key: input_ids, "
    "prediction_key: logits, vocab_size: 64, sequence_length: 64, n_layer: 2, n_embd: 32, "
    "n_head_q: 4, n_head_kv: 4, ffn_hidden: 64, learned_positions: true, qkv_bias: true, "
    "out_bias: true, ffn_bias: true, gated: false, activation: gelu_tanh}}",
    "--set",
    "wrapped_model.config.block_names=[DecoderBlock]",
    "--set",
    "wrapped_model.config.mixed_precision_settings.param_dtype=BF_16",
    NULL
};

#define STEPS_20 "--set", "settings.training_target.num_target_steps=20"

static void assert_learns_beside(const Bench *b, Words variant)
{
    const char *more[12] = { STEPS_20 };
    int n = 2;
    for (; variant[n - 2]; n++) more[n] = variant[n - 2];
    setenv("MODALITIES_DEVICE", "cpu", 1);
    assert_ended_well(bench_run(b, "cpu", NULL, more, NULL));
    setenv("MODALITIES_DEVICE", "cuda", 1);
    assert_ended_well(bench_run(b, "gpu", NULL, more, NULL));
    assert_results_near(b, "cpu", "gpu", "train loss avg", 1e-3);
    assert_results_near(b, "cpu", "gpu", "CLMCrossEntropyLoss", 1e-3);
    assert_results_near(b, "cpu", "gpu", "grad norm avg", 2e-2);
}

/* `further`: of a result that only such trainings have. */
static void assert_learns_alike(Words variant, const char *further)
{
    Bench b = bench_with_short_evaluations();
    assert_learns_beside(&b, variant);
    if (further) assert_results_near(&b, "cpu", "gpu", further, 2e-2);
    arena_free(b.arena);
}

static void assert_learns_as_the_cpu(Words variant)
{
    assert_learns_alike(variant, NULL);
}

TEST(a_training_with_dropout_learns_on_a_gpu_what_it_learns_on_the_cpu)
{
    assert_learns_as_the_cpu(plain);
}

TEST(a_training_in_bf16_learns_on_a_gpu_what_it_learns_on_the_cpu)
{
    assert_learns_as_the_cpu(bf16);
}

TEST(tied_weights_and_swiglu_learn_on_a_gpu_what_they_learn_on_the_cpu)
{
    assert_learns_as_the_cpu(tied_swiglu);
}

TEST(queries_and_keys_that_are_clipped_learn_on_a_gpu_what_they_learn_on_the_cpu)
{
    assert_learns_alike(clipped, "attention logit max");
}

TEST(experts_whose_routers_have_biases_learn_on_a_gpu_what_they_learn_on_the_cpu)
{
    assert_learns_alike(balanced, "expert load max");
}

/* The record of algorithms tells with which ends (cublasLtEpilogue_t). */
TEST(products_that_end_with_biases_and_gelu_learn_on_a_gpu_what_the_cpu_learns)
{
    static const char *const ends[] = { ", end 4 ", ", end 164 ", ", end 192 " };
    Bench b = bench_with_short_evaluations();
    Str text;
    assert_learns_beside(&b, older);
    assert_no_error(
        file_read(b.arena, arena_printf(b.arena, "%s/gpu/gpu_algorithms.txt", b.root), &text));
    for (int i = 0; i < 3; i++) assert_contains(text.ptr, ends[i]);
    arena_free(b.arena);
}

TEST(a_training_in_f16_learns_on_a_gpu_what_it_learns_on_the_cpu)
{
    assert_learns_as_the_cpu(f16);
}

TEST(a_step_on_a_gpu_whose_f16_gradients_overflow_is_left_out)
{
    Bench b = bench_with_short_evaluations();
    setenv("MODALITIES_DEVICE", "cuda", 1);
    const Outcome o = bench_run(&b, "one", NULL, overflowing, NULL);
    assert_ended_well(o);
    assert_contains(o.text, "gradients are too large for float16 with a loss scale of 65536; "
                            "the update is skipped, the scale is 32768 now");
    assert_contains(o.text, "All 8 steps are done and saved");
    arena_free(b.arena);
}

/* The first update makes weights of which no later step gives a finite loss. */
#define BREAKS                                                                                     \
    "--set",                                                                                       \
        "lr_scheduler={component_key: scheduler, variant_key: dummy_lr, config: {optimizer: "      \
        "{instance_key: optimizer, pass_type: BY_REFERENCE}}}",                                    \
        "--set", "model_raw.config.dropout=0"
#define WRAPPED "wrapped_model: {instance_key: initialized_model, pass_type: BY_REFERENCE}"
#define ADAM                                                                                       \
    "{component_key: optimizer, variant_key: adam_w, config: {lr: 1e30, betas: [0.9, 0.95], "      \
    "eps: 1e-8, weight_decay: 0.1, weight_decay_groups_excluded: [], " WRAPPED "}}"
#define MUON                                                                                       \
    "{component_key: optimizer, variant_key: muon, config: {lr: 1e30, weight_decay: 0.1, " WRAPPED \
    "}}"
static const char *const adam[] = { "--set", "optimizer=" ADAM, NULL };
static const char *const muon[] = {
    "--set",
    "optimizer={component_key: optimizer, variant_key: combined, config: {" WRAPPED
    ", parts: [{optimizer: " MUON ", parameters: [\"@matrices\"]}, {optimizer: " ADAM
    ", parameters: [\"*\"]}]}}",
    "--set",
    "initialized_model.config.model={component_key: model, variant_key: averaged, config: {model: "
    "{instance_key: wrapped_model, pass_type: BY_REFERENCE}, decay: 0.5}}",
    NULL
};

TEST(an_update_on_a_gpu_that_is_not_finite_stops_the_training)
{
    Bench b = bench_with_short_evaluations();
    static const char *const breaks[] = { BREAKS, "--set", "optimizer=" ADAM, NULL };
    setenv("MODALITIES_DEVICE", "cuda", 1);
    const Outcome o = bench_run(&b, "one", NULL, breaks, NULL);
    assert_refused(o, 1, "step 2, microbatch 0: the first NaN or infinity comes from ");
    assert_contains(o.text, "settings.on_nonfinite");
    arena_free(b.arena);
}

/* But for the number of steps that the schedule has seen. */
static void assert_same_numbers(const Bench *b, const char *id, const char *other)
{
    static const char *const counts[] = { "last_epoch", "_step_count" };
    const char *const words[] = { "checkpoint", "diff", bench_last_checkpoint(b, id, NULL),
                                  bench_last_checkpoint(b, other, NULL), NULL };
    const char *at = command_output(b->arena, words, NULL).text;
    for (int i = 0; i < 2; i++) {
        const char *line = arena_printf(b->arena, "app.lr_scheduler.%s: ", counts[i]);
        assert_memory_equal(at, line, strlen(line));
        at += strcspn(at, "\n");
        at += *at == '\n';
    }
    assert_string_equal(at, "");
}

static void assert_leaves_out(Words variant)
{
    Bench b = bench_with_short_evaluations();
    static const char *const steps[] = { "settings.training_target.num_target_steps=1",
                                         "settings.training_target.num_target_steps=4" };
    static const char *const every[] = {
        "settings.intervals.checkpointing_interval_in_steps=1",
        "settings.intervals.checkpointing_interval_in_steps=4",
    };
    setenv("MODALITIES_DEVICE", "cuda", 1);
    for (int i = 0; i < 2; i++) {
        /* a checkpoint after each step: none is given to the GPU before the one before is known */
        const char *more[24] = { BREAKS,  "--set", "settings.on_nonfinite=skip", "--set", every[i],
                                 "--set", steps[i] };
        for (int n = 10, k = 0; variant[k]; k++) more[n++] = variant[k];
        const Outcome o = bench_run(&b, steps[i], NULL, more, NULL);
        assert_ended_well(o);
        if (i == 1)
            assert_contains(o.text, "step 2: loss or gradient norm is not finite; the update is "
                                    "skipped");
    }
    assert_same_numbers(&b, steps[0], steps[1]);
    arena_free(b.arena);
}

TEST(an_update_on_a_gpu_that_is_not_finite_is_left_out_without_a_trace)
{
    assert_leaves_out(adam);
}

TEST(an_update_by_muon_on_a_gpu_that_is_not_finite_is_left_out_without_a_trace)
{
    assert_leaves_out(muon);
}

TEST(biases_of_routers_on_a_gpu_stay_where_an_update_is_not_finite)
{
    static const char *const variant[] = { BALANCED, "--set", "optimizer=" ADAM, NULL };
    assert_leaves_out(variant);
}

/* Batches, results, activations that wait in host memory, and the state that is saved. */
TEST(copies_of_a_training_on_a_gpu_wait_for_nobody)
{
    Bench b = bench_with_short_evaluations();
    const char *more[] = { "--set", OFFLOADED_MODEL,
                           "--set", "settings.training_target.num_target_steps=4",
                           "--set", NULL,
                           NULL };
    static const char *const saving[] = { "checkpoint_saving.config.in_background=true",
                                          "checkpoint_saving.config.in_background=false" };
    static const char *const on_cpu[] = { "MODALITIES_DEVICE=cpu", NULL }, *const pinned[] = {
        "MODALITIES_DEVICE=cuda", "MODALITIES_MOCK_PINNED=1", NULL
    };
    more[5] = saving[0];
    assert_ended_well(bench_run(&b, "cpu", NULL, more, on_cpu));
    for (int i = 0; i < 2; i++) {
        more[5] = saving[i];
        assert_ended_well(bench_run(&b, saving[i], NULL, more, pinned));
    }
    assert_results_near(&b, "cpu", saving[0], "train loss avg", 1e-3);
    assert_same_state(&b, saving[0], saving[1]);
    arena_free(b.arena);
}

/* In its last results. */
static const char *last_norm(const Bench *b, const char *id)
{
    static const char *const name = "\"grad norm avg\":";
    const char *last = NULL;
    Str text;
    assert_no_error(file_read(
        b->arena, arena_printf(b->arena, "%s/%s/evaluation_results.jsonl", b->root, id), &text));
    for (const char *at = text.ptr; (at = strstr(at, name)); at++) last = at;
    assert_non_null(last);
    last += strlen(name);
    return arena_string_n(b->arena, last, strcspn(last, ",}"));
}

/* TF32 shows, but little. */
TEST(a_training_on_a_gpu_uses_tf32_and_any_order_where_its_settings_say_so)
{
    Bench b = bench_with_short_evaluations();
#define STEPS_2 "--set", "settings.training_target.num_target_steps=2"
    static const char *const exact[] = { STEPS_2, NULL }, *const tf32[] = { STEPS_2, "--set",
                                                                            "settings.tf32=true",
                                                                            NULL };
    const char *any[10] = { STEPS_2, "--set", "settings.determinism=off" };
    for (int i = 0; bf16[i]; i++) any[4 + i] = bf16[i];
    setenv("MODALITIES_DEVICE", "cuda", 1);
    assert_ended_well(bench_run(&b, "exact", NULL, exact, NULL));
    assert_ended_well(bench_run(&b, "tf32", NULL, tf32, NULL));
    assert_ended_well(bench_run(&b, "any", NULL, any, NULL));
    assert_results_near(&b, "exact", "tf32", "train loss avg", 1e-3);
    assert_string_not_equal(last_norm(&b, "exact"), last_norm(&b, "tf32"));
    assert_results_near(&b, "exact", "any", "train loss avg", 1e-1);
    arena_free(b.arena);
}

/* 10 million parameters, and 200 steps; GPU_CHECK_TINY: a small model and few, for the mock. */
TEST(a_long_training_on_a_gpu_stays_beside_that_on_the_cpu)
{
    static const char *const few[] = { "--set", "settings.training_target.num_target_steps=4",
                                       "--set", "model_raw.config.dropout=0", NULL };
    static const char *const many[] = {
        "--set", "settings.training_target.num_target_steps=200",
        "--set", "settings.intervals.checkpointing_interval_in_steps=200",
        "--set", "settings.intervals.evaluation_interval_in_steps=200",
        "--set", "model_raw.config.dropout=0",
        "--set", "model_raw.config.n_layer=6",
        "--set", "model_raw.config.n_head_q=6",
        "--set", "model_raw.config.n_embd=384",
        "--set", "model_raw.config.ffn_hidden=1536",
        "--set", "lr_scheduler.config.max_lr=1e-3",
        NULL
    };
    Bench b = bench_with_short_evaluations();
    Words words = getenv("GPU_CHECK_TINY") ? few : many;
    b.pbin = write_many_tokens(b.arena);
    setenv("MODALITIES_DEVICE", "cpu", 1);
    assert_ended_well(bench_run(&b, "cpu", NULL, words, NULL));
    setenv("MODALITIES_DEVICE", "cuda", 1);
    assert_ended_well(bench_run(&b, "gpu", NULL, words, NULL));
    assert_results_near(&b, "cpu", "gpu", "train loss avg", 5e-3);
    assert_last_result_near(&b, "cpu", "gpu", "train loss avg", 2e-3);
    arena_free(b.arena);
}

/* Attention with dropout is not cuDNN's. */
TEST(plain_kernels_of_a_gpu_are_told_before_the_first_step)
{
    static const char *const one[] = { "--set", "settings.training_target.num_target_steps=1",
                                       NULL };
    const char *library[8] = { one[0], one[1] };
    Bench b = bench_with_short_evaluations();
    setenv("MODALITIES_DEVICE", "cuda", 1);
    const Outcome plain_ones = bench_run(&b, "plain", NULL, one, NULL);
    assert_ended_well(plain_ones);
    assert_contains(plain_ones.text, "slow on this machine: attention (plain kernel, about ");
    assert_contains(plain_ones.text, "attention_grad (plain kernel, about ");
    for (int i = 0; bf16[i]; i++) library[2 + i] = bf16[i];
    const Outcome fast = bench_run(&b, "fast", NULL, library, NULL);
    assert_ended_well(fast);
    assert_null(strstr(fast.text, "plain kernel"));
    arena_free(b.arena);
}

TEST(a_training_on_a_gpu_resumes_with_the_same_bits)
{
    const Bench b = bench_with_short_evaluations();
    setenv("MODALITIES_DEVICE", "cuda", 1);
    bench_resume_in_the_middle(&b, bf16, bf16);
    assert_same_state(&b, "resumed", "whole");
    arena_free(b.arena);
}

TEST(a_gpu_that_is_not_there_is_refused_with_its_number)
{
    Bench b = bench_with_short_evaluations();
    const char *const second[] = { "--device", "cuda:1", NULL };
    assert_refused(bench_run(&b, "one", NULL, second, NULL), 2, "there is 1 GPU");
    const char *const none[] = { "MODALITIES_MOCK_GPUS=0", NULL };
    const char *const first[] = { "--device", "cuda", NULL };
    assert_refused(bench_run(&b, "two", NULL, first, none), 1, "--device cuda: ");
    arena_free(b.arena);
}

/* The error of a kernel stays, and what was to be read there cannot be read any more. */
TEST(a_gpu_that_fails_ends_the_training_with_the_op_and_its_place)
{
    Bench b = bench_with_short_evaluations();
    const char *const gpu[] = { "--device", "cuda", NULL };
    const char *const fails[] = { "MODALITIES_MOCK_FAILS_AT=20", NULL };
    const Outcome o = bench_run(&b, "one", NULL, gpu, fails);
    assert_refused(o, 1, "an illegal memory access was encountered");
    assert_contains(o.text, "step 1, microbatch ");
    assert_contains(o.text, " in block ");
    assert_contains(o.text, "CUDA_LAUNCH_BLOCKING=1"); /* what to look at */
    arena_free(b.arena);
}

/* Nothing that would wait for it for ever is called any more, and what was saved stays. */
TEST(a_gpu_that_hangs_ends_the_training_and_leaves_its_checkpoints)
{
    Bench b = bench_with_short_evaluations();
    static const char *const more[] = {
        "--set", "settings.comm_timeout=1",
        "--set", "settings.intervals.checkpointing_interval_in_steps=1",
        "--set", "settings.training_target.num_target_steps=4",
        NULL
    };
    static const char *const hangs[] = { "MODALITIES_MOCK_HANGS=1", NULL };
    int64_t steps;
    setenv("MODALITIES_DEVICE", "cuda", 1);
    assert_ended_well(bench_run(&b, "whole", NULL, more, NULL));
    const Outcome o = bench_run(&b, "hung", NULL, more, hangs);
    assert_refused(o, 1, "step 2: ");
    assert_contains(o.text, "microbatch 1, ");
    assert_contains(o.text, " or what follows it: step 2: ");
    assert_contains(o.text, " (GPU 0) has not finished its work in 1 s and is given up "
                            "(settings.comm_timeout or MODALITIES_COMM_TIMEOUT allow more)");
    bench_last_checkpoint(&b, "hung", &steps);
    assert_int_equal(steps, 1);
    assert_ended_well(bench_run(&b, "resumed", "hung", more, NULL));
    assert_same_state(&b, "whole", "resumed");
    arena_free(b.arena);
}

/* As NVIDIA's profilers attach themselves. */
TEST(a_profiler_of_gpus_is_told_the_ops)
{
    Bench b = bench_with_short_evaluations();
    Str text;
    const char *path = arena_printf(b.arena, "%s/ranges", b.root);
    const char *const gpu[] = { "--device", "cuda", "--set",
                                "settings.training_target.num_target_steps=1", NULL };
    const char *const profiler[] = {
        arena_printf(b.arena, "NVTX_INJECTION64_PATH=%s", getenv("MODALITIES_CUDA")),
        arena_printf(b.arena, "MODALITIES_MOCK_RANGES=%s", path), NULL
    };
    assert_ended_well(bench_run(&b, "one", NULL, gpu, profiler));
    assert_no_error(file_read(b.arena, path, &text));
    assert_contains(text.ptr, "0 attention 0\n");
    assert_contains(text.ptr, "0 attention_grad 1\n");
    assert_null(strstr(text.ptr, "\n1 ")); /* each has ended */
    arena_free(b.arena);
}

/* By the GPU's own clock, also of what runs beside the computation and what that waits for. */
TEST(a_profile_of_a_gpu_has_the_times_of_its_ops_as_shares_of_its_limits)
{
    Bench b = bench_with_short_evaluations();
    static const char *const more[] = {
        "--device", "cuda",          "--profile_ops", "3",
        "--set",    OFFLOADED_MODEL, "--set",         "settings.training_target.num_target_steps=2",
        NULL
    };
    const char *line, *const found[] = { "\ncontract (backward) ", "\nto_host ", "\nwait for " };
    const Outcome o = bench_run(&b, "one", NULL, more, NULL);
    assert_ended_well(o);
    assert_contains(o.text, "Profile of 3 microbatches");
    assert_contains(o.text, "limits, by datasheet: 1014 GFLOP/s in f32, 2048.0 GB/s of memory");
    for (int i = 0; i < 3; i++) {
        double milliseconds = 0;
        assert_non_null(line = strstr(o.text, found[i]));
        assert_int_equal(sscanf(line + 41, "%*d %lf", &milliseconds), 1);
        assert_true(milliseconds > 0 && milliseconds < 60e3);
    }
    assert_non_null(line = strstr(o.text, found[0]));
    assert_true(strcspn(line + 1, "%") < strcspn(line + 1, "\n")); /* a share of its time ... */
    line += 1 + strcspn(line + 1, "%") + 1;
    assert_true(strcspn(line, "%") < strcspn(line, "\n")); /* ... and of the limit */
    arena_free(b.arena);
}

/* A GPU takes one rank. */
TEST(more_ranks_than_gpus_are_refused_with_both_numbers)
{
    Bench b = bench_with_short_evaluations();
    setenv("MODALITIES_DEVICE", "cuda", 1);
    const char *const two[] = { "--ranks", "2",
                                "--set",   "device_mesh.config.data_parallel_shard_degree=2",
                                "--set",   "device_mesh.config.world_size=2",
                                NULL };
    const Outcome o = bench_run(&b, "one", NULL, two, NULL);
    assert_refused(o, 2, "there is 1 GPU");
    assert_contains(o.text, "rank 1 of 2: ");
    arena_free(b.arena);
}
