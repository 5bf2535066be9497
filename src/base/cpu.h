/* cpu.h - the instruction sets that this program has code for. */
#ifndef BASE_CPU_H
#define BASE_CPU_H
#include "base/error.h"

/* The best instruction set to use. MODALITIES_CPU=scalar|avx2|avx512|avx512_bf16|amx sets another;
 * asking for one that the CPU lacks is an error, which leaves the best one. AMX has code of its own
 * for products of BF16 alone: all else is what AVX-512 has without BF16, whose pairs take longer
 * than floats on those CPUs. */
typedef enum CpuLevel {
    KERNEL_PLAIN = -1, /* of kernels for any device alone (ops/kernels.h) */
    CPU_SCALAR,
    CPU_AVX2,
    CPU_AVX512,
    CPU_AVX512_BF16,
    CPU_AMX
} CpuLevel;
Error *cpu_level(CpuLevel *out);
/* For code that cannot fail: what cpu_level gave first, or the best where that is an error. */
CpuLevel cpu_level_in_use(void);
/* What the CPU has, whatever the environment says. AVX-512 here means F, BW, DQ and VL, and
 * with BF16 its products of pairs; AMX tiles and BF16, where the system lets this process use them.
 * Where pairs are slow, the best is lower. */
CpuLevel cpu_level_available(void);
const char *cpu_level_name(CpuLevel level);
#endif
