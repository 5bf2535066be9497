/* yaml_scalar.c - the type of a plain scalar, by the rules of PyYAML (YAML 1.1) and OmegaConf's
 * float. */
#include "config/yaml_scalar.h"
#include <ctype.h>
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static bool is_one_of(const char *s, const char *const *words)
{
    for (; *words; words++)
        if (!strcmp(s, *words)) return true;
    return false;
}

static const char *const true_words[] = { "yes",  "Yes", "YES", "true", "True",
                                          "TRUE", "on",  "On",  "ON",   NULL };
static const char *const false_words[] = { "no",    "No",  "NO",  "false", "False",
                                           "FALSE", "off", "Off", "OFF",   NULL };
static const char *const null_words[] = { "~", "null", "Null", "NULL", "", NULL };

static const char *skip_sign(const char *s)
{
    return s + (*s == '-' || *s == '+');
}

static const char *skip_any(const char *s, const char *set)
{
    return s + strspn(s, set);
}

/* (:[0-5]?[0-9])+ : the minutes and seconds of a base-60 number; NULL when there are none. */
static const char *skip_base60(const char *s)
{
    int n = 0;
    while (*s == ':' && isdigit((unsigned char)s[1])) {
        bool two = s[1] <= '5' && isdigit((unsigned char)s[2]);
        s += two ? 3 : 2;
        n++;
    }
    return n ? s : NULL;
}

static bool looks_like_int(const char *text)
{
    const char *s = skip_sign(text), *end;
    if (s[0] == '0' && s[1] == 'b' && s[2]) return !*skip_any(s + 2, "01_");
    if (s[0] == '0' && s[1] == 'x' && s[2]) return !*skip_any(s + 2, "0123456789abcdefABCDEF_");
    if (s[0] == '0') return !*skip_any(s + 1, "01234567_");
    if (!isdigit((unsigned char)*s)) return false;
    s = skip_any(s, "0123456789_");
    if (!*s) return true;
    return (end = skip_base60(s)) && !*end;
}

/* [eE][+-]?digits or nothing; the sign may be demanded. NULL when it is malformed. */
static const char *skip_exponent(const char *s, bool needs_sign)
{
    if (*s != 'e' && *s != 'E') return s;
    const char *digits = skip_sign(s + 1);
    if ((needs_sign && digits == s + 1) || !isdigit((unsigned char)*digits)) return NULL;
    return skip_any(digits, "0123456789");
}

static bool looks_like_special_float(const char *text)
{
    static const char *const inf[] = { ".inf", ".Inf", ".INF", NULL };
    static const char *const nan_words[] = { ".nan", ".NaN", ".NAN", NULL };
    return is_one_of(skip_sign(text), inf) || is_one_of(text, nan_words);
}

/* digits with single underscores between them, as the wider float demands before a bare exponent */
static const char *skip_grouped_digits(const char *s)
{
    while (isdigit((unsigned char)*s) || (*s == '_' && isdigit((unsigned char)s[1]))) s++;
    return s;
}

/* `is_wide` adds what OmegaConf's loader accepts: 1e5 without a dot and 1.0e5 without the
 * exponent's sign. */
static bool looks_like_float(const char *text, bool is_wide)
{
    if (looks_like_special_float(text)) return true;
    const char *s = text, *end;
    if (*s == '.') {
        if (!isdigit((unsigned char)s[1])) return false;
        end = skip_exponent(skip_any(s + 1, "0123456789_"), true);
        return end && !*end;
    }
    s = skip_sign(text);
    if (!isdigit((unsigned char)*s)) return false;
    const char *whole = skip_any(s, "0123456789_"), *grouped = skip_grouped_digits(s);
    if (*whole == '.') {
        const char *fraction = skip_any(whole + 1, "0123456789_");
        end = skip_exponent(fraction, !is_wide || whole != grouped);
        return end && !*end;
    }
    if (is_wide && (*grouped == 'e' || *grouped == 'E')) {
        end = skip_exponent(grouped, false);
        return end && !*end;
    }
    end = skip_base60(whole);
    return end && *end == '.' && !*skip_any(end + 1, "0123456789_");
}

/* One or two digits, or exactly two; NULL when they are not there. */
static const char *skip_two(const char *s, bool exactly)
{
    if (!s || !isdigit((unsigned char)s[0])) return NULL;
    if (isdigit((unsigned char)s[1])) return s + 2;
    return exactly ? NULL : s + 1;
}

static const char *skip_char(const char *s, char c)
{
    return s && *s == c ? s + 1 : NULL;
}

/* 2001-12-14 or 2001-12-14 21:59:43.10 -5 */
static bool looks_like_timestamp(const char *text)
{
    const char *year = skip_two(skip_two(text, true), true);
    const char *day = skip_two(skip_char(skip_two(skip_char(year, '-'), true), '-'), true);
    if (day && !*day) return true;
    day = skip_two(skip_char(skip_two(skip_char(year, '-'), false), '-'), false);
    if (!day) return false;
    const char *s = *day == 'T' || *day == 't' ? day + 1 : skip_any(day, " \t");
    if (s == day) return false;
    s = skip_two(skip_char(skip_two(s, false), ':'), true);
    s = skip_two(skip_char(s, ':'), true);
    if (!s) return false;
    if (*s == '.') s = skip_any(s + 1, "0123456789");
    if (!*s) return true;
    s = skip_any(s, " \t");
    if (*s == 'Z') return !s[1];
    if (*s != '-' && *s != '+') return false;
    s = skip_two(s + 1, false);
    if (s && *s == ':') s = skip_two(s + 1, true);
    return s && !*s;
}

bool yaml_is_plain_string(const char *text)
{
    return !is_one_of(text, null_words) && !is_one_of(text, true_words) &&
           !is_one_of(text, false_words) && !looks_like_int(text) &&
           !looks_like_float(text, false) && !looks_like_timestamp(text) && strcmp(text, "=") &&
           strcmp(text, "<<");
}

/* Without underscores, in lower case; the arena owns it. */
static char *cleaned(Arena *a, const char *text)
{
    char *out = arena_string(a, text), *to = out;
    for (const char *s = text; *s; s++)
        if (*s != '_') *to++ = (char)tolower((unsigned char)*s);
    *to = 0;
    return out;
}

/* a:b:c in base 60; the last part may have a fraction. */
static double base60(const char *s)
{
    double value = 0;
    for (;;) {
        char *end;
        value = value * 60 + strtod(s, &end);
        if (*end != ':') return value;
        s = end + 1;
    }
}

/* Digits of a base, saturated when they do not fit. */
static bool read_digits(const char *s, int base, bool is_negative, Yaml *y)
{
    if (!*s) return false;
    unsigned __int128 value = 0;
    const unsigned __int128 limit = (unsigned __int128)INT64_MAX + is_negative;
    double number = 0;
    for (; *s; s++) {
        int digit = isdigit((unsigned char)*s) ? *s - '0' : *s - 'a' + 10;
        if (!y->is_too_large) value = value * (unsigned)base + (unsigned)digit;
        if (value > limit) y->is_too_large = true;
        number = number * base + digit;
    }
    y->number = is_negative ? -number : number;
    if (y->is_too_large) value = limit;
    y->integer = is_negative ? (int64_t)(0 - (uint64_t)value) : (int64_t)value;
    return true;
}

static bool read_int(const char *clean, Yaml *y)
{
    bool is_negative = *clean == '-';
    const char *s = skip_sign(clean);
    if (!strncmp(s, "0b", 2)) return read_digits(s + 2, 2, is_negative, y);
    if (!strncmp(s, "0x", 2)) return read_digits(s + 2, 16, is_negative, y);
    if (strchr(s, ':')) {
        double value = is_negative ? -base60(s) : base60(s);
        if (fabs(value) >= 9e15) return false; /* no longer exact; a string then */
        y->number = value;
        y->integer = (int64_t)value;
        return true;
    }
    int base = s[0] == '0' && s[1] ? 8 : 10;
    if (!read_digits(s, base, is_negative, y)) return false;
    if (base == 10) y->number = strtod(clean, NULL);
    return true;
}

static double read_float(const char *clean)
{
    bool is_negative = *clean == '-';
    const char *s = skip_sign(clean);
    double value;
    if (!strcmp(s, ".inf"))
        value = INFINITY;
    else if (!strcmp(s, ".nan"))
        value = NAN;
    else if (strchr(s, ':'))
        value = base60(s);
    else
        value = strtod(s, NULL);
    return is_negative ? -value : value;
}

void yaml_resolve_scalar(Arena *a, Yaml *y)
{
    const char *text = y->text;
    y->type = YAML_STRING;
    if (strlen(text) != y->text_len) return;
    if (is_one_of(text, null_words)) {
        y->type = YAML_NULL;
    } else if (is_one_of(text, true_words) || is_one_of(text, false_words)) {
        y->type = YAML_BOOL;
        y->boolean = is_one_of(text, true_words);
    } else if (looks_like_int(text) || looks_like_float(text, true)) {
        const char *clean = cleaned(a, text);
        if (looks_like_float(text, true)) {
            y->type = YAML_FLOAT;
            y->number = read_float(clean);
        } else if (read_int(clean, y)) {
            y->type = YAML_INT;
        }
    }
}

const char *yaml_int_text(const Yaml *y, char *buf)
{
    if (y->is_too_large) return y->text;
    snprintf(buf, 32, "%lld", (long long)y->integer);
    return buf;
}
