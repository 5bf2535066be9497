/* word_counts.h - how often each word occurs in a corpus. */
#ifndef TOKENIZER_TRAIN_WORD_COUNTS_H
#define TOKENIZER_TRAIN_WORD_COUNTS_H
#include "base/buffer.h"
#include "base/str.h"
#include <stdbool.h>
#include <stdint.h>

/* A slot is found in one look at the memory: words of up to 16 bytes lie in it. */
typedef struct WordCount {
    union {
        uint64_t half[2]; /* the bytes of the word, zeros after them */
        int64_t at;       /* of a longer one: its bytes are bytes[at, at + len) */
    };
    int64_t count; /* 0: a free slot */
    uint32_t len, hash;
} WordCount;

/* Zero-initialise; free with word_counts_free. */
typedef struct WordCounts {
    WordCount *slot; /* n_slots of them, n in use */
    int64_t n_slots, n;
    Buffer slots, bytes; /* bytes: of words that do not fit into their slot */
    int64_t n_bytes;
} WordCounts;

/* 16 bytes must be readable after the word. */
void word_counts_add(WordCounts *w, const char *word, uint32_t len, int64_t count);
/* Words that lie after one another in a text, the first one at `from`; as adding them singly, but
 * the memory is asked for ahead. */
void word_counts_add_all(WordCounts *w, const char *text, uint32_t from, const uint32_t *end,
                         int64_t n);
/* Adds all of `from`. */
void word_counts_merge(WordCounts *w, const WordCounts *from);
/* Drops the rarest words until at most `most` are left: all with a count up to the result. */
int64_t word_counts_drop_rare(WordCounts *w, int64_t most);
/* Empties it and keeps the memory. */
void word_counts_clear(WordCounts *w);
void word_counts_free(WordCounts *w);
/* 16 bytes are readable after it; valid until a word is added. */
Str word_counts_text(const WordCounts *w, const WordCount *c);
#endif
