/* word_bytes.c - masks by the length of a word. */
#include "tokenizer/cache/word_bytes.h"

/* clang-format off */
#define ALL UINT64_MAX
const uint64_t word_low_mask[17] = { 0, 0xFF, 0xFFFF, 0xFFFFFF, ALL >> 32, ALL >> 24, ALL >> 16, ALL >> 8,
                                     ALL, ALL, ALL, ALL, ALL, ALL, ALL, ALL, ALL };
const uint64_t word_high_mask[17] = { 0, 0, 0, 0, 0, 0, 0, 0,
                                      0, 0xFF, 0xFFFF, 0xFFFFFF, ALL >> 32, ALL >> 24, ALL >> 16, ALL >> 8, ALL };
/* clang-format on */
