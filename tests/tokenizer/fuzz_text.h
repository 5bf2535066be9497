/* fuzz_text.h - short texts made of what a tokenizer knows and of what it may stumble over. */
#ifndef TESTS_FUZZ_TEXT_H
#define TESTS_FUZZ_TEXT_H
#include "tokenizer/tokenizer.h"

typedef struct FuzzSource {
    const Tokenizer *tokenizer;
    const uint32_t *special; /* ids of added and special tokens */
    int64_t n_special;
} FuzzSource;

FuzzSource fuzz_source(Arena *a, const Tokenizer *t);
/* Writes the text of this number: 1 to 400 characters of valid UTF-8. Its parts are tokens, their
 * starts and ends (so that merges meet at places where they seldom do), marks, runs of blanks,
 * special tokens and NUL; a third of the texts have them around the 64 bytes that are looked at
 * together. */
void fuzz_text(const FuzzSource *s, uint64_t number, Text *out);
#endif
