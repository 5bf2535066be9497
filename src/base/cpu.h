/* cpu.h - the instruction sets that this program has code for. */
#ifndef BASE_CPU_H
#define BASE_CPU_H
#include "base/error.h"

/* AVX-512 here means F, BW, DQ and VL. With BF16, numbers are rounded by its instructions; with
 * pairs, they are multiplied by them, too, which takes some CPUs twice the time of widening to
 * floats. AMX, where the system lets this process use it, has code of its own for products of BF16
 * alone: all else is what there is below pairs. */
typedef enum CpuLevel {
    KERNEL_PLAIN = -1, /* of kernels for any device alone (ops/kernels.h) */
    CPU_SCALAR,
    CPU_AVX2,
    CPU_AVX512,
    CPU_AVX512_BF16,
    CPU_AVX512_PAIRS,
    CPU_AMX
} CpuLevel;
/* The best instruction set to use. MODALITIES_CPU sets another, by its name; asking for one that
 * the CPU lacks is an error, which leaves the best one. */
Error *cpu_level(CpuLevel *out);
/* For code that cannot fail: what cpu_level gave first, or the best where that is an error. */
CpuLevel cpu_level_in_use(void);
/* What the CPU has, whatever the environment says; where pairs are slow, the best is lower. */
CpuLevel cpu_level_available(void);
const char *cpu_level_name(CpuLevel level);
#endif
