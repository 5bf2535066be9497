/* blocks_avx2.c - masks of characters in two halves of 32 bytes, and the splitters made of
 * them. */
#include "tokenizer/pretokenize/cl100k_blocks.h"
#include "tokenizer/pretokenize/gpt2_blocks.h"

typedef struct Bytes32 {
    __m256i low, high; /* its 64 bytes */
} Bytes32;

static uint64_t bits(__m256i low, __m256i high)
{
    return (uint32_t)_mm256_movemask_epi8(low) | (uint64_t)(uint32_t)_mm256_movemask_epi8(high)
                                                     << 32;
}

static uint64_t equal(const Bytes32 *b, char c)
{
    __m256i x = _mm256_set1_epi8(c);
    return bits(_mm256_cmpeq_epi8(b->low, x), _mm256_cmpeq_epi8(b->high, x));
}

/* ASCII bytes from `first` to `last`: moved to the end of the signed range, they are the greatest.
 */
static uint64_t in_range(__m256i low, __m256i high, char first, char last)
{
    __m256i shift = _mm256_set1_epi8((char)(127 - last)),
            floor = _mm256_set1_epi8((char)(126 - last + first));
    return bits(_mm256_cmpgt_epi8(_mm256_add_epi8(low, shift), floor),
                _mm256_cmpgt_epi8(_mm256_add_epi8(high, shift), floor));
}

/* First bytes whose characters are all letters, by two table look-ups: the low half of the byte
 * gives the high halves that qualify (1: C, 2: D, 4: E), the high half gives its bit. C4 to CA, D0,
 * D1, D3 start two bytes, E5 to E9, EB, EC three; C3 too, but for U+00D7 and U+00F7. */
static __m256i letter_leads(__m256i x)
{
    const __m256i by_low =
        _mm256_broadcastsi128_si256(_mm_setr_epi8(2, 2, 0, 3, 1, 5, 5, 5, 5, 5, 1, 4, 4, 0, 0, 0));
    const __m256i by_high =
        _mm256_broadcastsi128_si256(_mm_setr_epi8(0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 2, 4, 0));
    const __m256i half = _mm256_set1_epi8(15);
    __m256i low = _mm256_shuffle_epi8(by_low, _mm256_and_si256(x, half));
    __m256i high = _mm256_shuffle_epi8(by_high, _mm256_and_si256(_mm256_srli_epi16(x, 4), half));
    return _mm256_and_si256(low, high);
}

/* Marks those and returns their first bytes. */
static uint64_t mark_letter_leads(const Bytes32 *b, Masks *m)
{
    const __m256i zero = _mm256_setzero_si256();
    __m256i low = letter_leads(b->low), high = letter_leads(b->high);
    uint64_t leads = ~bits(_mm256_cmpeq_epi8(low, zero), _mm256_cmpeq_epi8(high, zero));
    uint64_t of_three = bits(_mm256_slli_epi16(low, 5), _mm256_slli_epi16(high, 5)) & leads;
    uint64_t signs = (equal(b, (char)0x97) | equal(b, (char)0xB7)) >> 1 |
                     (uint64_t)1 << 63; /* U+00D7, U+00F7, or unknown */
    leads &= ~(equal(b, (char)0xC3) & signs);
    m->letter |= leads | leads << 1 | of_three << 2;
    return leads;
}

static inline __attribute__((always_inline)) Masks masks_of(const char *text)
{
    const __m256i lower_case = _mm256_set1_epi8(0x20);
    Bytes32 b = { _mm256_loadu_si256((const __m256i *)text),
                  _mm256_loadu_si256((const __m256i *)(text + 32)) };
    Masks m = { .last = 62, .blank = equal(&b, ' '), .apostrophe = equal(&b, '\'') };
    m.letter =
        in_range(_mm256_or_si256(b.low, lower_case), _mm256_or_si256(b.high, lower_case), 'a', 'z');
    m.number = in_range(b.low, b.high, '0', '9');
    m.space = m.blank | in_range(b.low, b.high, '\t', '\r');
    m.line_end = equal(&b, '\r') | equal(&b, '\n');
    uint64_t high = bits(b.low, b.high);
    if (!high) return m;
    uint64_t bit6 = bits(_mm256_slli_epi16(b.low, 1), _mm256_slli_epi16(b.high, 1));
    m.outside = equal(&b, (char)0xFF);
    uint64_t leads = high & bit6 & ~m.outside;
    mark_wide(&m, text, leads & ~mark_letter_leads(&b, &m), high & ~bit6);
    return m;
}

GPT2_SPLITTER(split_gpt2_avx2, masks_of)
CL100K_SPLITTER(, split_cl100k_avx2, masks_of, 3)
CL100K_SPLITTER(, split_qwen2_avx2, masks_of, 1)
