/* class.h - the sets behind \w, \p{...} and [...] of a regular expression. */
#ifndef TOKENIZER_REGEX_CLASS_H
#define TOKENIZER_REGEX_CLASS_H
#include "base/error.h"
#include "base/str.h"
#include "tokenizer/regex/code_set.h"

/* Where a pattern is being read. */
typedef struct PatternReader {
    Arena *arena;
    Str pattern;
    size_t at;
} PatternReader;

/* "...: message (at byte N of the pattern "...")". */
Error *pattern_error(const PatternReader *r, const char *message);
/* The next byte, or -1 at the end; `ahead` bytes later. */
int pattern_peek(const PatternReader *r, size_t ahead);
/* Takes a character. */
uint32_t pattern_take(PatternReader *r);

/* Reads an escape that stands for a set, like \w or \P{L}, after its backslash; *is_set false: it
 * is another one and nothing was read. `positive`: what is not in the set when *negated. */
Error *pattern_set_escape(PatternReader *r, CodeSet *positive, bool *negated, bool *is_set);
/* Reads an escape that stands for a character, after its backslash: \n, \x{41}, \., ... */
Error *pattern_code_escape(PatternReader *r, uint32_t *out);
/* Reads [...], after the opening bracket, to its end. */
Error *pattern_bracket(PatternReader *r, CodeSet *positive, bool *negated);
#endif
