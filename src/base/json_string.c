/* json_string.c - chooses the loops over strings for a CPU. */
#include "base/json_string.h"

const JsonString *json_string(CpuLevel level)
{
#if defined(__x86_64__)
    if (level >= CPU_AVX512) {
        bool squeezes =
            __builtin_cpu_supports("avx512vbmi") && __builtin_cpu_supports("avx512vbmi2");
        return squeezes ? &json_string_vbmi2 : &json_string_avx512;
    }
    if (level == CPU_AVX2) return &json_string_avx2;
#endif
    (void)level;
    return &json_string_scalar;
}
