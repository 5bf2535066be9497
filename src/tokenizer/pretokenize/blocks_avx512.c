/* blocks_avx512.c - masks of characters from one table look-up per byte, and the splitters
 * made of them; needs VBMI2, which whoever chooses asks for. */
#include "tokenizer/pretokenize/cl100k_blocks.h"
#include "tokenizer/pretokenize/gpt2_blocks.h"

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

/* As in blocks_avx2.c. */
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

VBMI GPT2_SPLITTER(split_gpt2_avx512, masks_of)
    CL100K_SPLITTER(VBMI, split_cl100k_avx512, masks_of, 3)
        CL100K_SPLITTER(VBMI, split_qwen2_avx512, masks_of, 1)
