/* utf8_avx2.c - checks UTF-8 by three table look-ups per byte (Keiser and Lemire 2021).
 *
 * The high and low half of the byte before and the high half of a byte each tell which faults are
 * possible; a fault that all three name is there. That leaves the third and fourth bytes of
 * characters: where one must stand, and only there, two continuation bytes in a row are right. */
#include "base/utf8.h"
#include <immintrin.h>

enum {
    TOO_SHORT = 1,                            /* a first byte without its continuation */
    TOO_LONG = 2,                             /* a continuation behind ASCII */
    OVERLONG_3 = 4,                           /* below U+0800 in three bytes */
    TOO_LARGE = 8,                            /* above U+10FFFF, F4 */
    SURROGATE = 16,                           /* U+D800 to U+DFFF */
    OVERLONG_2 = 32,                          /* ASCII in two bytes */
    OVERLONG_4 = 64,                          /* below U+10000 in four bytes, */
    MUCH_LARGER = 64,                         /* or above U+13FFFF */
    TWO_MORE = 128,                           /* two continuations in a row */
    ANY_LOW = TOO_SHORT | TOO_LONG | TWO_MORE /* do not depend on the low half */
};

typedef struct Block {
    __m256i half[2];
} Block;

static __m256i table(__m128i sixteen)
{
    return _mm256_broadcastsi128_si256(sixteen);
}

static __m256i high_halves(__m256i x)
{
    return _mm256_and_si256(_mm256_srli_epi16(x, 4), _mm256_set1_epi8(15));
}

/* The bytes that stand n places before those of x. */
#define BEFORE(x, last, n) _mm256_alignr_epi8(x, _mm256_permute2x128_si256(last, x, 0x21), 16 - (n))

static __m256i faults(__m256i x, __m256i last)
{
    enum { LARGE = ANY_LOW | TOO_LARGE | MUCH_LARGER };
    const __m256i by_high = table(
        _mm_setr_epi8(TOO_LONG, TOO_LONG, TOO_LONG, TOO_LONG, TOO_LONG, TOO_LONG, TOO_LONG,
                      TOO_LONG, (char)TWO_MORE, (char)TWO_MORE, (char)TWO_MORE, (char)TWO_MORE,
                      TOO_SHORT | OVERLONG_2, TOO_SHORT, TOO_SHORT | OVERLONG_3 | SURROGATE,
                      TOO_SHORT | TOO_LARGE | MUCH_LARGER | OVERLONG_4));
    const __m256i by_low = table(_mm_setr_epi8(
        (char)(ANY_LOW | OVERLONG_3 | OVERLONG_2 | OVERLONG_4), (char)(ANY_LOW | OVERLONG_2),
        (char)ANY_LOW, (char)ANY_LOW, (char)(ANY_LOW | TOO_LARGE), (char)LARGE, (char)LARGE,
        (char)LARGE, (char)LARGE, (char)LARGE, (char)LARGE, (char)LARGE, (char)LARGE,
        (char)(LARGE | SURROGATE), (char)LARGE, (char)LARGE));
    const __m256i by_next = table(_mm_setr_epi8(
        TOO_SHORT, TOO_SHORT, TOO_SHORT, TOO_SHORT, TOO_SHORT, TOO_SHORT, TOO_SHORT, TOO_SHORT,
        (char)(TOO_LONG | OVERLONG_2 | TWO_MORE | OVERLONG_3 | MUCH_LARGER | OVERLONG_4),
        (char)(TOO_LONG | OVERLONG_2 | TWO_MORE | OVERLONG_3 | TOO_LARGE),
        (char)(TOO_LONG | OVERLONG_2 | TWO_MORE | SURROGATE | TOO_LARGE),
        (char)(TOO_LONG | OVERLONG_2 | TWO_MORE | SURROGATE | TOO_LARGE), TOO_SHORT, TOO_SHORT,
        TOO_SHORT, TOO_SHORT));
    __m256i one = BEFORE(x, last, 1), two = BEFORE(x, last, 2), three = BEFORE(x, last, 3);
    __m256i low_half = _mm256_and_si256(one, _mm256_set1_epi8(15));
    __m256i found =
        _mm256_and_si256(_mm256_shuffle_epi8(by_high, high_halves(one)),
                         _mm256_and_si256(_mm256_shuffle_epi8(by_low, low_half),
                                          _mm256_shuffle_epi8(by_next, high_halves(x))));
    __m256i third = _mm256_subs_epu8(two, _mm256_set1_epi8((char)(0xE0 - 0x80)));
    __m256i fourth = _mm256_subs_epu8(three, _mm256_set1_epi8((char)(0xF0 - 0x80)));
    __m256i must_go_on =
        _mm256_and_si256(_mm256_or_si256(third, fourth), _mm256_set1_epi8((char)0x80));
    return _mm256_xor_si256(must_go_on, found);
}

/* Where the character ends or begins that `at` may be in the middle of: not behind `at`. */
static size_t character_edge(const char *text, size_t at)
{
    for (size_t back = 1; back <= 3 && back <= at; back++) {
        unsigned char c = (unsigned char)text[at - back];
        if (c < 0x80) return at;
        if (c < 0xC0) continue;
        size_t len = c < 0xE0 ? 2 : c < 0xF0 ? 3 : 4;
        return len > back ? at - back : at;
    }
    return at;
}

size_t utf8_valid_blocks_avx2(Str s)
{
    const __m256i zero = _mm256_setzero_si256();
    __m256i last = zero;
    size_t at = 0;
    for (; at + 64 <= s.len; at += 64) {
        __m256i low = _mm256_loadu_si256((const __m256i *)(s.ptr + at));
        __m256i high = _mm256_loadu_si256((const __m256i *)(s.ptr + at + 32));
        int wide = _mm256_movemask_epi8(_mm256_or_si256(low, high));
        /* Of `last` only its three last bytes count: are they ASCII, too? */
        int open = _mm256_movemask_epi8(last) & (int)0xE0000000u;
        if (wide | open) {
            __m256i wrong = _mm256_or_si256(faults(low, last), faults(high, low));
            if (!_mm256_testz_si256(wrong, wrong)) break;
        }
        last = high;
    }
    return character_edge(s.ptr, at);
}
