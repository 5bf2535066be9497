/* sentencepiece_seed.h - texts that occur often in the units: what the pieces of a unigram model
 * are chosen from. */
#ifndef TOKENIZER_TRAIN_SENTENCEPIECE_SEED_H
#define TOKENIZER_TRAIN_SENTENCEPIECE_SEED_H
#include "base/thread.h"
#include "tokenizer/train/sentencepiece.h"

#define NO_SEED UINT32_MAX

/* A text: text[at, at + len) of the units. Seeds are sorted by their texts. */
typedef struct SpSeed {
    uint32_t at, len;
    uint32_t parent; /* the longest other seed that this one starts with, or NO_SEED */
    int64_t count;   /* how often it occurs */
} SpSeed;

typedef struct SpSeeds {
    SpSeed *item;
    int64_t n;
    uint32_t *longest; /* by place in the units' text: the longest seed that starts there */
} SpSeeds;

/* All characters, and the `most` texts of more characters with the highest count times length among
 * those that occur twice, may be pieces, and are not always followed by the same character. */
Error *sp_seeds_find(Arena *a, const TrainSettings *s, const SpUnits *u, int64_t most, Pool *pool,
                     SpSeeds *out);
/* Drops seeds; parents and `longest` skip over them. Returns in `kept` the old number of each. */
void sp_seeds_keep(SpSeeds *s, int64_t n_text, const bool *keep, uint32_t *kept);

/* A seed and what it is worth. */
typedef struct SpRanked {
    double score;
    uint32_t seed;
} SpRanked;

/* The highest score first, of equal ones the lesser text. */
void sp_rank(SpRanked *item, int64_t n);
#endif
