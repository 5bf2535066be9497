/* train_bpe.h - learning merges, for the kinds of trainers that merge as the library's BpeTrainer.
 */
#ifndef TOKENIZER_TRAIN_BPE_H
#define TOKENIZER_TRAIN_BPE_H
#include "tokenizer/train.h"

/* What was learnt. Names are in the byte alphabet. */
typedef struct TrainedBpe {
    const char **name; /* by id */
    int64_t n_ids;
    uint32_t (*merge)[2];
    int64_t n_merges;
} TrainedBpe;

/* Chooses the merges; everything belongs to the arena. */
Error *train_merges(Arena *a, const TrainSettings *s, const WordCounts *words, TrainedBpe *out,
                    TrainSummary *summary);
#endif
