/* str.h - Str is a view of bytes that owns nothing; Text is a growing string that owns its bytes.
 */
#ifndef BASE_STR_H
#define BASE_STR_H
#include "base/arena.h"
#include <stdbool.h>
#include <stddef.h>

typedef struct Str {
    const char *ptr;
    size_t len;
} Str;

Str str_of(const char *s);
bool str_equal(Str a, Str b);
bool str_is(Str a, const char *b);
bool str_starts(Str s, const char *prefix);
bool str_ends(Str s, const char *suffix);
/* Shell-like pattern with `*` and `?`; the whole text must match. */
bool text_matches(const char *pattern, const char *text);
/* Number of insertions, deletions and substitutions from a to b; for "did you mean". */
int edit_distance(const char *a, const char *b);
/* The name in `names` (ends with NULL) nearest to `word`, or NULL when none is near. Case and
 * separators do not count; the first words of a name are near it. */
const char *nearest_name(const char *word, const char *const *names);

/* Zero-initialise; `ptr` is NUL-terminated once anything was added. Free with text_free. */
typedef struct Text {
    char *ptr;
    size_t len, cap;
} Text;

void text_add(Text *t, const void *bytes, size_t len);
void text_puts(Text *t, const char *s);
void text_putc(Text *t, char c);
void text_printf(Text *t, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
/* Room for `more` bytes after the content, where they may be written; text_extend then makes the
 * first ones of them content. */
char *text_reserve(Text *t, size_t more);
void text_extend(Text *t, size_t len);
/* Drops the content and keeps the memory. */
void text_clear(Text *t);
void text_free(Text *t);

/* The shortest decimal text that reads back as the same double, spelled as Python's repr:
 * "1e-05", "0.1", "16384.0", "nan", "inf". `out` holds at least 32 bytes. */
void format_double(double x, char *out);
/* Python's round(x, decimals): the exact decimal value of x, ties to even. */
double round_decimals(double x, int decimals);
/* Bytes as people read them: "12.3 MB". `out` holds at least 32 bytes. */
void format_bytes(double bytes, char *out);
/* A number as people read it: "950", "12.3k", "1.24M". `out` holds at least 32 bytes. */
void format_count(double n, char *out);
/* Seconds as people read them: "1 h 02 min", "3.2 s". `out` holds at least 32 bytes. */
void format_seconds(double seconds, char *out);
#endif
