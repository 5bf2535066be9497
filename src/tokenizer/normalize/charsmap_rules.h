/* charsmap_rules.h - the rules of a named normalization of SentencePiece, "this text becomes that
 * one", derived from the tables of Unicode as its builder derives them. */
#ifndef TOKENIZER_NORMALIZE_CHARSMAP_RULES_H
#define TOKENIZER_NORMALIZE_CHARSMAP_RULES_H
#include "base/error.h"
#include "base/str.h"
#include <stdint.h>

typedef struct CharRule {
    Str from, to; /* UTF-8; `from` is not empty */
} CharRule;

typedef struct CharRules {
    CharRule *item; /* sorted by the bytes of `from`, which are all different */
    int64_t n;
} CharRules;

/* "identity" (no rules), "nfkc", "nmt_nfkc", "nfkc_cf", "nmt_nfkc_cf"; ends with NULL. */
extern const char *const charsmap_rule_names[];
/* The rules of a name; they belong to the arena. Another name is an error. */
Error *charsmap_rules(Arena *a, const char *name, CharRules *out);
#endif
