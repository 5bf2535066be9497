/* regex_words.h - cutting text where a regular expression matches. */
#ifndef TOKENIZER_PRETOKENIZE_REGEX_WORDS_H
#define TOKENIZER_PRETOKENIZE_REGEX_WORDS_H
#include "tokenizer/pretokenize/split_behavior.h"
#include "tokenizer/regex/regex.h"

/* Appends the words of a text (valid UTF-8): its matches, and what lies between them, as the
 * behavior says. With SPLIT_ISOLATED all of the text is kept; with SPLIT_REMOVED and `inverted`
 * exactly the matches are. */
Error *split_regex(const Regex *r, RegexRoom *room, SplitBehavior behavior, bool inverted, Str text,
                   Words *out);
#endif
