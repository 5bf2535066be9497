/* joins_avx512.c - the groups of 64 bytes by one table look-up; needs VBMI2, which whoever chooses
 * asks for. */
#include "tokenizer/bpe/joins_blocks.h"

#define VBMI __attribute__((target("avx512vbmi,avx512vbmi2")))

VBMI static inline __m512i look_up(const uint8_t *table, __m512i x, uint64_t high)
{
    __m512i ascii =
        _mm512_permutex2var_epi8(_mm512_loadu_si512(table), x, _mm512_loadu_si512(table + 64));
    return _mm512_mask_mov_epi8(ascii, high, _mm512_set1_epi8((char)table[128]));
}

VBMI static inline uint64_t apart(const JoinTable *j, const char *text)
{
    __m512i left = _mm512_loadu_si512(text - 1), right = _mm512_loadu_si512(text);
    return _mm512_testn_epi8_mask(look_up(j->joined_to, left, _mm512_movepi8_mask(left)),
                                  look_up(j->group, right, _mm512_movepi8_mask(right)));
}

VBMI JOINS_CUT(joins_cut_groups_avx512, apart)
