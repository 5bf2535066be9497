/* token_counts.h - how many tokens each line of a JSONL file gives: counted once by all cores and
 * kept in a file, so that a block of tokens can be found without packing. */
#ifndef DATA_TOKEN_COUNTS_H
#define DATA_TOKEN_COUNTS_H
#include "data/jsonl.h"
#include "data/line_reader.h"

typedef struct CountSettings {
    const Jsonl *source;
    const IndexEntry *line;
    int64_t n_lines;
    const Tokenizer *tokenizer;
    const char *jq_pattern;
    int64_t eod, max_line_bytes;
    LineReaders *readers;    /* of this tokenizer, pattern and EOD token */
    const char *counts_path; /* read if it was made for all of the above, else written */
    BadLinePolicy on_bad_line;
    int n_threads; /* 0: one per core */
} CountSettings;

/* (*first)[i] is the number of tokens before line i; there are n_lines + 1 entries, owned by the
 * arena. A line that is left out has no tokens. */
Error *token_counts(Arena *a, const CountSettings *s, int64_t **first);
#endif
