/* json.c - strings and numbers as Python's json.dumps spells them. */
#include "base/json.h"
#include "base/utf8.h"
#include <math.h>

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
    Text clean = { 0 };
    utf8_add_repaired(&clean, s);
    text_putc(t, '"');
    int len;
    for (size_t at = 0; at < clean.len; at += (size_t)len)
        put_code(t, utf8_decode(clean.ptr + at, &len));
    text_putc(t, '"');
    text_free(&clean);
}

void text_json_double(Text *t, double x)
{
    char number[32];
    format_double(x, number);
    text_puts(t, isnan(x) ? "NaN" : isinf(x) ? x < 0 ? "-Infinity" : "Infinity" : number);
}
