/* word_counts.h - how often each word occurs in a corpus. */
#ifndef TOKENIZER_WORD_COUNTS_H
#define TOKENIZER_WORD_COUNTS_H
#include "base/buffer.h"
#include "base/str.h"
#include <stdbool.h>
#include <stdint.h>

typedef struct WordCount {
    int64_t at, count; /* its bytes are bytes[at, at + len); count 0: a free slot */
    uint32_t len, hash;
} WordCount;

/* Zero-initialise; free with word_counts_free. */
typedef struct WordCounts {
    WordCount *slot; /* n_slots of them, n in use */
    int64_t n_slots, n;
    Buffer slots, bytes;
    int64_t n_bytes;
} WordCounts;

/* 16 bytes must be readable behind the word. */
void word_counts_add(WordCounts *w, const char *word, uint32_t len, int64_t count);
/* Adds all of `from`. */
void word_counts_merge(WordCounts *w, const WordCounts *from);
/* Drops the rarest words until at most `most` are left: all with a count up to the result. */
int64_t word_counts_drop_rare(WordCounts *w, int64_t most);
/* Empties it and keeps the memory. */
void word_counts_clear(WordCounts *w);
void word_counts_free(WordCounts *w);
Str word_counts_text(const WordCounts *w, const WordCount *c);
#endif
