/* test_cpu.c - which instruction set is used. */
#include "base/cpu.h"
#include "test.h"
#include <stdlib.h>

/* What MODALITIES_CPU makes of the level, and of the error if there is one. */
static CpuLevel level_of(const char *set, const char *fault)
{
    CpuLevel level;
    setenv("MODALITIES_CPU", set, 1);
    Error *e = cpu_level(&level);
    unsetenv("MODALITIES_CPU");
    if (fault)
        assert_error_has(e, fault);
    else
        assert_no_error(e);
    return level;
}

TEST(an_instruction_set_is_asked_for_by_its_name)
{
    const CpuLevel best = level_of("", NULL), available = cpu_level_available();
    assert_true(best <= available);
    /* only pairs of bf16 are ever left out */
    assert_true(best == available || (best == CPU_AVX512_BF16 && available == CPU_AVX512_PAIRS));
    for (CpuLevel level = CPU_SCALAR; level <= CPU_AMX; level++) {
        const bool has = level <= available;
        const char *name = cpu_level_name(level);
        assert_int_equal(level_of(name, has ? NULL : cpu_level_name(available)),
                         has ? level : best);
    }
    assert_int_equal(level_of("avx", "scalar, avx2, avx512, avx512_bf16, avx512_pairs, amx"), best);
}
