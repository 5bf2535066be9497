/* cpu.c - asks the CPU, and the environment. */
#include "base/cpu.h"
#include "base/environment.h"
#include <stdlib.h>
#include <string.h>

static const char *const level_names[] = { "scalar", "avx2", "avx512" };

const char *cpu_level_name(CpuLevel level)
{
    return level_names[level];
}

CpuLevel cpu_level_available(void)
{
#if defined(__x86_64__)
    bool avx2 = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") &&
                __builtin_cpu_supports("bmi") && __builtin_cpu_supports("bmi2");
    bool avx512 = __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
                  __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl") &&
                  __builtin_cpu_supports("avx512bf16");
    return avx512 && avx2 ? CPU_AVX512 : avx2 ? CPU_AVX2 : CPU_SCALAR;
#else
    return CPU_SCALAR;
#endif
}

Error *cpu_level(CpuLevel *out)
{
    CpuLevel available = cpu_level_available();
    const char *set = environment_get("MODALITIES_CPU");
    *out = available;
    if (!set || !*set) return NULL;
    for (int level = CPU_SCALAR; level <= CPU_AVX512; level++) {
        if (strcmp(set, level_names[level])) continue;
        *out = (CpuLevel)level;
        if (level <= available) return NULL;
        return error_new("MODALITIES_CPU=%s: this CPU has %s at best", set, level_names[available]);
    }
    return error_usage("MODALITIES_CPU=%s: allowed are scalar, avx2, avx512", set);
}

CpuLevel cpu_level_in_use(void)
{
    static _Atomic int known; /* 1 + level */
    if (!known) {
        CpuLevel level;
        error_free(cpu_level(&level));
        known = 1 + (int)level;
    }
    return (CpuLevel)(known - 1);
}
