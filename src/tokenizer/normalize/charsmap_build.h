/* charsmap_build.h - writes a precompiled map of characters, which charsmap.h reads. */
#ifndef TOKENIZER_NORMALIZE_CHARSMAP_BUILD_H
#define TOKENIZER_NORMALIZE_CHARSMAP_BUILD_H
#include "tokenizer/normalize/charsmap_rules.h"

/* The bytes of a map with these rules, sorted and without a zero byte; empty when there are none.
 * The arena owns them. */
Str charsmap_build(Arena *a, const CharRules *rules);
#endif
