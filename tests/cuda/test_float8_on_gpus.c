/* test_float8_on_gpus.c - trainings with products in eight bits on the mock of a GPU. */
#include "device/cuda_library.h"
#include "end_to_end/training.h"
#include "passes/all_passes.h"
#include "passes/float8.h"
#include "passes/precision.h"
#include "passes/tiny_model.h"
#include <stdlib.h>
#include <string.h>

/* One step; what the CPU computes in bf16 around the products is rounded elsewhere in places. */
static TinyRun step_on(Device *d, Float8Recipe recipe)
{
    static const char *const none[] = { NULL };
    static const Precision bfloat16 = { .compute = BF16 };
    const Float8 f = { recipe, none, 0, 0 };
    Gpt2Settings s = tiny_settings(false);
    PassList passes = { .arena = arena_new() };
    tiny_set_width(&s, 32);
    s.n_head_q = s.n_head_kv = 8;
    s.ffn_hidden = 48;
    passes_add(&passes, &pass_precision, &bfloat16);
    passes_add(&passes, &pass_float8, &f);
    TinyRun t = tiny_run_make(
        &(TinyChoice){ .settings = &s, .passes = &passes, .training = true, .device = d });
    arena_free(passes.arena);
    assert_true(tiny_step(&t) > 0);
    return t;
}

/* GPUs that multiply eight bits with all scales, with one scale for a factor, and not at all. */
TEST(gradients_of_products_in_eight_bits_are_those_of_the_cpu)
{
    static const char *const products[] = { "", "no-rows", "no-float8" };
    for (Float8Recipe r = FLOAT8_TENSORWISE; r <= FLOAT8_ROWWISE; r++) {
        TinyRun a = step_on(NULL, r);
        for (int i = 0; i < 3; i++) {
            Device *gpu;
            setenv("MODALITIES_MOCK_PRODUCTS", products[i], 1);
            assert_no_error(gpu_open(0, 1, &gpu));
            TinyRun b = step_on(gpu, r);
            const double off = tiny_gradient_difference(&a, &b);
            if (!(off < 0.02))
                fail_msg("recipe %d, %s: %g of the largest", (int)r, products[i], off);
            tiny_run_free(&b);
        }
        tiny_run_free(&a);
    }
    unsetenv("MODALITIES_MOCK_PRODUCTS");
}

#define FLOAT8                                                                                     \
    "--set",                                                                                       \
        "initialized_model.config.model={component_key: model, variant_key: float8, config: "      \
        "{model: {instance_key: wrapped_model, pass_type: BY_REFERENCE}, first_layers: 0, "        \
        "last_layers: 0, recipe: rowwise}}",                                                       \
        "--set", "wrapped_model.config.mixed_precision_settings.param_dtype=BF_16", "--set",       \
        "model_raw.config.dropout=0"

static const char *const rowwise[] = { FLOAT8, "--set",
                                       "settings.training_target.num_target_steps=3", NULL };

/* Sums in another order round some numbers to a neighbour, which has 6 % more. */
TEST(a_training_in_eight_bits_learns_on_a_gpu_what_it_learns_on_the_cpu)
{
    const char *const on_cpu[] = { "MODALITIES_DEVICE=cpu", NULL }, *const on_gpu[] = {
        "MODALITIES_DEVICE=cuda", NULL
    };
    Bench b = bench_with_short_evaluations();
    assert_ended_well(bench_run(&b, "cpu", NULL, rowwise, on_cpu));
    assert_ended_well(bench_run(&b, "gpu", NULL, rowwise, on_gpu));
    assert_results_near(&b, "cpu", "gpu", "train loss avg", 2e-3);
    assert_results_near(&b, "cpu", "gpu", "grad norm avg", 1e-1);
    arena_free(b.arena);
}
