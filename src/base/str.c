/* str.c - views, growing text, and numbers as people and Python spell them. */
#include "base/str.h"
#include "base/error.h"
#include "base/memory.h"
#include <ctype.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

Str str_of(const char *s)
{
    return (Str){ s, strlen(s) };
}
bool str_equal(Str a, Str b)
{
    return a.len == b.len && (!a.len || !memcmp(a.ptr, b.ptr, a.len));
}
bool str_is(Str a, const char *b)
{
    return str_equal(a, str_of(b));
}

bool str_starts(Str s, const char *prefix)
{
    size_t n = strlen(prefix);
    return s.len >= n && !memcmp(s.ptr, prefix, n);
}

bool str_ends(Str s, const char *suffix)
{
    size_t n = strlen(suffix);
    return s.len >= n && !memcmp(s.ptr + s.len - n, suffix, n);
}

/* Greedy with one remembered star: linear for practical patterns, no recursion. */
bool text_matches(const char *pattern, const char *text)
{
    const char *star = NULL, *star_text = NULL;
    while (*text) {
        if (*pattern == '*') {
            star = pattern++;
            star_text = text;
        } else if (*pattern == '?' || *pattern == *text) {
            pattern++;
            text++;
        } else if (star) {
            pattern = star + 1;
            text = ++star_text;
        } else {
            return false;
        }
    }
    while (*pattern == '*') pattern++;
    return !*pattern;
}

int edit_distance(const char *a, const char *b)
{
    enum { MAX = 96 };
    int n = (int)strnlen(a, MAX), m = (int)strnlen(b, MAX), row[MAX + 1];
    for (int j = 0; j <= m; j++) row[j] = j;
    for (int i = 1; i <= n; i++) {
        int diagonal = row[0];
        row[0] = i;
        for (int j = 1; j <= m; j++) {
            int up = row[j], change = diagonal + (a[i - 1] != b[j - 1]);
            int least = up + 1 < row[j - 1] + 1 ? up + 1 : row[j - 1] + 1;
            row[j] = change < least ? change : least;
            diagonal = up;
        }
    }
    return row[m];
}

/* Equal but for case and the separators of words. */
static bool reads_the_same(const char *a, const char *b)
{
    for (;; a++, b++) {
        while (*a == '_' || *a == '-') a++;
        while (*b == '_' || *b == '-') b++;
        if (tolower((unsigned char)*a) != tolower((unsigned char)*b)) return false;
        if (!*a) return true;
    }
}

/* "config_file" of "config_file_path". */
static bool is_first_words_of(const char *word, const char *name)
{
    size_t n = strlen(word);
    return n > 2 && !strncmp(word, name, n) && name[n] == '_';
}

static int distance_to_name(const char *word, const char *name)
{
    enum { OF_FIRST_WORDS = 2 };
    if (reads_the_same(word, name)) return 0;
    int d = edit_distance(word, name);
    return d > OF_FIRST_WORDS && is_first_words_of(word, name) ? OF_FIRST_WORDS : d;
}

const char *nearest_name(const char *word, const char *const *names)
{
    const char *best = NULL;
    int least = (int)strlen(word) / 3 + 2; /* a third of the letters may differ */
    for (int i = 0; names[i]; i++) {
        int d = distance_to_name(word, names[i]);
        if (d < least) {
            least = d;
            best = names[i];
        }
    }
    return best;
}

char *text_reserve(Text *t, size_t more)
{
    size_t needed = t->len + more + 1;
    if (needed > t->cap) {
        size_t cap = t->cap ? t->cap * 2 : 256;
        t->cap = cap < needed ? needed : cap;
        t->ptr = memory_or_end(realloc(t->ptr, t->cap), t->cap);
    }
    return t->ptr + t->len;
}

void text_extend(Text *t, size_t len)
{
    CHECK(t->len + len < t->cap);
    t->len += len;
    t->ptr[t->len] = 0;
}

void text_add(Text *t, const void *bytes, size_t len)
{
    char *to = text_reserve(t, len);
    if (len) memcpy(to, bytes, len);
    text_extend(t, len);
}

void text_puts(Text *t, const char *s)
{
    text_add(t, s, strlen(s));
}
void text_putc(Text *t, char c)
{
    text_add(t, &c, 1);
}

void text_printf(Text *t, const char *fmt, ...)
{
    va_list args, again;
    va_start(args, fmt);
    va_copy(again, args);
    int len = vsnprintf(NULL, 0, fmt, args);
    CHECK(len >= 0);
    text_reserve(t, (size_t)len);
    vsnprintf(t->ptr + t->len, (size_t)len + 1, fmt, again);
    t->len += (size_t)len;
    va_end(again);
    va_end(args);
}

void text_clear(Text *t)
{
    t->len = 0;
    if (t->ptr) t->ptr[0] = 0;
}

void text_free(Text *t)
{
    free(t->ptr);
    *t = (Text){ 0 };
}

/* The fewest digits that read back equal, then laid out by Python's rule: fixed notation for
 * exponents -4..15, else scientific with at least two exponent digits. */
void format_double(double x, char *out)
{
    if (isnan(x)) {
        strcpy(out, "nan");
        return;
    }
    if (isinf(x)) {
        strcpy(out, x < 0 ? "-inf" : "inf");
        return;
    }
    char scientific[40];
    for (int digits = 1; digits <= 17; digits++) {
        snprintf(scientific, sizeof scientific, "%.*e", digits - 1, x);
        if (strtod(scientific, NULL) == x) break;
    }
    char *e = strchr(scientific, 'e');
    int exponent = atoi(e + 1);
    *e = 0;
    const char *p = scientific;
    char digit[24] = "0";
    int n = 0;
    bool negative = *p == '-';
    for (; *p; p++)
        if (*p >= '0' && *p <= '9') digit[n++] = *p;
    while (n > 1 && digit[n - 1] == '0') n--;
    char *o = out;
    if (negative) *o++ = '-';
    if (exponent < -4 || exponent >= 16) {
        *o++ = digit[0];
        if (n > 1) *o++ = '.';
        for (int i = 1; i < n; i++) *o++ = digit[i];
        sprintf(o, "e%c%02d", exponent < 0 ? '-' : '+', abs(exponent));
        return;
    }
    if (exponent < 0) {
        *o++ = '0';
        *o++ = '.';
        for (int i = -1; i > exponent; i--) *o++ = '0';
        for (int i = 0; i < n; i++) *o++ = digit[i];
    } else {
        for (int i = 0; i <= exponent; i++) *o++ = i < n ? digit[i] : '0';
        *o++ = '.';
        if (n <= exponent + 1) *o++ = '0';
        for (int i = exponent + 1; i < n; i++) *o++ = digit[i];
    }
    *o = 0;
}

/* printf rounds the exact value; 308 digits before the point are the most there are. */
double round_decimals(double x, int decimals)
{
    char text[400];
    if (!isfinite(x)) return x;
    CHECK(decimals >= 0 && decimals < 60);
    snprintf(text, sizeof text, "%.*f", decimals, x);
    return strtod(text, NULL);
}

void format_bytes(double bytes, char *out)
{
    static const char *const unit[] = { "B", "kB", "MB", "GB", "TB", "PB" };
    int u = 0;
    while (bytes >= 1000 && u < 5) {
        bytes /= 1000;
        u++;
    }
    snprintf(out, 32, u == 0 || bytes >= 100 ? "%.0f %s" : "%.1f %s", bytes, unit[u]);
}

void format_count(double n, char *out)
{
    static const char unit[] = " kMGTP";
    int u = 0;
    for (; fabs(n) >= 999.5 && u < 5; u++) n /= 1000;
    double size = fabs(n);
    int decimals = size >= 99.95 || (u == 0 && n == floor(n)) ? 0 : size >= 9.995 ? 1 : 2;
    snprintf(out, 32, "%.*f%.*s", decimals, n, u > 0, unit + u);
}

void format_seconds(double s, char *out)
{
    if (s < 0.001)
        snprintf(out, 32, "%.0f us", s * 1e6);
    else if (s < 1)
        snprintf(out, 32, "%.0f ms", s * 1e3);
    else if (s < 60)
        snprintf(out, 32, "%.1f s", s);
    else if (s < 3600)
        snprintf(out, 32, "%d min %02d s", (int)s / 60, (int)s % 60);
    else
        snprintf(out, 32, "%d h %02d min", (int)(s / 3600), (int)s / 60 % 60);
}
