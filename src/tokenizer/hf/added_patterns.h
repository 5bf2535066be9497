/* added_patterns.h - finds the leftmost, and there the longest, of a set of texts. */
#ifndef TOKENIZER_HF_ADDED_PATTERNS_H
#define TOKENIZER_HF_ADDED_PATTERNS_H
#include "base/arena.h"
#include "base/str.h"
#include <stdbool.h>
#include <stdint.h>

typedef struct Patterns Patterns;

typedef struct PatternMatch {
    size_t from, to;
    Str text; /* the pattern */
} PatternMatch;

/* The texts must stay; none may be empty. */
const Patterns *patterns_new(Arena *a, const Str *text, int64_t n);
/* The next match that starts at `from` or later; false when there is none. */
bool patterns_find(const Patterns *p, Str text, size_t from, PatternMatch *out);
#endif
