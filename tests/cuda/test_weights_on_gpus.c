/* test_weights_on_gpus.c - what parameters begin with. */
#include "device/cuda_library.h"
#include "passes/tiny_model.h"
#include "test.h"

/* Bit by bit, in both kinds of models. */
TEST(a_gpu_begins_with_the_weights_of_the_cpu)
{
    for (int llama = 0; llama < 2; llama++) {
        const Gpt2Settings s = tiny_settings(llama);
        Device *gpu;
        assert_no_error(gpu_open(0, 1, &gpu));
        TinyRun cpu = tiny_run_make(&(TinyChoice){ .settings = &s }),
                there = tiny_run_make(&(TinyChoice){ .settings = &s, .device = gpu });
        int n = 0;
        for (int64_t i = 0; i < store_count(cpu.store); i++) {
            const Stored *x = store_at(cpu.store, i);
            if (x->kind != VALUE_PARAM) continue;
            Tensor seen;
            assert_no_error(store_view(there.store, &store_find(there.store, x->name)->tensor, true,
                                       there.arena, &seen));
            assert_memory_equal(seen.data, x->tensor.data, tensor_bytes(&x->tensor));
            n++;
        }
        assert_true(n > 5);
        tiny_run_free(&cpu);
        tiny_run_free(&there);
    }
}
