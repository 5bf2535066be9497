/* test_cpu_peak.c - measured rates are those of a processor, also of several threads. */
#include "device/cpu_peak.h"
#include "test.h"
#include <math.h>

TEST(measured_peak_is_plausible_at_every_level)
{
    /* from one multiply-add per nanosecond to 2 x 16 at 8 GHz; without optimization the levels
     * need not differ */
    for (int level = CPU_SCALAR; level <= (int)cpu_level_available(); level++)
        assert_in_range((uint64_t)cpu_core_flops(F32, (CpuLevel)level), 1000000000u, 512000000000u);
    for (int level = CPU_AVX512; level <= (int)cpu_level_available(); level++)
        assert_in_range((uint64_t)cpu_core_flops(BF16, (CpuLevel)level), 2000000000u,
                        level == CPU_AMX ? 16384000000000u : 1024000000000u);
}

TEST(memory_gives_bytes_at_a_rate_of_memories)
{
    Device *two = cpu_device_new(2);
    assert_in_range((uint64_t)cpu_peak_bytes(two), 10000000u, 4000000000000u);
    two->free(two);
}

TEST(peak_of_a_device_is_that_of_its_threads_together)
{
    Device *one = cpu_device_new(1), *two = cpu_device_new(2);
    bool agree = false;
    double single = 0, both = 0;
    for (int i = 0; i < 50 && !agree; i++) { /* what else runs on a host makes rates lower */
        single = fmax(single, cpu_peak_flops(one, F32, CPU_SCALAR));
        both = fmax(both, cpu_peak_flops(two, F32, CPU_SCALAR));
        /* two threads of one core give what one gives */
        agree = both > 0.8 * single && both < 3 * single;
    }
    assert_true(agree);
    one->free(one);
    two->free(two);
}
