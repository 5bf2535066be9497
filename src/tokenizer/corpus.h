/* corpus.h - the texts of many files, in blocks that threads read independently. */
#ifndef TOKENIZER_CORPUS_H
#define TOKENIZER_CORPUS_H
#include "base/text_input.h"
#include <stdbool.h>
#include <stdint.h>

typedef enum {
    CORPUS_AUTO,  /* *.jsonl, *.jsonl.gz, *.jsonl.zst: JSON lines; others: lines */
    CORPUS_JSONL, /* one text per line, under a key */
    CORPUS_LINES, /* every line, with its line end, is a text */
    CORPUS_WHOLE, /* a file is one text, cut only where GPT-2's pattern cuts in any case */
} CorpusFormat;

typedef struct CorpusSettings {
    const char *const *path; /* files, folders, patterns, "-" (base/text_input.h) */
    int64_t n_paths;
    const char *beside; /* the output: what is compressed is kept in temporary files there */
    CorpusFormat format;
    const char *key; /* of CORPUS_JSONL */
    bool skips_bad;  /* lines that are no JSON, lack the text, or are no UTF-8 are skipped */
} CorpusSettings;

typedef struct Corpus {
    const CorpusSettings *settings;
    PathList files;
    Str *text;            /* by file, mapped */
    int64_t *first_block; /* by file, and one more: the number of blocks */
    int64_t n_blocks, n_bytes;
} Corpus;

/* Maps the files, as long as the arena. Plain ones must be regular. */
Error *corpus_open(Arena *a, const CorpusSettings *settings, Corpus *out);

/* What came out of a block. */
typedef struct CorpusBlock {
    int64_t n_bytes, n_texts, n_skipped;
} CorpusBlock;

/* Hands every text of a block to `take`; the block's texts are the same whoever reads it. A bad
 * line is an error that names file and line, or is counted, as the settings say. */
Error *corpus_read(const Corpus *c, int64_t block, void (*take)(void *arg, Str text), void *arg,
                   CorpusBlock *out);
#endif
