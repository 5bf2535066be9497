/* pretokenize_avx512.c - masks of characters from one table look-up per byte, and the splitters
 * made of them; needs VBMI2, which whoever chooses asks for. */
#include "tokenizer/pretokenize_cl100k_blocks.h"
#include "tokenizer/pretokenize_gpt2_blocks.h"
#include <immintrin.h>

#define VBMI __attribute__((target("avx512vbmi,avx512vbmi2")))

enum { LETTER = 1, NUMBER = 2, SPACE = 4, BLANK = 8, APOSTROPHE = 16, LINE_END = 32 };

/* By the seven low bits of a byte. */
static const uint8_t class_of[128] = {
    ['\t'] = SPACE,          ['\n'] = SPACE | LINE_END,
    ['\v' ... '\f'] = SPACE, ['\r'] = SPACE | LINE_END,
    [' '] = SPACE | BLANK,   ['\''] = APOSTROPHE,
    ['0' ... '9'] = NUMBER,  ['A' ... 'Z'] = LETTER,
    ['a' ... 'z'] = LETTER,
};

/* As in pretokenize_avx2.c. */
static __m512i letter_leads(__m512i x)
{
    const __m512i by_low =
        _mm512_broadcast_i32x4(_mm_setr_epi8(2, 2, 0, 3, 1, 5, 5, 5, 5, 5, 1, 4, 4, 0, 0, 0));
    const __m512i by_high =
        _mm512_broadcast_i32x4(_mm_setr_epi8(0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 2, 4, 0));
    const __m512i half = _mm512_set1_epi8(15);
    return _mm512_and_si512(
        _mm512_shuffle_epi8(by_low, _mm512_and_si512(x, half)),
        _mm512_shuffle_epi8(by_high, _mm512_and_si512(_mm512_srli_epi16(x, 4), half)));
}

static uint64_t equal(__m512i x, char c)
{
    return _mm512_cmpeq_epi8_mask(x, _mm512_set1_epi8(c));
}

static uint64_t mark_letter_leads(__m512i x, Masks *m)
{
    __m512i found = letter_leads(x);
    uint64_t leads = _mm512_test_epi8_mask(found, found);
    uint64_t of_three = _mm512_test_epi8_mask(found, _mm512_set1_epi8(4));
    uint64_t signs = (equal(x, (char)0x97) | equal(x, (char)0xB7)) >> 1 | (uint64_t)1 << 63;
    leads &= ~(equal(x, (char)0xC3) & signs);
    m->letter |= leads | leads << 1 | (of_three & leads) << 2;
    return leads;
}

VBMI static inline __attribute__((always_inline)) Masks masks_of(const char *text)
{
    const __m512i table_low = _mm512_loadu_si512(class_of),
                  table_high = _mm512_loadu_si512(class_of + 64);
    __m512i x = _mm512_loadu_si512(text);
    uint64_t high = _mm512_movepi8_mask(x);
    __m512i class = _mm512_permutex2var_epi8(table_low, x, table_high);
    Masks m = { .letter = _mm512_test_epi8_mask(class, _mm512_set1_epi8(LETTER)),
                .number = _mm512_test_epi8_mask(class, _mm512_set1_epi8(NUMBER)),
                .space = _mm512_test_epi8_mask(class, _mm512_set1_epi8(SPACE)),
                .blank = _mm512_test_epi8_mask(class, _mm512_set1_epi8(BLANK)),
                .apostrophe = _mm512_test_epi8_mask(class, _mm512_set1_epi8(APOSTROPHE)),
                .line_end = _mm512_test_epi8_mask(class, _mm512_set1_epi8(LINE_END)),
                .last = 62 };
    if (!high) return m;
    m.letter &= ~high;
    m.number &= ~high;
    m.space &= ~high;
    m.blank &= ~high;
    m.apostrophe &= ~high;
    m.line_end &= ~high;
    m.outside = equal(x, (char)0xFF);
    uint64_t bit6 = _mm512_test_epi8_mask(x, _mm512_set1_epi8(0x40));
    uint64_t leads = high & bit6 & ~m.outside;
    mark_wide(&m, text, leads & ~mark_letter_leads(x, &m), high & ~bit6);
    return m;
}

VBMI static inline __attribute__((always_inline)) int64_t write_places(uint32_t *end, uint32_t at,
                                                                       uint64_t starts)
{
    const __m512i places = _mm512_set_epi8(
        63, 62, 61, 60, 59, 58, 57, 56, 55, 54, 53, 52, 51, 50, 49, 48, 47, 46, 45, 44, 43, 42, 41,
        40, 39, 38, 37, 36, 35, 34, 33, 32, 31, 30, 29, 28, 27, 26, 25, 24, 23, 22, 21, 20, 19, 18,
        17, 16, 15, 14, 13, 12, 11, 10, 9, 8, 7, 6, 5, 4, 3, 2, 1, 0);
    const __m512i from = _mm512_set1_epi32((int)at);
    int64_t n = __builtin_popcountll(starts);
    __m512i found = _mm512_maskz_compress_epi8(starts, places);
#define SIXTEEN(i) _mm512_cvtepu8_epi32(_mm512_extracti32x4_epi32(found, i))
    _mm512_storeu_si512(end, _mm512_add_epi32(SIXTEEN(0), from));
    _mm512_storeu_si512(end + 16, _mm512_add_epi32(SIXTEEN(1), from));
    if (n > 32) {
        _mm512_storeu_si512(end + 32, _mm512_add_epi32(SIXTEEN(2), from));
        _mm512_storeu_si512(end + 48, _mm512_add_epi32(SIXTEEN(3), from));
    }
    return n;
}

VBMI GPT2_SPLITTER(split_gpt2_avx512, masks_of, write_places)
    CL100K_SPLITTER(VBMI, split_cl100k_avx512, masks_of, write_places, 3)
        CL100K_SPLITTER(VBMI, split_qwen2_avx512, masks_of, write_places, 1)
