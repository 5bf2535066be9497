/* json.c - strings and numbers as Python's json.dumps spells them. */
#include "base/json.h"
#include "base/utf8.h"
#include <math.h>

static void put_code(Text *t, uint32_t c)
{
    static const char named[] =
        "\"\"\\\\\bb\ff\nn\rr\tt"; /* pairs: character, letter after the backslash */
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

/* Valid UTF-8. */
static void put_codes(Text *t, const char *s, size_t n)
{
    int len;
    for (size_t at = 0; at < n; at += (size_t)len) put_code(t, utf8_decode(s + at, &len));
}

void text_json_string(Text *t, Str s)
{
    Text clean = { 0 };
    utf8_add_repaired(&clean, s);
    text_putc(t, '"');
    put_codes(t, clean.ptr, clean.len);
    text_putc(t, '"');
    text_free(&clean);
}

void text_json_path(Text *t, const char *path)
{
    Str left = str_of(path);
    text_putc(t, '"');
    while (left.len) {
        size_t valid = utf8_valid_length(left),
               broken = valid < left.len
                            ? utf8_broken_length((Str){ left.ptr + valid, left.len - valid })
                            : 0;
        put_codes(t, left.ptr, valid);
        for (size_t i = valid; i < valid + broken; i++)
            text_printf(t, "\\udc%02x", (unsigned char)left.ptr[i]);
        left = (Str){ left.ptr + valid + broken, left.len - valid - broken };
    }
    text_putc(t, '"');
}

void text_json_double(Text *t, double x)
{
    char number[32];
    format_double(x, number);
    text_puts(t, isnan(x) ? "NaN" : isinf(x) ? x < 0 ? "-Infinity" : "Infinity" : number);
}

void json_put_in_script(const Text *json, FILE *to)
{
    for (size_t i = 0; i < json->len; i++) {
        if (json->ptr[i] == '<')
            fputs("\\u003c", to);
        else
            fputc(json->ptr[i], to);
    }
}
