/* pairs.h - pairs of neighbouring symbols, and the queue from which the most frequent one is
 * taken. */
#ifndef TOKENIZER_TRAIN_PAIRS_H
#define TOKENIZER_TRAIN_PAIRS_H
#include "base/buffer.h"
#include <stdbool.h>
#include <stdint.h>

typedef struct Pair {
    int64_t count;
    uint32_t left, right;
} Pair;

/* Zero-initialise; free with pair_table_free. */
typedef struct PairTable {
    Buffer pairs, slots;
    int64_t n, n_slots;
} PairTable;

/* The index of a pair, which is added with count 0 when it is new; finds only what it added. */
uint32_t pair_table_index(PairTable *t, uint32_t left, uint32_t right);
/* Adds a pair that is known to be new. */
uint32_t pair_table_add(PairTable *t, uint32_t left, uint32_t right);
/* By index; valid until the next pair is added. */
static inline Pair *pair_table_all(const PairTable *t)
{
    return (Pair *)t->pairs.ptr;
}
void pair_table_free(PairTable *t);

/* A pair with the count it had when the entry was made, and words that have it. */
typedef struct PairEntry {
    int64_t count;
    uint32_t left, right;
    uint32_t pair, n_words;
    const uint32_t *words; /* rising */
} PairEntry;

/* Entries by the binary logarithm of their counts: those of `level` and above are a heap, the ones
 * below wait as they came. Start with pair_queue_start, free with pair_queue_free. */
enum { PAIR_LEVELS = 63 };
typedef struct PairQueue {
    Buffer entries[PAIR_LEVELS];
    int64_t n[PAIR_LEVELS];
    int level;
} PairQueue;

void pair_queue_start(PairQueue *q);
void pair_queue_push(PairQueue *q, PairEntry e);
/* The entry with the highest count; among equals that with the least left, then right. False:
 * empty. */
bool pair_queue_pop(PairQueue *q, PairEntry *out);
void pair_queue_free(PairQueue *q);
#endif
