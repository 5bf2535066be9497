/* json_string_fast.c - masks of quotes, backslashes, control characters and broken UTF-8, 64 bytes
 * at a time; compiled for each instruction set.
 *
 * Of each block, bit i of a mask speaks of byte i. The string ends at the lowest quote that no
 * backslash escapes; all is well when no bit up to there says that something is wrong. Whatever is
 * wrong, the caller looks again from the start of the string and finds out. */
#include "base/bytes64.h"
#include "base/json_string.h"
#include "base/utf8.h"

#if HAS_BYTES64
enum { HEX_DIGITS = 4, UNICODE_ESCAPE = 6 };

/* Values of hexadecimal digits; -1: none. */
static const int8_t hex_digit[256] = {
    [0 ... '0' - 1] = -1,
    ['0'] = 0,
    ['1'] = 1,
    ['2'] = 2,
    ['3'] = 3,
    ['4'] = 4,
    ['5'] = 5,
    ['6'] = 6,
    ['7'] = 7,
    ['8'] = 8,
    ['9'] = 9,
    ['9' + 1 ... 'A' - 1] = -1,
    ['A'] = 10,
    ['B'] = 11,
    ['C'] = 12,
    ['D'] = 13,
    ['E'] = 14,
    ['F'] = 15,
    ['G' ... 'a' - 1] = -1,
    ['a'] = 10,
    ['b'] = 11,
    ['c'] = 12,
    ['d'] = 13,
    ['e'] = 14,
    ['f'] = 15,
    ['g' ... 255] = -1,
};

/* The code unit of \uXXXX at p, or -1. */
static int code_unit(const char *p, const char *end)
{
    if (end - p < UNICODE_ESCAPE || p[0] != '\\' || p[1] != 'u') return -1;
    int v = 0;
    for (int i = 2; i < UNICODE_ESCAPE; i++) {
        int digit = hex_digit[(uint8_t)p[i]];
        if (digit < 0) return -1;
        v = v << 4 | digit;
    }
    return v;
}

static bool is_first_half(int unit)
{
    return unit >= 0xD800 && unit < 0xDC00;
}

static bool is_second_half(int unit)
{
    return unit >= 0xDC00 && unit < 0xE000;
}

/* ---- passing ---- */

/* What reaches from one block into the next. */
typedef struct Passing {
    Bytes64 before;
    uint64_t open;    /* its last three bytes: which are not ASCII */
    uint64_t escaped; /* 1 when its last byte is a backslash that escapes the next one */
    uint64_t digits;  /* bytes of the next block that must be digits of a \uXXXX begun in it */
    const char *second_half; /* the escape that is the other half of the last surrogate */
} Passing;

/* Bytes after a backslash that is not escaped itself. Backslashes in a row escape each other in
 * pairs: adding a row's start to the row carries through it, and whether start and end of a row are
 * of the same parity tells whether its last one is left over. The subtraction does that for all
 * rows at once, with odd places as the measure of parity. */
static uint64_t escaped_bytes(uint64_t backslash, uint64_t *carry)
{
    const uint64_t odd = 0xAAAAAAAAAAAAAAAAu;
    uint64_t first = backslash & ~*carry; /* can escape */
    uint64_t behind = ((first << 1 | odd) - first) ^ odd;
    uint64_t escaped = behind ^ (backslash | *carry);
    *carry = (behind & backslash) >> 63;
    return escaped;
}

/* Of the bytes in `escaped`, those that no escape has. */
static uint64_t wrong_escapes(Bytes64 x, uint64_t escaped)
{
    enum { H2 = 1, H5 = 2, H6 = 4, H7 = 8 };
    static const char by_high[16] = { [2] = H2, [5] = H5, [6] = H6, [7] = H7 };
    static const char by_low[16] = {
        /* "  /  \  b  f  n  r  t  u */
        [2] = H2 | H6 | H7, [0xF] = H2, [0xC] = H5, [6] = H6, [0xE] = H6, [4] = H7, [5] = H7,
    };
    Bytes64 right = bytes64_and(bytes64_by_high_half(by_high, x), bytes64_by_low_half(by_low, x));
    /* A byte from 80 on finds 0 in the table by its high half, which is not 2, 5, 6 or 7. */
    return escaped & ~bytes64_nonzero(right);
}

static uint64_t hex_bytes(Bytes64 x)
{
    uint64_t digits = bytes64_below(x, '9' + 1) & ~bytes64_below(x, '0');
    uint64_t capitals = bytes64_below(x, 'F' + 1) & ~bytes64_below(x, 'A');
    uint64_t letters = bytes64_below(x, 'f' + 1) & ~bytes64_below(x, 'a');
    return digits | capitals | letters;
}

/* Digits that \u must have and has not. */
static uint64_t wrong_digits(Passing *s, Bytes64 x, uint64_t u)
{
    uint64_t wanted = u << 1 | u << 2 | u << 3 | u << 4 | s->digits;
    s->digits = u >> 63 | u >> 62 | u >> 61 | u >> 60;
    return wanted & ~hex_bytes(x);
}

/* Looks at those \u of the block at p that have a D after them, as halves of surrogates do. */
static bool are_paired(Passing *s, Bytes64 x, uint64_t u, const char *p, const char *end)
{
    uint64_t d = bytes64_equal(x, 'd') | bytes64_equal(x, 'D');
    for (u &= d >> 1 | (uint64_t)1 << 63; u; u &= u - 1) {
        const char *escape = p + __builtin_ctzll(u) - 1;
        int unit = code_unit(escape, end);
        if (is_first_half(unit)) {
            s->second_half = escape + UNICODE_ESCAPE;
            if (!is_second_half(code_unit(s->second_half, end))) return false;
        } else if (is_second_half(unit) && escape != s->second_half) {
            return false;
        }
    }
    return true;
}

static inline __attribute__((always_inline)) const char *pass(const char *const from,
                                                              const char *end, bool surrogates)
{
    Passing s = { .before = bytes64_zero() };
    for (const char *p = from;; p += 64) {
        Bytes64 x = bytes64_load_before(p, end);
        uint64_t stop = bytes64_equal(x, '"') | bytes64_below(x, ' ');
        uint64_t high = bytes64_high(x);
        /* Every second block of prose has a backslash: without a branch that is faster. */
        uint64_t escaped = escaped_bytes(bytes64_equal(x, '\\'), &s.escaped);
        uint64_t wrong = wrong_escapes(x, escaped);
        stop &= ~escaped;
        uint64_t up_to_stop = stop ^ (stop - 1);
        uint64_t u = escaped & bytes64_equal(x, 'u') & up_to_stop;
        if (u | s.digits) {
            wrong |= wrong_digits(&s, x, u);
            if (!surrogates && !are_paired(&s, x, u, p, end)) return from;
        }
        if (high | s.open) wrong |= bytes64_utf8_faults(x, s.before, surrogates);
        if (wrong & up_to_stop) return from;
        if (stop) return p + __builtin_ctzll(stop);
        s.before = x;
        s.open = high >> 61;
    }
}

static const char *pass_strict(const char *p, const char *end)
{
    return pass(p, end, false);
}

static const char *pass_surrogates(const char *p, const char *end)
{
    return pass(p, end, true);
}

/* ---- copying ---- */

/* What a letter after a backslash means. */
static const char meaning[256] = { ['"'] = '"',  ['\\'] = '\\', ['/'] = '/',  ['b'] = '\b',
                                   ['f'] = '\f', ['n'] = '\n',  ['r'] = '\r', ['t'] = '\t' };

/* At a backslash: writes the character and returns what is after the escape, or NULL. */
static const char *copy_escape(const char *p, const char *end, char **to)
{
    if (end - p < 2) return NULL;
    char c = meaning[(uint8_t)p[1]];
    if (c) {
        *(*to)++ = c;
        return p + 2;
    }
    int unit = code_unit(p, end), second;
    if (unit < 0 || is_second_half(unit)) return NULL;
    p += UNICODE_ESCAPE;
    if (is_first_half(unit)) {
        second = code_unit(p, end);
        if (!is_second_half(second)) return NULL;
        unit = 0x10000 + ((unit - 0xD800) << 10) + (second - 0xDC00);
        p += UNICODE_ESCAPE;
    }
    *to += utf8_encode((uint32_t)unit, *to);
    return p;
}

/* Blocks are written whole; of one with a backslash, what lies after is written over. */
static const char *copy(const char *p, const char *end, char *to, char **to_end)
{
    Bytes64 before = bytes64_zero();
    uint64_t open = 0;
    for (;;) {
        Bytes64 x = bytes64_load_before(p, end);
        uint64_t stop = bytes64_equal(x, '"') | bytes64_equal(x, '\\') | bytes64_below(x, ' ');
        uint64_t high = bytes64_high(x);
        bytes64_store(to, x);
        if (high | open && bytes64_utf8_faults(x, before, false) & (stop ^ (stop - 1))) return NULL;
        if (!stop) {
            p += 64;
            to += 64;
            before = x;
            open = high >> 61;
            continue;
        }
        p += __builtin_ctzll(stop);
        to += __builtin_ctzll(stop);
        if (p == end || (uint8_t)*p < ' ') return NULL;
        if (*p == '"') {
            *to_end = to;
            return p;
        }
        while (p < end && *p == '\\')
            if (!(p = copy_escape(p, end, &to))) return NULL;
        before = bytes64_zero(); /* a character begins here */
        open = 0;
    }
}

const JsonString TABLE = { pass_strict, pass_surrogates, copy };

#if defined(__AVX512BW__)
/* The same without a branch for each short escape: escaped letters are exchanged for what they mean
 * and their backslashes squeezed out. A block ends before \u, and before an escape that reaches
 * over its end. */
__attribute__((target("avx512vbmi,avx512vbmi2"))) static const char *
copy_squeezing(const char *p, const char *end, char *to, char **to_end)
{
    const Bytes64 low = bytes64_load(meaning), high_half = bytes64_load(meaning + 64);
    Bytes64 before = bytes64_zero();
    uint64_t open = 0;
    for (;;) {
        Bytes64 x = bytes64_load_before(p, end);
        uint64_t backslash = bytes64_equal(x, '\\'), high = bytes64_high(x), none = 0;
        uint64_t stop = bytes64_equal(x, '"') | bytes64_below(x, ' ');
        uint64_t escaped = escaped_bytes(backslash, &none), escapes = backslash & ~escaped;
        stop &= ~escaped;
        stop |= (escaped & bytes64_equal(x, 'u')) >> 1 | (escapes & (uint64_t)1 << 63);
        uint64_t wrong = wrong_escapes(x, escaped), up_to_stop = stop ^ (stop - 1);
        if (high | open) wrong |= bytes64_utf8_faults(x, before, false);
        if (wrong & up_to_stop) return NULL;
        uint64_t kept = (stop ? up_to_stop >> 1 : ~(uint64_t)0) & ~escapes;
        Bytes64 meant =
            _mm512_mask_mov_epi8(x, escaped, _mm512_permutex2var_epi8(low, x, high_half));
        bytes64_store(to, _mm512_maskz_compress_epi8(kept, meant));
        to += __builtin_popcountll(kept);
        before = x;
        open = high >> 61;
        p += stop ? __builtin_ctzll(stop) : 64;
        if (!stop) continue;
        if (p == end || (uint8_t)*p < ' ') return NULL;
        if (*p == '"') {
            *to_end = to;
            return p;
        }
        while (end - p > 1 && p[0] == '\\' && p[1] == 'u')
            if (!(p = copy_escape(p, end, &to))) return NULL;
        before = bytes64_zero(); /* a character begins here */
        open = 0;
    }
}

const JsonString json_string_vbmi2 = { pass_strict, pass_surrogates, copy_squeezing };
#endif
#else
const JsonString TABLE = { 0 };
#endif
