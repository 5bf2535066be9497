/* byte_alphabet.c - bytes as printable characters, as GPT-2's vocabulary spells them. */
#include "tokenizer/text/byte_alphabet.h"
#include "base/utf8.h"

/* The bytes that stand for themselves in between, as three stretches of others before, between and
 * after them: 0-32, 127-160, 173. */
uint32_t byte_to_char(uint8_t b)
{
    if (b <= 32) return 256u + b;
    if (b >= 127 && b <= 160) return 256u + 33 + (b - 127u);
    if (b == 173) return 256u + 33 + 34;
    return b;
}

int char_to_byte(uint32_t c)
{
    if (c < 256) return byte_to_char((uint8_t)c) == c ? (int)c : -1;
    c -= 256;
    if (c < 33) return (int)c;
    if (c < 33 + 34) return (int)(c - 33 + 127);
    return c == 33 + 34 ? 173 : -1;
}

void bytes_to_name(Str bytes, Text *out)
{
    for (size_t i = 0; i < bytes.len; i++) {
        char c[4];
        int n = utf8_encode(byte_to_char((uint8_t)bytes.ptr[i]), c);
        text_add(out, c, (size_t)n);
    }
}

void byte_name_sources(Str bytes, Sources *sources)
{
    for (size_t i = 0; sources && i < bytes.len; i++)
        sources_repeat(sources, (uint32_t)i, byte_to_char((uint8_t)bytes.ptr[i]) < 0x80 ? 1 : 2);
}

bool name_to_bytes(Str name, Text *out)
{
    size_t before = out->len;
    for (size_t at = 0; at < name.len;) {
        int n, byte = char_to_byte(utf8_decode(name.ptr + at, &n));
        if (byte < 0) {
            out->len = before;
            return false;
        }
        text_putc(out, (char)byte);
        at += (size_t)n;
    }
    return true;
}
