/* random_text.h - texts that are hard on tokenizers. */
#ifndef TESTS_RANDOM_TEXT_H
#define TESTS_RANDOM_TEXT_H
#include "base/str.h"
#include <stdint.h>

/* Appends valid UTF-8 of about `n_parts` parts drawn by (seed, i): words, contractions, runs of
 * blanks of all kinds, digits of many scripts, zero bytes, marks, unassigned code points, long runs
 * of one character, pieces of special tokens. */
void random_text(uint64_t seed, int n_parts, Text *out);
#endif
