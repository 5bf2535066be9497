/* translate.h - a pattern on its way from one dialect to another (regex_translate.c). */
#ifndef TOKENIZER_REGEX_TRANSLATE_H
#define TOKENIZER_REGEX_TRANSLATE_H
#include "tokenizer/regex/class.h"
#include "tokenizer/regex/regex.h"

typedef struct RegexTranslator {
    PatternReader in;
    RegexDialect dialect;
    Text *out;
    bool has_names; /* plain groups capture nothing beside named ones */
    int n_groups, depth;
} RegexTranslator;

/* Write a character, and a set (sorting it). */
void regex_put_code(RegexTranslator *t, uint32_t c);
void regex_put_set(RegexTranslator *t, CodeSet *set, bool negated);
/* Reads what a backslash starts, and writes what PCRE2 calls it. */
Error *regex_put_escape(RegexTranslator *t);
#endif
