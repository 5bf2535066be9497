/* word_levels.c - chooses the loops for this CPU. */
#include "tokenizer/cache/word_levels.h"
#include "base/cpu.h"

const WordLevels *word_levels(void)
{
#if defined(__x86_64__)
    if (cpu_level_in_use() >= CPU_AVX512) return &word_levels_avx512;
    if (cpu_level_in_use() == CPU_AVX2) return &word_levels_avx2;
#endif
    return &word_levels_scalar;
}
