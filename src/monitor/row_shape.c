/* row_shape.c - reads a line by comparing it with one that was read before. */
#include "monitor/row_shape.h"
#include <ctype.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { EXACT_DIGITS = 15, MOST_BYTES = 40 };

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

/* The value of a number of JSON; few digits without an exponent are exact as a fraction. */
static double value_of(const char *from, const char *to, const char *point, bool has_exponent)
{
    static const double power[] = { 1,   1e1, 1e2,  1e3,  1e4,  1e5,  1e6,  1e7,
                                    1e8, 1e9, 1e10, 1e11, 1e12, 1e13, 1e14, 1e15 };
    char copy[MOST_BYTES + 1] = { 0 };
    if (has_exponent || to - from > EXACT_DIGITS) {
        memcpy(copy, from, (size_t)(to - from));
        return strtod(copy, NULL);
    }
    int64_t whole = 0;
    for (const char *p = from; p < to; p++)
        if (isdigit((unsigned char)*p)) whole = 10 * whole + (*p - '0');
    const double x = (double)whole / power[point ? to - point - 1 : 0];
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
    const bool has_exponent = to < end && (*to == 'e' || *to == 'E');
    if (has_exponent) {
        p = to + 1;
        if (p < end && (*p == '+' || *p == '-')) p++;
        to = digits(p, end);
        if (to == p) return from;
    }
    const bool is_long = !point && !has_exponent && to - from > 18; /* no 64-bit integer, perhaps */
    if (is_long || to - from > MOST_BYTES) return from;
    *out = value_of(from, to, point, has_exponent);
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
