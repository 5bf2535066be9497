/* train_pairs.h - counts of pairs of symbols, and the queue from which the most frequent pair is
 * taken. */
#ifndef TOKENIZER_TRAIN_PAIRS_H
#define TOKENIZER_TRAIN_PAIRS_H
#include "base/buffer.h"
#include <stdbool.h>
#include <stdint.h>

typedef struct Pair {
    uint32_t left, right;
    int64_t count;
    int64_t n_gained; /* occurrences that the step under way made */
    uint32_t *words;  /* where they are, while the step is closed */
} Pair;

/* Zero-initialise; free with pair_table_free. */
typedef struct PairTable {
    Buffer pairs, slots;
    int64_t n, n_slots;
} PairTable;

/* The index of a pair, which is added with count 0 when it is new. */
uint32_t pair_table_index(PairTable *t, uint32_t left, uint32_t right);
/* Valid until the next pair is added. */
Pair *pair_table_at(const PairTable *t, uint32_t index);
void pair_table_free(PairTable *t);

/* A pair with the count it had when the entry was made, and words that have it. */
typedef struct PairEntry {
    int64_t count;
    uint32_t left, right;
    uint32_t pair, n_words;
    const uint32_t *words; /* rising */
} PairEntry;

/* Zero-initialise; free with pair_queue_free. */
typedef struct PairQueue {
    Buffer heap;
    int64_t n;
} PairQueue;

void pair_queue_push(PairQueue *q, PairEntry e);
/* The entry with the highest count; among equals that with the least left, then right. False:
 * empty. */
bool pair_queue_pop(PairQueue *q, PairEntry *out);
void pair_queue_free(PairQueue *q);
#endif
