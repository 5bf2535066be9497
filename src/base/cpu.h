/* cpu.h - the instruction sets that this program has code for. */
#ifndef BASE_CPU_H
#define BASE_CPU_H
#include "base/error.h"

/* The best instruction set to use. MODALITIES_CPU=scalar|avx2|avx512 lowers it; asking for one that
 * the CPU lacks is an error. */
typedef enum CpuLevel { CPU_SCALAR, CPU_AVX2, CPU_AVX512 } CpuLevel;
Error *cpu_level(CpuLevel *out);
/* For code that cannot fail: what cpu_level gave first, or the best where that is an error. */
CpuLevel cpu_level_in_use(void);
/* What the CPU has, whatever the environment says. AVX-512 here means F, BW, DQ, VL and BF16. */
CpuLevel cpu_level_available(void);
const char *cpu_level_name(CpuLevel level);
#endif
