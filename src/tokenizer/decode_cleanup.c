/* decode_cleanup.c - the ten replacements, one after the other over the whole text. */
#include "tokenizer/decode_cleanup.h"
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

static bool is_start_of_pattern(Str s)
{
    for (int i = 0; i < N_PATTERNS; i++) {
        if (s.len < strlen(patterns[i]) && !memcmp(patterns[i], s.ptr, s.len)) return true;
    }
    return false;
}

/* What may still become a pattern is its start at the end of the text, with all the blanks before
 * it: one replacement can make way for another. */
size_t decode_cleanup_settled(Str s)
{
    enum { LONGEST = 4 };
    for (size_t n = s.len < LONGEST ? s.len : LONGEST; n > 0; n--) {
        if (!is_start_of_pattern((Str){ s.ptr + s.len - n, n })) continue;
        size_t settled = s.len - n;
        while (settled && s.ptr[settled - 1] == ' ') settled--;
        return settled;
    }
    return s.len;
}
