/* json.c - strings and numbers as Python's json.dumps spells them. */
#include "base/json.h"
#include <math.h>
#include <stdint.h>

/* One code point of well-formed UTF-8 (RFC 3629), or U+FFFD and one byte. Returns the bytes used.
 */
static size_t decode(const unsigned char *p, size_t n, uint32_t *code)
{
    static const uint32_t least[] = { 0, 0, 0x80, 0x800, 0x10000 };
    size_t len = p[0] < 0x80       ? 1
                 : p[0] >> 5 == 6  ? 2
                 : p[0] >> 4 == 14 ? 3
                 : p[0] >> 3 == 30 ? 4
                                   : 0;
    *code = 0xFFFD;
    if (len == 0 || len > n) return 1;
    if (len == 1) {
        *code = p[0];
        return 1;
    }
    uint32_t c = p[0] & (0x7Fu >> len);
    for (size_t i = 1; i < len; i++) {
        if (p[i] >> 6 != 2) return 1;
        c = c << 6 | (p[i] & 0x3Fu);
    }
    if (c < least[len] || c > 0x10FFFF || (c >= 0xD800 && c < 0xE000)) return 1;
    *code = c;
    return len;
}

static void put_code(Text *t, uint32_t c)
{
    static const char named[] =
        "\"\"\\\\\bb\ff\nn\rr\tt"; /* pairs: character, letter behind the backslash */
    for (const char *p = named; *p; p += 2) {
        if (c != (unsigned char)*p) continue;
        text_putc(t, '\\');
        text_putc(t, p[1]);
        return;
    }
    if (c >= ' ' && c <= '~')
        text_putc(t, (char)c);
    else if (c < 0x10000)
        text_printf(t, "\\u%04x", c);
    else
        text_printf(t, "\\u%04x\\u%04x", 0xD800 + ((c - 0x10000) >> 10),
                    0xDC00 + ((c - 0x10000) & 0x3FF));
}

void text_json_string(Text *t, Str s)
{
    text_putc(t, '"');
    for (size_t at = 0; at < s.len;) {
        uint32_t code;
        at += decode((const unsigned char *)s.ptr + at, s.len - at, &code);
        put_code(t, code);
    }
    text_putc(t, '"');
}

void text_json_double(Text *t, double x)
{
    char number[32];
    format_double(x, number);
    text_puts(t, isnan(x) ? "NaN" : isinf(x) ? x < 0 ? "-Infinity" : "Infinity" : number);
}
