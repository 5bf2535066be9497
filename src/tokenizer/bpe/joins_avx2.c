/* joins_avx2.c - the groups of 32 bytes by eight look-ups in sixteen entries each. */
#include "tokenizer/bpe/joins_blocks.h"

/* The table has 128 entries, and one more for all bytes beyond. */
static inline __m256i look_up(const uint8_t *table, __m256i x)
{
    const __m256i out_of_range = _mm256_set1_epi8(0x70);
    __m256i found = _mm256_and_si256(_mm256_cmpgt_epi8(_mm256_setzero_si256(), x),
                                     _mm256_set1_epi8((char)table[128]));
    for (int i = 0; i < 8; i++) {
        __m256i part = _mm256_broadcastsi128_si256(
            _mm_loadu_si128((const __m128i *)(table + (ptrdiff_t)16 * i)));
        __m256i at = _mm256_xor_si256(x, _mm256_set1_epi8((char)(16 * i)));
        at = _mm256_adds_epu8(at, out_of_range); /* the top bit is set from 16 on */
        found = _mm256_or_si256(found, _mm256_shuffle_epi8(part, at));
    }
    return found;
}

static inline uint64_t apart32(const JoinTable *j, const char *text)
{
    __m256i left = look_up(j->joined_to, _mm256_loadu_si256((const __m256i *)(text - 1)));
    __m256i right = look_up(j->group, _mm256_loadu_si256((const __m256i *)text));
    __m256i joined = _mm256_and_si256(left, right);
    return (uint32_t)_mm256_movemask_epi8(_mm256_cmpeq_epi8(joined, _mm256_setzero_si256()));
}

static inline uint64_t apart(const JoinTable *j, const char *text)
{
    return apart32(j, text) | apart32(j, text + 32) << 32;
}

JOINS_CUT(joins_cut_groups_avx2, apart)
