/* json_scan.c - a recursive-descent scanner over one line that stops at the first fault.
 *
 * Almost all bytes of a corpus lie in strings. Those without a fault are passed in blocks
 * (json_string.h) where the CPU has them; here they are looked at eight bytes at a time: one word
 * is tested for quote, backslash, control and non-ASCII bytes at once. */
#include "base/json_scan.h"
#include "base/error.h"
#include "base/json_string.h"
#include "base/utf8.h"
#include <string.h>

typedef struct Scan {
    const JsonString *blocks;
    const char *p, *start, *end;
    const char *fault_at, *reason; /* of the first fault */
    bool pass_surrogates;
    const Str *key;
    int n_keys;
    Text *out; /* the string at the end of the path */
    JsonFound found;
    Text unescaped_key;
} Scan;

/* Off the path the level is NO_PATH; on it, the number of keys already followed. */
enum { NO_PATH = -1 };

static bool scan_value(Scan *s, int level, int depth);

static bool fault(Scan *s, const char *at, const char *reason)
{
    s->fault_at = at;
    s->reason = reason;
    return false;
}

/* Bytes of the well-formed UTF-8 character at p, or 0. With `surrogates`, three-byte forms of
 * U+D800 to U+DFFF count as well-formed. */
static int character_length(const char *p, const char *end, bool surrogates)
{
    uint8_t c = (uint8_t)*p, low = 0x80, high = 0xBF;
    if (c < 0x80) return 1;
    if (c < 0xC2 || c > 0xF4) return 0;
    int n = c < 0xE0 ? 2 : c < 0xF0 ? 3 : 4;
    if (end - p < n) return 0;
    if (c == 0xE0) low = 0xA0;
    if (c == 0xED && !surrogates) high = 0x9F;
    if (c == 0xF0) low = 0x90;
    if (c == 0xF4) high = 0x8F;
    if ((uint8_t)p[1] < low || (uint8_t)p[1] > high) return 0;
    for (int i = 2; i < n; i++)
        if (((uint8_t)p[i] & 0xC0) != 0x80) return 0;
    return n;
}

/* The first byte of [p, end) that is a quote, a backslash, a control character or not ASCII. */
static const char *plain_end(const char *p, const char *end)
{
    const uint64_t ones = 0x0101010101010101u, high = 0x80 * ones;
    for (; end - p >= 8; p += 8) {
        uint64_t w, quote, slash;
        memcpy(&w, p, 8);
        quote = w ^ '"' * ones;
        slash = w ^ '\\' * ones;
        /* x - ones borrows into a byte's top bit where it is zero; w - 0x20.. where it is below
         * 0x20. A borrow may run on into higher bytes, never into lower ones, so the lowest hit is
         * right. */
        uint64_t hit =
            ((quote - ones) & ~quote) | ((slash - ones) & ~slash) | ((w - 0x20 * ones) & ~w) | w;
        hit &= high;
        if (hit) return p + (__builtin_ctzll(hit) >> 3);
    }
    while (p < end && *p != '"' && *p != '\\' && (uint8_t)*p >= 0x20 && (uint8_t)*p < 0x80) p++;
    return p;
}

/* Four hexadecimal digits at p, or -1. */
static int hex4(const char *p, const char *end)
{
    if (end - p < 4) return -1;
    int v = 0;
    for (int i = 0; i < 4; i++) {
        char c = p[i], lower = (char)(c | 0x20);
        int digit = c >= '0' && c <= '9'           ? c - '0'
                    : lower >= 'a' && lower <= 'f' ? lower - 'a' + 10
                                                   : -1;
        if (digit < 0) return -1;
        v = v << 4 | digit;
    }
    return v;
}

/* At a backslash: checks the escape, adds its character to `out` unless that is NULL. */
static bool scan_escape(Scan *s, Text *out)
{
    static const char from[] = "\"\\/bfnrt", to[] = "\"\\/\b\f\n\r\t";
    const char *at = s->p++;
    if (s->p == s->end) return fault(s, at, "Unterminated string: it ends in a backslash");
    char c = *s->p++;
    const char *simple = c ? strchr(from, c) : NULL;
    if (simple) {
        if (out) text_putc(out, to[simple - from]);
        return true;
    }
    if (c != 'u') return fault(s, at, "Invalid \\escape");
    int v = hex4(s->p, s->end), low;
    if (v < 0) return fault(s, at, "Invalid \\uXXXX escape");
    s->p += 4;
    bool is_pair = v >= 0xD800 && v < 0xDC00 && s->end - s->p >= 6 && s->p[0] == '\\' &&
                   s->p[1] == 'u' && (low = hex4(s->p + 2, s->end)) >= 0xDC00 && low < 0xE000;
    if (is_pair) {
        v = 0x10000 + ((v - 0xD800) << 10) + (low - 0xDC00);
        s->p += 6;
    } else if (v >= 0xD800 && v < 0xE000 && !s->pass_surrogates) {
        return fault(s, at, "a surrogate \\uXXXX escape without its other half");
    }
    char utf8[4];
    if (out) text_add(out, utf8, (size_t)utf8_encode((uint32_t)v, utf8));
    return true;
}

/* After an opening quote: goes on over what is right, to the closing quote if there is no fault.
 */
static void pass_blocks(Scan *s, Text *out)
{
    const JsonString *b = s->blocks;
    if (!b->pass) return;
    if (!out) {
        s->p = (s->pass_surrogates ? b->pass_surrogates : b->pass)(s->p, s->end);
        return;
    }
    char *to = text_reserve(out, (size_t)(s->end - s->p) + 64), *to_end;
    const char *quote = s->pass_surrogates ? NULL : b->copy(s->p, s->end, to, &to_end);
    if (!quote) return;
    text_extend(out, (size_t)(to_end - to));
    s->p = quote;
}

/* At an opening quote. The characters go to `out` unless that is NULL. */
static bool scan_string(Scan *s, Text *out)
{
    const char *open = s->p++;
    pass_blocks(s, out);
    for (;;) {
        const char *from = s->p;
        for (;;) {
            s->p = plain_end(s->p, s->end);
            if (s->p == s->end || (uint8_t)*s->p < 0x80) break;
            int n = character_length(s->p, s->end, s->pass_surrogates);
            if (!n) return fault(s, s->p, "invalid UTF-8");
            s->p += n;
        }
        if (out) text_add(out, from, (size_t)(s->p - from));
        if (s->p == s->end) return fault(s, open, "Unterminated string starting here");
        if (*s->p == '"') return s->p++, true;
        if (*s->p != '\\') return fault(s, s->p, "Invalid control character in a string");
        if (!scan_escape(s, out)) return false;
    }
}

static void skip_space(Scan *s)
{
    while (s->p < s->end && (*s->p == ' ' || *s->p == '\t' || *s->p == '\n' || *s->p == '\r'))
        s->p++;
}

static bool at(const Scan *s, char c)
{
    return s->p < s->end && *s->p == c;
}

static bool take(Scan *s, char c)
{
    if (!at(s, c)) return false;
    s->p++;
    return true;
}

static bool take_word(Scan *s, const char *word)
{
    size_t n = strlen(word);
    if ((size_t)(s->end - s->p) < n || memcmp(s->p, word, n) != 0) return false;
    s->p += n;
    return true;
}

static int64_t take_digits(Scan *s)
{
    const char *from = s->p;
    while (s->p < s->end && *s->p >= '0' && *s->p <= '9') s->p++;
    return s->p - from;
}

static bool scan_number(Scan *s)
{
    const char *from = s->p;
    if (take(s, '-') && take_word(s, "Infinity")) return true;
    if (!take(s, '0') && !take_digits(s)) return fault(s, from, "Expecting value");
    if (take(s, '.') && !take_digits(s))
        return fault(s, s->p, "Expecting a digit after the decimal point");
    if (take(s, 'e') || take(s, 'E')) {
        if (!take(s, '+')) take(s, '-');
        if (!take_digits(s)) return fault(s, s->p, "Expecting a digit in the exponent");
    }
    return true;
}

static bool scan_array(Scan *s, int depth)
{
    s->p++;
    skip_space(s);
    if (take(s, ']')) return true;
    for (;;) {
        if (!scan_value(s, NO_PATH, depth + 1)) return false;
        skip_space(s);
        if (take(s, ']')) return true;
        if (!take(s, ',')) return fault(s, s->p, "Expecting ',' delimiter");
        skip_space(s);
    }
}

/* At the quote of a key: passes it and says whether it is the path's next one. */
static bool scan_key(Scan *s, int level, bool *is_next)
{
    const char *from = s->p + 1;
    if (!scan_string(s, NULL)) return false;
    *is_next = false;
    if (level == NO_PATH) return true;
    Str raw = { from, (size_t)(s->p - 1 - from) }, want = s->key[level];
    if (!memchr(raw.ptr, '\\', raw.len)) {
        *is_next = str_equal(raw, want);
        return true;
    }
    const char *behind = s->p;
    s->p = from - 1;
    text_clear(&s->unescaped_key);
    CHECK(scan_string(s, &s->unescaped_key) && s->p == behind);
    *is_next = str_equal((Str){ s->unescaped_key.ptr, s->unescaped_key.len }, want);
    return true;
}

static bool scan_object(Scan *s, int level, int depth)
{
    if (level != NO_PATH) s->found = (JsonFound){ s->n_keys, JSON_NULL };
    s->p++;
    skip_space(s);
    if (take(s, '}')) return true;
    for (;;) {
        bool is_next;
        if (!at(s, '"')) return fault(s, s->p, "Expecting property name enclosed in double quotes");
        if (!scan_key(s, level, &is_next)) return false;
        skip_space(s);
        if (!take(s, ':')) return fault(s, s->p, "Expecting ':' delimiter");
        skip_space(s);
        if (!scan_value(s, is_next ? level + 1 : NO_PATH, depth + 1)) return false;
        skip_space(s);
        if (take(s, '}')) return true;
        if (!take(s, ',')) return fault(s, s->p, "Expecting ',' delimiter");
        skip_space(s);
    }
}

/* A value; on the path, `found` becomes what is there (a later equal key overwrites it). */
static bool scan_value(Scan *s, int level, int depth)
{
    if (s->p == s->end) return fault(s, s->p, "Expecting value");
    if (depth > JSON_MAX_DEPTH) return fault(s, s->p, "nested too deep (more than 1000 levels)");
    bool is_target = level == s->n_keys;
    JsonKind kind;
    bool ok = true;
    switch (*s->p) {
    case '"':
        kind = JSON_STRING;
        if (is_target) text_clear(s->out);
        ok = scan_string(s, is_target ? s->out : NULL);
        break;
    case '{':
        kind = JSON_OBJECT;
        if (level != NO_PATH && !is_target) return scan_object(s, level, depth);
        ok = scan_object(s, NO_PATH, depth);
        break;
    case '[':
        kind = JSON_ARRAY;
        ok = scan_array(s, depth);
        break;
    default:
        kind = JSON_NUMBER;
        if (take_word(s, "null"))
            kind = JSON_NULL;
        else if (take_word(s, "true") || take_word(s, "false"))
            kind = JSON_BOOLEAN;
        else if (!take_word(s, "NaN") && !take_word(s, "Infinity"))
            ok = scan_number(s);
    }
    if (level != NO_PATH) s->found = (JsonFound){ level, kind };
    return ok;
}

static bool scan_line(Scan *s, Str line, JsonFault *f)
{
    s->p = s->start = line.ptr;
    s->end = line.ptr + line.len;
    take_word(s, "\xEF\xBB\xBF");
    skip_space(s);
    bool ok = scan_value(s, s->key ? 0 : NO_PATH, 1);
    if (ok) skip_space(s);
    if (ok && s->p != s->end) ok = fault(s, s->p, "Extra data after the value");
    text_free(&s->unescaped_key);
    if (!ok) *f = (JsonFault){ s->fault_at - s->start, s->reason };
    return ok;
}

bool json_check(Str line, SurrogatePolicy surrogates, JsonFault *f)
{
    return json_check_at(cpu_level_in_use(), line, surrogates, f);
}

bool json_check_at(CpuLevel level, Str line, SurrogatePolicy surrogates, JsonFault *f)
{
    Scan s = { .blocks = json_string(level), .pass_surrogates = surrogates == SURROGATES_PASS };
    return scan_line(&s, line, f);
}

bool json_find(Str line, const Str *key, int n_keys, Text *out, JsonFound *found, JsonFault *f)
{
    return json_find_at(cpu_level_in_use(), line, key, n_keys, out, found, f);
}

bool json_find_at(CpuLevel level, Str line, const Str *key, int n_keys, Text *out, JsonFound *found,
                  JsonFault *f)
{
    static const Str none;
    Scan s = {
        .blocks = json_string(level), .key = n_keys ? key : &none, .n_keys = n_keys, .out = out
    };
    text_clear(out);
    bool ok = scan_line(&s, line, f);
    *found = s.found;
    return ok;
}

const char *json_kind_name(JsonKind kind)
{
    static const char *const name[] = { "null", "boolean", "number", "string", "array", "object" };
    return name[kind];
}
