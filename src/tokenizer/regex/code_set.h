/* code_set.h - sets of code points, for the classes of regular expressions. */
#ifndef TOKENIZER_REGEX_CODE_SET_H
#define TOKENIZER_REGEX_CODE_SET_H
#include "base/arena.h"
#include "tokenizer/text/unicode.h"
#include <stdbool.h>

/* Ranges in any order until code_set_sort; the arena of the calls owns them. Surrogates, which no
 * text has, are in no set. Zero-initialise. */
typedef struct CodeSet {
    CodeRange *range;
    int64_t n, cap;
} CodeSet;

void code_set_add(CodeSet *s, Arena *a, uint32_t first, uint32_t last);
void code_set_add_all(CodeSet *s, Arena *a, const CodeRange *range, int64_t n);
/* Puts the ranges in order and joins those that touch; the functions below do it first. */
void code_set_sort(CodeSet *s);
CodeSet code_set_complement(CodeSet *s, Arena *a);
CodeSet code_set_common(CodeSet *x, CodeSet *y, Arena *a);
#endif
