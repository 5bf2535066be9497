/* characters.c - texts by character. */
#include "template/characters.h"
#include "base/utf8.h"
#include <string.h>
#include <utf8proc.h>

static bool begins_character(char c)
{
    return ((unsigned char)c & 0xC0) != 0x80;
}

int64_t characters_count(Str s)
{
    int64_t n = 0;
    for (size_t i = 0; i < s.len; i++) n += begins_character(s.ptr[i]);
    return n;
}

size_t characters_offset(Str s, int64_t i)
{
    size_t at = 0;
    for (; at < s.len; at++)
        if (begins_character(s.ptr[at]) && i-- == 0) break;
    return at;
}

bool is_space_character(uint32_t c)
{
    static const uint32_t beyond_latin[] = { 0x1680, 0x2028, 0x2029, 0x202F, 0x205F, 0x3000 };
    if (c < 0x100) return (c >= 9 && c <= 13) || (c >= 0x1C && c <= ' ') || c == 0x85 || c == 0xA0;
    for (size_t i = 0; i < sizeof beyond_latin / sizeof *beyond_latin; i++)
        if (c == beyond_latin[i]) return true;
    return c >= 0x2000 && c <= 0x200A;
}

static bool strips(const Str *set, const char *at, int len)
{
    if (!set) return is_space_character(utf8_decode(at, &(int){ 0 }));
    return str_find(*set, (Str){ at, (size_t)len }, 0) >= 0;
}

Str characters_strip(Str s, const Str *set, int sides)
{
    int len;
    while (sides & STRIP_LEFT && s.len) {
        utf8_decode(s.ptr, &len);
        if (!strips(set, s.ptr, len)) break;
        s = (Str){ s.ptr + len, s.len - (size_t)len };
    }
    while (sides & STRIP_RIGHT && s.len) {
        len = 1;
        while (!begins_character(s.ptr[s.len - (size_t)len])) len++;
        if (!strips(set, s.ptr + s.len - len, len)) break;
        s.len -= (size_t)len;
    }
    return s;
}

static bool ends_line(uint32_t c)
{
    return (c >= 10 && c <= 13) || (c >= 0x1C && c <= 0x1E) || c == 0x85 || c == 0x2028 ||
           c == 0x2029;
}

Str characters_line(Str s, Str *rest, bool *has_end)
{
    int len;
    for (size_t at = 0; at < s.len; at += (size_t)len) {
        if (!ends_line(utf8_decode(s.ptr + at, &len))) continue;
        size_t next = at + (size_t)len;
        if (s.ptr[at] == '\r' && next < s.len && s.ptr[next] == '\n') next++;
        *rest = (Str){ s.ptr + next, s.len - next };
        *has_end = true;
        return (Str){ s.ptr, at };
    }
    *rest = (Str){ s.ptr + s.len, 0 };
    *has_end = false;
    return s;
}

int64_t str_find(Str s, Str part, size_t from)
{
    if (from > s.len) return -1;
    if (!part.len) return (int64_t)from;
    const char *at = memmem(s.ptr + from, s.len - from, part.ptr, part.len);
    return at ? at - s.ptr : -1;
}

/* Characters whose upper case is several characters (Unicode's SpecialCasing.txt), as ranges; some
 * between them are taken along. */
static const uint32_t special_upper[][2] = {
    { 0xDF, 0xDF },     { 0x149, 0x149 },   { 0x1F0, 0x1F0 },   { 0x390, 0x390 },
    { 0x3B0, 0x3B0 },   { 0x587, 0x587 },   { 0x1E96, 0x1E9A }, { 0x1F50, 0x1F56 },
    { 0x1F80, 0x1FFC }, { 0xFB00, 0xFB06 }, { 0xFB13, 0xFB17 },
};

static bool is_special(uint32_t c, LetterCase to)
{
    if (to == CASE_LOWER) return c == 0x130 || c == 0x3A3; /* two characters; a sigma at the end */
    for (size_t i = 0; i < sizeof special_upper / sizeof *special_upper; i++)
        if (c >= special_upper[i][0] && c <= special_upper[i][1]) return true;
    return false;
}

Error *characters_to_case(Str s, LetterCase to, Text *out)
{
    int len;
    for (size_t at = 0; at < s.len; at += (size_t)len) {
        utf8proc_int32_t c = (utf8proc_int32_t)utf8_decode(s.ptr + at, &len);
        if (is_special((uint32_t)c, to))
            return error_new("the case of '%.*s' cannot be changed: its other case is not one "
                             "character",
                             len, s.ptr + at);
        utf8proc_int32_t other = to == CASE_LOWER   ? utf8proc_tolower(c)
                                 : to == CASE_UPPER ? utf8proc_toupper(c)
                                                    : utf8proc_totitle(c);
        char bytes[4];
        text_add(out, bytes, (size_t)utf8_encode((uint32_t)other, bytes));
    }
    return NULL;
}
