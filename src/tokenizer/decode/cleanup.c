/* cleanup.c - the ten replacements, one after the other over the whole text. */
#include "tokenizer/decode/cleanup.h"
#include <string.h>

/* Each loses its first blank; the fifth also its last. */
static const char *const patterns[] = { " .",   " ?",  " !",  " ,",   " ' ",
                                        " n't", " 'm", " 's", " 've", " 're" };
enum { N_PATTERNS = sizeof patterns / sizeof *patterns };

static void replace_all(Text *t, size_t from, const char *pattern)
{
    size_t len = strlen(pattern), kept = len - 1 - (pattern[len - 1] == ' '), to = from;
    for (size_t at = from; at < t->len;) {
        if (t->len - at >= len && !memcmp(t->ptr + at, pattern, len)) {
            memcpy(t->ptr + to, pattern + 1, kept);
            to += kept;
            at += len;
        } else {
            t->ptr[to++] = t->ptr[at++];
        }
    }
    t->len = to;
    if (t->ptr) t->ptr[to] = 0;
}

void decode_cleanup(Text *t, size_t from)
{
    for (int i = 0; i < N_PATTERNS; i++) replace_all(t, from, patterns[i]);
}

/* " do not" becomes " don't". */
static void contract(Text *t, size_t from)
{
    static const char long_form[] = " do not", short_form[] = " don't";
    enum { LONG = sizeof long_form - 1, SHORT = sizeof short_form - 1 };
    size_t to = from;
    for (size_t at = from; at < t->len;) {
        if (t->len - at >= LONG && !memcmp(t->ptr + at, long_form, LONG)) {
            memcpy(t->ptr + to, short_form, SHORT);
            to += SHORT;
            at += LONG;
        } else {
            t->ptr[to++] = t->ptr[at++];
        }
    }
    t->len = to;
    if (t->ptr) t->ptr[to] = 0;
}

void decode_cleanup_token(Text *t, size_t from)
{
    enum { BEFORE_CONTRACTION = 7 };
    for (int i = 0; i < N_PATTERNS; i++) {
        if (i == BEFORE_CONTRACTION) contract(t, from);
        replace_all(t, from, patterns[i]);
    }
}

/* Something that appending may turn into a pattern: the start of one, or what can become such a
 * start when " ' " shrinks to "'" (whose last blank may yet belong to " ."). */
static bool is_unsettled(Str s)
{
    static const char *const before_shrinking[] = { "'", " n ", " n '", NULL };
    for (int i = 0; i < N_PATTERNS; i++) {
        if (s.len < strlen(patterns[i]) && !memcmp(patterns[i], s.ptr, s.len)) return true;
    }
    for (int i = 0; before_shrinking[i]; i++) {
        if (str_is(s, before_shrinking[i])) return true;
    }
    return false;
}

/* The longest unsettled end, with all the blanks before it: one replacement can make way for
 * another. */
size_t decode_cleanup_settled(Str s)
{
    enum { LONGEST = 4 };
    size_t settled = s.len;
    for (size_t n = 1; n <= LONGEST && n <= s.len; n++) {
        if (is_unsettled((Str){ s.ptr + s.len - n, n })) settled = s.len - n;
    }
    while (settled < s.len && settled && s.ptr[settled - 1] == ' ') settled--;
    return settled;
}
