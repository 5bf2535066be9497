/* regex.h - regular expressions of tokenizer files, matched by PCRE2.
 *
 * A pattern is rewritten so that PCRE2 gives it the meaning it has in the library that the file was
 * made for: classes become explicit sets of its Unicode version. */
#ifndef TOKENIZER_REGEX_REGEX_H
#define TOKENIZER_REGEX_REGEX_H
#include "base/error.h"
#include "base/str.h"
#include <stdbool.h>

typedef enum RegexDialect {
    REGEX_ONIGURUMA, /* tokenizers: Ruby's rules; ^ and $ match at every line, (?s) is refused */
    REGEX_RUST       /* tiktoken: Perl's rules; ^ and $ match at the ends of the text alone */
} RegexDialect;

typedef struct Regex Regex;

/* One thread's memory for matching, for any number of patterns. Zero-initialise. */
typedef struct RegexRoom {
    void *match, *stack, *context;
} RegexRoom;

typedef struct RegexMatch {
    size_t from, to;
} RegexMatch;

/* Where a search for all matches is. Zero-initialise. */
typedef struct RegexSearch {
    size_t next, last_end;
    bool has_matched;
} RegexSearch;

/* Compiles; the arena owns it. Errors name the offset in the pattern. */
Error *regex_new(Arena *a, Str pattern, RegexDialect dialect, const Regex **out);
/* A pattern that matches this text. */
Error *regex_new_literal(Arena *a, Str text, const Regex **out);
/* The next of all matches in valid UTF-8, without empty ones right after another; *found false:
 * there is none. An error when the pattern needs too much time or memory. */
Error *regex_next(const Regex *r, RegexRoom *room, Str text, RegexSearch *at, RegexMatch *out,
                  bool *found);
void regex_room_free(RegexRoom *room);

/* translate.c: appends the pattern as PCRE2 understands it. */
Error *regex_translate(Arena *a, Str pattern, RegexDialect dialect, Text *out);
#endif
