/* pretokenize_gpt2_avx2.c - the words of GPT-2's pattern by boolean algebra over blocks of 64
 * bytes.
 *
 * Each class of characters is a mask with one bit per byte; all bytes of a character carry its
 * class. With letters L, numbers N, white space S, others O, a word starts where
 *   - L, N or O starts, unless a blank stands before, which then starts the word;
 *   - S starts, and at the last character of S before something else: it goes with what follows;
 *   - a contraction ('s 't 'm 'd 'll 're 've) ends that begins where O starts, while the letter in
 * it starts no word. Blocks share no state: each looks back at four bytes, as far as a contraction
 * reaches, and one byte ahead, so that 59 bytes are settled at a time. */
#include "base/utf8.h"
#include "tokenizer/pretokenize.h"
#include "tokenizer/unicode.h"
#include <immintrin.h>
#include <string.h>

enum { LOOK_BACK = 4 };

typedef struct Block {
    const char *text;
    __m256i low, high; /* its 64 bytes */
} Block;

typedef struct Masks {
    uint64_t letter, number, space;
    uint64_t wide_space; /* white space of several bytes */
    uint64_t outside;    /* 0xFF, before and behind the text */
    int last;            /* the last settled bit: the byte behind it starts a character */
} Masks;

static uint64_t bits(__m256i low, __m256i high)
{
    return (uint32_t)_mm256_movemask_epi8(low) | (uint64_t)(uint32_t)_mm256_movemask_epi8(high)
                                                     << 32;
}

static uint64_t equal(const Block *b, char c)
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

static uint64_t first_bits(int n)
{
    return n < 64 ? ((uint64_t)1 << n) - 1 : UINT64_MAX;
}

static void mark(Masks *m, unsigned flags, uint64_t bytes)
{
    if (flags & UNICODE_LETTER) m->letter |= bytes;
    if (flags & UNICODE_NUMBER) m->number |= bytes;
    if (flags & UNICODE_SPACE) {
        m->space |= bytes;
        m->wide_space |= bytes;
    }
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
static uint64_t mark_letter_leads(const Block *b, Masks *m)
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

static void mark_wide_characters(const Block *b, Masks *m)
{
    uint64_t high = bits(b->low, b->high);
    uint64_t bit6 = bits(_mm256_slli_epi16(b->low, 1), _mm256_slli_epi16(b->high, 1));
    uint64_t continuation = high & ~bit6;
    m->outside = equal(b, (char)0xFF);
    m->last = 62 - __builtin_clzll(~continuation);
    if (continuation & 1) { /* the end of a character that starts before the block */
        const char *start = b->text;
        while ((*start & 0xC0) == 0x80) start--;
        int len;
        unsigned flags = unicode_flags(utf8_decode(start, &len));
        mark(m, flags, first_bits(len - (int)(b->text - start)));
    }
    uint64_t leads = high & bit6 & ~m->outside;
    for (leads &= ~mark_letter_leads(b, m); leads; leads &= leads - 1) {
        int at = __builtin_ctzll(leads), len;
        unsigned flags = unicode_flags(utf8_decode(b->text + at, &len));
        mark(m, flags, first_bits(len) << at);
    }
}

static Masks classify(const Block *b)
{
    const __m256i lower_case = _mm256_set1_epi8(0x20);
    Masks m = { .last = 62 };
    m.letter = in_range(_mm256_or_si256(b->low, lower_case), _mm256_or_si256(b->high, lower_case),
                        'a', 'z');
    m.number = in_range(b->low, b->high, '0', '9');
    m.space = equal(b, ' ') | in_range(b->low, b->high, '\t', '\r');
    if (_mm256_movemask_epi8(_mm256_or_si256(b->low, b->high))) mark_wide_characters(b, &m);
    return m;
}

/* Moves each bit of `from` in `wide` to the first byte of its character. */
static uint64_t at_first_byte(const Block *b, uint64_t from, uint64_t wide)
{
    uint64_t moved = from & ~wide;
    for (uint64_t rest = from & wide; rest; rest &= rest - 1) {
        int at = __builtin_ctzll(rest);
        while (at && (b->text[at] & 0xC0) == 0x80) at--;
        moved |= (uint64_t)1 << at;
    }
    return moved;
}

/* The length of a contraction whose apostrophe is at p, or 0. */
static int contraction(const char *p)
{
    if (p[1] == 's' || p[1] == 't' || p[1] == 'm' || p[1] == 'd') return 2;
    return (p[1] == 'l' && p[2] == 'l') || ((p[1] == 'r' || p[1] == 'v') && p[2] == 'e') ? 3 : 0;
}

/* Bits where words start, from LOOK_BACK to *last. */
static uint64_t word_starts(const char *text, int *last)
{
    Block b = { text, _mm256_loadu_si256((const __m256i *)text),
                _mm256_loadu_si256((const __m256i *)(text + 32)) };
    Masks m = classify(&b);
    uint64_t after_blank = equal(&b, ' ') << 1;
    uint64_t other = ~(m.letter | m.number | m.space | m.outside);
    uint64_t other_start = other & ~(other << 1) & ~after_blank;
    uint64_t last_space = m.space & ~((m.space | m.outside) >> 1);
    if (last_space & m.wide_space) last_space = at_first_byte(&b, last_space, m.wide_space);
    uint64_t starts =
        (m.space & ~(m.space << 1)) | last_space | other_start |
        (((m.letter & ~(m.letter << 1)) | (m.number & ~(m.number << 1))) & ~after_blank);
    uint64_t settled = first_bits(m.last + 1);
    for (uint64_t rest = equal(&b, '\'') & other_start & settled & ~(uint64_t)1; rest;
         rest &= rest - 1) {
        int at = __builtin_ctzll(rest), len = contraction(text + at);
        if (!len) continue;
        starts &= ~((uint64_t)2 << at);
        if (at + len < 64) starts |= (uint64_t)1 << (at + len);
    }
    *last = m.last;
    return starts & settled & ~first_bits(LOOK_BACK);
}

int64_t split_gpt2_avx2(const char *text, uint32_t len, uint32_t from, uint32_t until,
                        uint32_t *end)
{
    int64_t n = 0;
    uint32_t at = from + 1; /* ends before are found */
    while (at < len && (!n || end[n - 1] < until)) {
        int last;
        uint64_t starts = word_starts(text + at - LOOK_BACK, &last);
        for (; starts; starts &= starts - 1)
            end[n++] = at - LOOK_BACK + (uint32_t)__builtin_ctzll(starts);
        at += (uint32_t)(last + 1 - LOOK_BACK);
    }
    while (n && end[n - 1] >= len) n--;
    if (at >= len && (!n || end[n - 1] < until)) end[n++] = len;
    return n;
}
