/* yaml_analyze.c - which ways to write a text read back as the same text (PyYAML's
 * analyze_scalar). */
#include "config/yaml_analyze.h"
#include <string.h>

/* Length of the UTF-8 sequence at s; 1 for a stray byte, which then stands for itself. */
static int rune_length(const unsigned char *s, size_t left)
{
    int n = *s < 0x80 ? 1 : *s >> 5 == 6 ? 2 : *s >> 4 == 14 ? 3 : *s >> 3 == 30 ? 4 : 1;
    if ((size_t)n > left) return 1;
    for (int i = 1; i < n; i++)
        if (s[i] >> 6 != 2) return 1;
    return n;
}

Runes yaml_runes(Arena *a, const char *text, size_t len)
{
    uint32_t *to = NEW_N(a, uint32_t, len + 1);
    int n = 0;
    for (size_t i = 0; i < len;) {
        const unsigned char *s = (const unsigned char *)text + i;
        int k = rune_length(s, len - i);
        static const unsigned char mask[] = { 0, 0xFF, 0x1F, 0x0F, 0x07 };
        uint32_t c = s[0] & mask[k];
        for (int j = 1; j < k; j++) c = c << 6 | (s[j] & 0x3Fu);
        to[n++] = c;
        i += (size_t)k;
    }
    return (Runes){ to, n };
}

bool yaml_is_break(uint32_t c)
{
    return c == '\n' || c == 0x85 || c == 0x2028 || c == 0x2029;
}

static bool is_space_or_break(uint32_t c)
{
    return c == 0 || c == ' ' || c == '\t' || c == '\r' || yaml_is_break(c);
}

static bool is_one_of(uint32_t c, const char *set)
{
    return c && c < 0x80 && strchr(set, (int)c);
}

/* Characters that would be read as structure in a plain block scalar. */
static bool has_indicators(Runes t)
{
    if (t.n >= 3 && ((t.at[0] == '-' && t.at[1] == '-' && t.at[2] == '-') ||
                     (t.at[0] == '.' && t.at[1] == '.' && t.at[2] == '.')))
        return true;
    for (int i = 0; i < t.n; i++) {
        uint32_t c = t.at[i];
        bool before_space = i + 1 >= t.n || is_space_or_break(t.at[i + 1]);
        bool after_space = i == 0 || is_space_or_break(t.at[i - 1]);
        if (i == 0 && is_one_of(c, "#,[]{}&*!|>'\"%@`")) return true;
        if (i == 0 && is_one_of(c, "?-") && before_space) return true;
        if (c == ':' && before_space) return true;
        if (c == '#' && after_space) return true;
    }
    return false;
}

bool yaml_is_printable(uint32_t c)
{
    return c == 0x85 || (c >= 0xA0 && c <= 0xD7FF) || (c >= 0xE000 && c <= 0xFFFD && c != 0xFEFF) ||
           (c >= 0x10000 && c < 0x10FFFF);
}

ScalarAnalysis yaml_analyze(Runes t, bool keeps_unicode)
{
    ScalarAnalysis a = { .allows_plain = !has_indicators(t), .allows_single_quotes = true };
    if (!t.n) return a;
    uint32_t first = t.at[0], last = t.at[t.n - 1];
    if (first == ' ' || yaml_is_break(first) || last == ' ' || yaml_is_break(last))
        a.allows_plain = false;
    for (int i = 0; i < t.n; i++) {
        uint32_t c = t.at[i], before = i ? t.at[i - 1] : 'x';
        if (yaml_is_break(c)) a.is_multiline = true;
        bool is_special =
            c != '\n' && (c < 0x20 || c > 0x7E) && !(keeps_unicode && yaml_is_printable(c));
        bool is_space_at_break =
            (c == ' ' && yaml_is_break(before) && i) || (yaml_is_break(c) && before == ' ');
        if (is_special || is_space_at_break) a.allows_single_quotes = false;
    }
    if (a.is_multiline || !a.allows_single_quotes) a.allows_plain = false;
    return a;
}
