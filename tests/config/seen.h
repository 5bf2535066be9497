/* seen.h - everything that the program lets a user see, as one text that two runs can be compared
 * by. */
#ifndef TESTS_CONFIG_SEEN_H
#define TESTS_CONFIG_SEEN_H
#include "config/field_rows.h"

typedef struct Seen {
    int status;
    /* What it said and the files that it left, without what depends on time, memory and place, and
     * without what only repeats the configuration: its copies, and the lists of the training
     * report. */
    const char *text;
    const char *resolved; /* the configuration itself, with the value in place */
} Seen;

/* Writes the files that the tables of tests/config/fields/ name by variables: TRAIN_PBIN,
 * OTHER_PBIN, JSONL, INDEX, OTHER_JSONL, SHORT_INDEX (of the first lines of JSONL), TOKENIZER,
 * OTHER_TOKENIZER, SENTENCEPIECE, OTHER_SENTENCEPIECE, CHECKPOINT, OTHER_CHECKPOINT, GENERATE_YAML,
 * OTHER_WEIGHTS, FORCED_TOKENIZER. */
void seen_prepare(Arena *a);
/* Runs the program of the block with its overrides and one more (NULL: none). */
Seen seen_run(Arena *a, const FieldBlock *b, const char *more);
#endif
