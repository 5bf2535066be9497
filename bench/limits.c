/* limits.c - what this machine can do at most: arithmetic per instruction set, reading memory. */
#include "device/cpu_peak.h"
#include "measure.h"
#include <stdio.h>

int main(void)
{
    Watch w = watch_start();
    printf("one core                    GFLOP/s\n");
    for (int level = CPU_SCALAR; level <= (int)cpu_level_available() && level < CPU_AMX; level++)
        printf("%-12s f32            %8.1f\n", cpu_level_name((CpuLevel)level),
               cpu_core_flops(F32, (CpuLevel)level) * 1e-9);
    for (int level = CPU_AVX512_PAIRS; level <= (int)cpu_level_available(); level++)
        printf("%-12s bf16 %s     %8.1f\n", cpu_level_name((CpuLevel)level),
               level == CPU_AMX ? "tiles" : "pairs", cpu_core_flops(BF16, (CpuLevel)level) * 1e-9);
    printf("reading memory              %8.1f GB/s\n", peak_read_bytes() * 1e-9);
    watch_report(&w);
    return 0;
}
