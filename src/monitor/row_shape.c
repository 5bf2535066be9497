/* row_shape.c - reads a line by comparing it with one that was read before. */
#include "monitor/row_shape.h"
#include <ctype.h>
#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_BYTES = 40 };

/* Digits from p on. */
static const char *digits(const char *p, const char *end)
{
    while (p < end && isdigit((unsigned char)*p)) p++;
    return p;
}

/* The end of the NaN or Infinity at p, or p. */
static const char *constant(const char *p, const char *end)
{
    static const char *const names[] = { "NaN", "Infinity", "-Infinity" };
    for (int i = 0; i < 3; i++) {
        const size_t n = strlen(names[i]);
        if ((size_t)(end - p) >= n && !memcmp(p, names[i], n)) return p + n;
    }
    return p;
}

/* whole x 10^power, where one operation on numbers of 64 bits gives it and rounding that once more
 * cannot differ from rounding the true value: it is not next to the middle of two doubles. */
static bool is_exact(uint64_t whole, int power, double *out)
{
#if LDBL_MANT_DIG == 64
    enum { MOST_POWER = 27, DROPPED_BITS = 0x7ff, MIDDLE = 0x400 };
    static const long double ten[MOST_POWER + 1] = { 1e0L,  1e1L,  1e2L,  1e3L,  1e4L,  1e5L,
                                                     1e6L,  1e7L,  1e8L,  1e9L,  1e10L, 1e11L,
                                                     1e12L, 1e13L, 1e14L, 1e15L, 1e16L, 1e17L,
                                                     1e18L, 1e19L, 1e20L, 1e21L, 1e22L, 1e23L,
                                                     1e24L, 1e25L, 1e26L, 1e27L };
    if (power > MOST_POWER || power < -MOST_POWER) return false;
    const long double x =
        power < 0 ? (long double)whole / ten[-power] : (long double)whole * ten[power];
    uint64_t bits;
    memcpy(&bits, &x, sizeof bits);
    const uint64_t dropped = bits & DROPPED_BITS;
    if (dropped >= MIDDLE - 1 && dropped <= MIDDLE + 1) return false;
    *out = (double)x;
    return true;
#else
    (void)whole, (void)power, (void)out;
    return false;
#endif
}

/* The value of a number of JSON, as strtod gives it. */
static double value_of(const char *from, const char *to, const char *point, const char *exponent)
{
    enum { MOST_DIGITS = 19 }; /* of any 64-bit number */
    char copy[MOST_BYTES + 1] = { 0 };
    const char *end = exponent ? exponent : to;
    uint64_t whole = 0;
    int n = 0;
    double x;
    for (const char *p = from; p < end; p++) {
        if (!isdigit((unsigned char)*p)) continue;
        whole = 10 * whole + (uint64_t)(*p - '0');
        n += whole > 0;
    }
    memcpy(copy, from, (size_t)(to - from));
    const long power = (exponent ? strtol(copy + (exponent + 1 - from), NULL, 10) : 0) -
                       (point ? end - point - 1 : 0);
    if (n > MOST_DIGITS || labs(power) > 100 || !is_exact(whole, (int)power, &x))
        return strtod(copy, NULL);
    return *from == '-' ? -x : x;
}

/* The end of the number at p and its value; p where there is none that JSON has. */
static const char *number(const char *p, const char *end, double *out)
{
    const char *from = p, *to = constant(p, end), *point = NULL;
    *out = NAN;
    if (to > p) return to;
    if (p < end && *p == '-') p++;
    to = digits(p, end);
    if (to == p || (*p == '0' && to - p > 1)) return from;
    if (to < end && *to == '.') {
        point = to;
        to = digits(point + 1, end);
        if (to == point + 1) return from;
    }
    const char *exponent = to < end && (*to == 'e' || *to == 'E') ? to : NULL;
    if (exponent) {
        p = to + 1;
        if (p < end && (*p == '+' || *p == '-')) p++;
        to = digits(p, end);
        if (to == p) return from;
    }
    const bool is_long = !point && !exponent && to - from > 18; /* no 64-bit integer, perhaps */
    if (is_long || to - from > MOST_BYTES) return from;
    *out = value_of(from, to, point, exponent);
    return isfinite(*out) ? to : from;
}

bool row_shape_of(Arena *a, Str line, RowShape *out)
{
    const char *copy = arena_string_n(a, line.ptr, line.len), *end = copy + line.len, *from = copy;
    bool in_string = false;
    double value;
    out->n = 0;
    for (const char *p = copy; p < end; p++) {
        if (in_string && *p == '\\') {
            p++;
            continue;
        }
        if (*p == '"') in_string = !in_string;
        const char *to = in_string ? p : number(p, end, &value);
        if (to == p) continue;
        if (out->n == MOST_NUMBERS) return false;
        out->piece[out->n++] = (Str){ from, (size_t)(p - from) };
        from = to;
        p = to - 1;
    }
    out->piece[out->n] = (Str){ from, (size_t)(end - from) };
    return true;
}

const char *row_shape_numbered(Arena *a, const RowShape *s)
{
    Text t = { 0 };
    for (int i = 0; i <= s->n; i++) {
        text_add(&t, s->piece[i].ptr, s->piece[i].len);
        if (i < s->n) text_printf(&t, "%d", i);
    }
    const char *line = arena_string_n(a, t.ptr, t.len);
    text_free(&t);
    return line;
}

bool row_shape_read(const RowShape *s, Str line, double *out)
{
    const char *p = line.ptr, *end = line.ptr + line.len;
    for (int i = 0; i <= s->n; i++) {
        const Str *piece = &s->piece[i];
        if ((size_t)(end - p) < piece->len || memcmp(p, piece->ptr, piece->len) != 0) return false;
        p += piece->len;
        if (i == s->n) break;
        const char *to = number(p, end, &out[i]);
        if (to == p) return false;
        p = to;
    }
    return p == end;
}
