/* utf8.c - checking, reading and repairing UTF-8 by the table of well-formed byte sequences. */
#include "base/utf8.h"
#include <stdbool.h>
#include <string.h>

/* What a first byte asks for: bytes of the character, and the range of the second byte (Unicode
 * table 3-7); later bytes are 80..BF. */
typedef struct Lead {
    int len;
    unsigned char low, high;
} Lead;

static Lead lead_of(unsigned char c)
{
    if (c < 0x80) return (Lead){ 1, 0, 0 };
    if (c < 0xC2 || c > 0xF4) return (Lead){ 0, 0, 0 };
    if (c < 0xE0) return (Lead){ 2, 0x80, 0xBF };
    if (c < 0xF0) return (Lead){ 3, c == 0xE0 ? 0xA0 : 0x80, c == 0xED ? 0x9F : 0xBF };
    return (Lead){ 4, c == 0xF0 ? 0x90 : 0x80, c == 0xF4 ? 0x8F : 0xBF };
}

/* Bytes at s that fit one character; *whole tells whether they are all of it. */
static size_t fitting(Str s, bool *whole)
{
    const unsigned char *p = (const unsigned char *)s.ptr;
    Lead lead = lead_of(p[0]);
    size_t n = 1;
    while (n < lead.len && n < s.len) {
        unsigned char low = n == 1 ? lead.low : 0x80, high = n == 1 ? lead.high : 0xBF;
        if (p[n] < low || p[n] > high) break;
        n++;
    }
    *whole = n == lead.len;
    return n;
}

static const Utf8Level *of_level(CpuLevel level)
{
#if defined(__x86_64__)
    if (level != CPU_SCALAR) return level >= CPU_AVX512 ? &utf8_avx512 : &utf8_avx2;
#endif
    (void)level;
    return &utf8_scalar;
}

size_t utf8_valid_length(Str s)
{
    return utf8_valid_length_at(s.len < 64 ? CPU_SCALAR : cpu_level_in_use(), s);
}

size_t utf8_valid_length_at(CpuLevel level, Str s)
{
    const Utf8Level *blocks = of_level(level);
    size_t at = blocks->valid_blocks ? blocks->valid_blocks(s) : 0;
    while (at < s.len) {
        /* 32 bytes of ASCII at a time: most text. */
        uint64_t w[4];
        while (at + sizeof w <= s.len) {
            memcpy(w, s.ptr + at, sizeof w);
            if ((w[0] | w[1] | w[2] | w[3]) & 0x8080808080808080u) break;
            at += sizeof w;
        }
        for (size_t end = at + sizeof w < s.len ? at + sizeof w : s.len; at < end;) {
            bool whole;
            size_t n = fitting((Str){ s.ptr + at, s.len - at }, &whole);
            if (!whole) return at;
            at += n;
        }
    }
    return at;
}

uint32_t utf8_decode(const char *s, int *len)
{
    const unsigned char *p = (const unsigned char *)s;
    if (p[0] < 0x80) return *len = 1, p[0];
    if (p[0] < 0xE0) return *len = 2, (p[0] & 0x1Fu) << 6 | (p[1] & 0x3Fu);
    if (p[0] < 0xF0) return *len = 3, (p[0] & 0x0Fu) << 12 | (p[1] & 0x3Fu) << 6 | (p[2] & 0x3Fu);
    *len = 4;
    return (p[0] & 0x07u) << 18 | (p[1] & 0x3Fu) << 12 | (p[2] & 0x3Fu) << 6 | (p[3] & 0x3Fu);
}

size_t utf8_broken_length(Str s)
{
    bool whole;
    size_t n = fitting(s, &whole);
    CHECK(!whole);
    return n;
}

void utf8_number_characters(Str s, uint32_t *out)
{
    uint32_t n = 0;
    for (size_t i = 0; i < s.len; i++) {
        n += ((uint8_t)s.ptr[i] & 0xC0) != 0x80;
        out[i] = n - 1;
    }
    out[s.len] = n;
}

void utf8_add_repaired(Text *t, Str s)
{
    while (s.len) {
        size_t n = utf8_valid_length(s);
        text_add(t, s.ptr, n);
        s = (Str){ s.ptr + n, s.len - n };
        if (!s.len) return;
        text_puts(t, "\xEF\xBF\xBD");
        n = utf8_broken_length(s);
        s = (Str){ s.ptr + n, s.len - n };
    }
}
