/* cpu.c - asks the CPU, and the environment. */
#include "base/cpu.h"
#include "base/environment.h"
#include <stdlib.h>
#include <string.h>
#if defined(__x86_64__)
#include <cpuid.h>
#include <sys/syscall.h>
#include <unistd.h>
#endif

static const char *const level_names[] = { "scalar",      "avx2",         "avx512",
                                           "avx512_bf16", "avx512_pairs", "amx" };

const char *cpu_level_name(CpuLevel level)
{
    return level_names[level];
}

#if defined(__x86_64__)
/* Whether CPU and system have tiles, and the system lets this process use them: it saves them with
 * each thread only where that was asked for. */
static bool may_use_tiles(void)
{
    enum { FEATURES = 7, BF16_TILES = 1 << 22, TILES = 1 << 24, XSAVE_IN_USE = 1 << 27 };
    enum { ARCH_REQ_XCOMP_PERM = 0x1023, TILE_DATA = 18, TILE_STATE = 3 << 17 };
    unsigned a, b, c, d, saved, high;
    if (!__get_cpuid(1, &a, &b, &c, &d) || !(c & XSAVE_IN_USE)) return false;
    if (!__get_cpuid_count(FEATURES, 0, &a, &b, &c, &d)) return false;
    if ((d & (BF16_TILES | TILES)) != (BF16_TILES | TILES)) return false;
    __asm__ volatile("xgetbv" : "=a"(saved), "=d"(high) : "c"(0));
    if ((saved & TILE_STATE) != TILE_STATE) return false;
    return syscall(SYS_arch_prctl, ARCH_REQ_XCOMP_PERM, TILE_DATA) == 0;
}

/* Asks the system once; for all threads of this process. */
static bool has_tiles(void)
{
    static _Atomic int known; /* 1: no, 2: yes */
    if (!known) known = 1 + may_use_tiles();
    return known == 2;
}
#endif

CpuLevel cpu_level_available(void)
{
#if defined(__x86_64__)
    bool avx2 = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") &&
                __builtin_cpu_supports("bmi") && __builtin_cpu_supports("bmi2");
    bool avx512 = __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
                  __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl");
    if (!avx512 || !avx2) return avx2 ? CPU_AVX2 : CPU_SCALAR;
    if (!__builtin_cpu_supports("avx512bf16")) return CPU_AVX512;
    return has_tiles() ? CPU_AMX : CPU_AVX512_PAIRS;
#else
    return CPU_SCALAR;
#endif
}

/* Intel's cores that have FP16, too, take a pair of bf16 in four times the time of a float: what
 * is widened to floats is multiplied twice as fast. */
static bool pairs_are_slow(void)
{
#if defined(__x86_64__)
    enum { FEATURES = 7, FP16 = 1 << 23 };
    unsigned a, b, c, d;
    return __builtin_cpu_is("intel") && __get_cpuid_count(FEATURES, 0, &a, &b, &c, &d) &&
           (d & FP16);
#else
    return false;
#endif
}

Error *cpu_level(CpuLevel *out)
{
    CpuLevel available = cpu_level_available();
    const char *set = environment_get("MODALITIES_CPU");
    *out = available == CPU_AVX512_PAIRS && pairs_are_slow() ? CPU_AVX512_BF16 : available;
    if (!set || !*set) return NULL;
    for (int level = CPU_SCALAR; level <= CPU_AMX; level++) {
        if (strcmp(set, level_names[level])) continue;
        if (level > available)
            return error_new("MODALITIES_CPU=%s: this CPU has %s at best", set,
                             level_names[available]);
        *out = (CpuLevel)level;
        return NULL;
    }
    return error_usage("MODALITIES_CPU=%s: allowed are scalar, avx2, avx512, avx512_bf16, "
                       "avx512_pairs, amx",
                       set);
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
