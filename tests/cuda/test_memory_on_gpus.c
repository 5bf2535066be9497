/* test_memory_on_gpus.c - a GPU's memory: what a program takes is what its map says, and what is
 * said where it does not fit. */
#include "device/cuda_library.h"
#include "end_to_end/training.h"
#include "passes/tiny_model.h"
#include "trainings.h"
#include <math.h>
#include <stdlib.h>

/* All that is taken, but for the workspace of products, which is a line of its own. */
TEST(a_program_takes_of_a_gpu_what_its_map_says)
{
    const Gpt2Settings s = tiny_settings(true);
    Device *gpu;
    size_t workspace;
    assert_no_error(gpu_open(0, 1, &gpu));
    const size_t before = gpu->free_bytes(gpu);
    TinyRun t = tiny_run_make(&(TinyChoice){ .settings = &s, .training = true, .device = gpu });
    assert_true(tiny_step(&t) > 0);
    const size_t taken = before - gpu->free_bytes(gpu);
    store_workspace(t.store, &workspace);
    size_t mapped = workspace;
    for (int64_t i = 0; i < store_count(t.store); i++)
        mapped += tensor_bytes(&store_at(t.store, i)->tensor);
    /* tensors begin at multiples of 512 bytes, and each stream keeps 16; a GPU gives memory in
     * pieces of 2 MiB: for what is kept, for the workspace, and for what streams need */
    const size_t rounding =
        512 * (size_t)store_count(t.store) + 256 + (is_mock() ? 0 : (size_t)3 << 21);
    if (taken < mapped || taken > mapped + rounding)
        fail_msg("%zu bytes are taken, the map has %zu", taken, mapped);
    tiny_run_free(&t);
}

/* What the GPU, its libraries and other programs have stands in lines of its own, and with the map
 * that is all that is taken. */
TEST(all_of_a_gpus_memory_is_accounted_for)
{
    const Gpt2Settings s = tiny_settings(true);
    Device *gpu;
    GpuReport seen;
    size_t mapped;
    const char *name;
    setenv("MODALITIES_MOCK_NEIGHBOUR", "100", 1);
    assert_no_error(gpu_open(0, 1, &gpu));
    TinyRun t = tiny_run_make(&(TinyChoice){ .settings = &s, .training = true, .device = gpu });
    assert_true(tiny_step(&t) > 0);
    store_workspace(t.store, &mapped);
    mapped += t.store->bytes;
    int n = 0;
    for (size_t bytes; (bytes = gpu->own_bytes(gpu, n, &name)); n++) {
        print_message("%12zu  %s\n", bytes, name);
        mapped += bytes;
    }
    gpu_report(&seen);
    const double taken = (double)(seen.gpu[0].bytes - seen.gpu[0].free_bytes);
    if (fabs((double)mapped - taken) > 0.01 * taken)
        fail_msg("%.0f bytes are taken, the lines have %zu", taken, mapped);
    assert_true(n >= (is_mock() ? 5 : 3)); /* on a GPU its libraries may take nothing at first */
    tiny_run_free(&t);
}

TEST(a_training_that_does_not_fit_says_who_else_uses_the_gpu)
{
    Bench b = bench_with_short_evaluations();
    const char *const words[] = { "--device", "cuda", NULL };
    const char *const full[] = { "MODALITIES_MOCK_NEIGHBOUR=8128", NULL };
    const Outcome o = bench_run(&b, "x", NULL, words, full);
    assert_int_equal(o.status, 1);
    assert_contains(o.text, "of these at the peak:");
    assert_contains(o.text, "Cheapest remedies: a smaller local_train_micro_batch_size");
    assert_contains(o.text, "model.activation_checkpointed");
    assert_contains(o.text, "what is not free:\n");
    assert_contains(o.text, " 8.5 GB  process 1");
    assert_contains(o.text, "workspace of cuBLASLt");
    assert_contains(o.text, "context of the GPU");
    assert_contains(o.text, "kernels of this program");
    arena_free(b.arena);
}
