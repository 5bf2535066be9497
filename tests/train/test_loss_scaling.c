/* test_loss_scaling.c - the factor for the range of float16: halved, doubled, kept and gone on
 * with. */
#include "../end_to_end/training.h"
#include "comm/mesh.h"
#include "models/model.h"
#include "passes/data_parallel.h"
#include "train/loss_scaling.h"
#include <string.h>

#define FORMATS(param, reduce)                                                                     \
    "--set", "wrapped_model.config.mixed_precision_settings={param_dtype: " param                  \
             ", reduce_dtype: " reduce "}"
/* Weights so large that gradients leave the range of float16 at first. */
#define LARGE "--set", "initialized_model.config.model_initializer.config.std=1.5"

TEST(the_scale_halves_at_once_and_doubles_after_two_thousand_good_steps)
{
    LossScaling s = loss_scaling_new();
    assert_true(s.scale == 65536);
    loss_scaling_adapt(&s, false);
    assert_true(s.scale == 32768);
    for (int i = 0; i < 1999; i++) loss_scaling_adapt(&s, true);
    assert_true(s.scale == 32768);
    loss_scaling_adapt(&s, true);
    assert_true(s.scale == 65536);
    for (int i = 0; i < 1999; i++) loss_scaling_adapt(&s, true);
    loss_scaling_adapt(&s, false); /* begins to count anew */
    for (int i = 0; i < 1999; i++) loss_scaling_adapt(&s, true);
    assert_true(s.scale == 32768);
    assert_true(loss_scaling_can_help(&s));
    for (int i = 0; i < 15; i++) loss_scaling_adapt(&s, false);
    assert_true(s.scale == 1 && !loss_scaling_can_help(&s));
}

TEST(losses_are_scaled_where_gradients_are_float16)
{
    DataParallel sent = { .reduce_dtype = F16 };
    Mesh mesh = { .world_size = 2 };
    for (int i = MESH_PP; i < MESH_N_AXES; i++) mesh.size[i] = i == MESH_DP_SHARD ? 2 : 1;
    assert_true(loss_scaling_is_wanted(&(Model){ .compute = F16 }, NULL));
    assert_false(loss_scaling_is_wanted(&(Model){ .compute = BF16 }, &mesh));
    assert_true(loss_scaling_is_wanted(&(Model){ .data_parallel = &sent }, &mesh));
    assert_false(loss_scaling_is_wanted(&(Model){ .data_parallel = &sent }, NULL));
}

TEST(trainings_in_float16_learn_what_those_in_float32_learn)
{
    Bench b = bench_new();
    const char *const half[] = { FORMATS("FP_16", "FP_32"), NULL },
                      *const two[] = { "--ranks",
                                       "2",
                                       FORMATS("FP_16", "FP_16"),
                                       "--set",
                                       "settings.step_profile.gradient_accumulation_steps=1",
                                       "--set",
                                       "model_raw.config.dropout=0.0",
                                       NULL },
                      *const one[] = {
                          "--set",   "model_raw.config.dropout=0.0",
                          "--set",   "settings.step_profile.gradient_accumulation_steps=1",
                          "--ranks", "2",
                          NULL
                      };
    assert_ended_well(bench_run(&b, "f32", NULL, NULL, NULL));
    assert_ended_well(bench_run(&b, "half", NULL, half, NULL));
    assert_results_near(&b, "half", "f32", "train loss avg", 1e-3);
    assert_results_near(&b, "half", "f32", "grad norm last", 1e-2);
    assert_ended_well(bench_run(&b, "one", NULL, one, NULL));
    assert_ended_well(bench_run(&b, "two", NULL, two, NULL));
    assert_results_near(&b, "two", "one", "train loss avg", 1e-3);
    assert_results_near(&b, "two", "one", "grad norm last", 1e-2);
    arena_free(b.arena);
}

TEST(a_step_whose_gradients_overflow_is_left_out_on_all_ranks)
{
    static const char *const ranks[] = { "1", "2" };
    for (int i = 0; i < 2; i++) {
        Bench b = bench_new();
        const char *const words[] = { "--ranks", ranks[i], FORMATS("FP_16", "FP_16"), LARGE, NULL };
        Outcome o = bench_run(&b, ranks[i], NULL, words, NULL);
        assert_ended_well(o);
        assert_contains(o.text, "gradients are too large for float16 with a loss scale of 65536; "
                                "the update is skipped, the scale is 32768 now");
        assert_contains(o.text, "8 steps are done and saved");
        arena_free(b.arena);
    }
}

/* With overflows before and after the checkpoint. */
TEST(a_training_in_float16_that_goes_on_has_the_same_bits)
{
    static const char *const words[] = { FORMATS("FP_16", "FP_32"), LARGE, NULL };
    assert_resumes(words);
}
FENCED(a_training_in_float16_that_goes_on_has_the_same_bits)
