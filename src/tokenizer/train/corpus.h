/* corpus.h - the texts of many files, read by threads. */
#ifndef TOKENIZER_TRAIN_CORPUS_H
#define TOKENIZER_TRAIN_CORPUS_H
#include "base/text_input.h"
#include "base/thread.h"
#include <stdbool.h>
#include <stdint.h>

typedef enum {
    CORPUS_AUTO,  /* *.jsonl, *.jsonl.gz, *.jsonl.zst: JSON lines; others: lines */
    CORPUS_JSONL, /* one text per line, under a key */
    CORPUS_LINES, /* every line, with its line end, is a text */
    CORPUS_WHOLE, /* a file is one text, cut where no word reaches over: at a blank in ASCII text */
} CorpusFormat;

/* A line that gives no text. `file` is the whole file, `column` the byte of the line that the
 * reason, which the receiver owns, is about, or -1. */
typedef struct BadText {
    const char *path;
    Str file, line;
    int64_t column;
    Error *reason;
} BadText;

typedef struct CorpusSettings {
    const char *const *path; /* files, folders, patterns, "-" (base/text_input.h) */
    int64_t n_paths;
    const char *beside; /* the output: what is compressed is kept in temporary files there; NULL: in
                           the working folder */
    CorpusFormat format;
    const char *key;        /* of CORPUS_JSONL */
    int64_t max_line_bytes; /* a longer line is bad; 0: lines may have any length */
    /* Told of all bad lines in the order of the corpus, by the thread that reads it: an error of
     * its own ends the reading. NULL: the first one is an error. */
    Error *(*bad_text)(void *arg, BadText bad);
    void *bad_text_arg;
} CorpusSettings;

/* How far the reading is. */
typedef struct CorpusDone {
    int64_t n_bytes, n_texts, n_bad;    /* of text; texts; bad lines */
    int64_t stored_bytes, stored_total; /* of files as they lie on the disk */
} CorpusDone;

/* A text, valid UTF-8 of less than 4 GiB, for the thread's own memory. `place` tells it from all
 * others and rises along the corpus: the bytes of the files before the line. `is_start` is false
 * when it goes on where another one ended. An error says why the text cannot be used; it must come
 * before anything was done with the text, because a bad one is seen twice. */
typedef Error *TakeText(void *arg, int thread, Str text, int64_t place, bool is_start);

typedef struct Corpus Corpus;

/* Plain files must be regular. The settings must stay. */
Error *corpus_open(const CorpusSettings *settings, Pool *pool, Corpus **out);
/* Hands the texts of the next stretch, up to 128 MiB, to `take`, which all threads call. What is in
 * a stretch depends on the corpus alone. False after the last one. */
Error *corpus_next(Corpus *c, TakeText *take, void *arg, bool *some);
CorpusDone corpus_done(const Corpus *c);
void corpus_close(Corpus *c);
#endif
