/* pack.h - tokenizes a file of JSON lines into a .pbin file. */
#ifndef DATA_PACK_H
#define DATA_PACK_H
#include "data/bad_line.h"
#include "data/share.h"
#include "tokenizer/tokenizer.h"

/* `settings` of a pack configuration (pack_settings.c describes them). */
typedef struct PackSettings {
    const char *src_path, *dst_path;
    const char *index_path; /* NULL: beside src_path */
    const char *jq_pattern;
    const char *eod_token;
    int64_t num_cpus; /* worker threads */
    int64_t processing_batch_size;
    int64_t raw_samples_queue_size, processed_samples_queue_size;
    int on_bad_line;             /* BadLinePolicy */
    const char *bad_line_report; /* NULL: none */
    int64_t max_line_bytes;      /* 0: the default */
    /* No setting: lines that change when the tokens of a text may (data/resumable.h); NULL: an
     * interrupted run cannot be continued. */
    const char *tokenizer_identity;
    /* No setting: what this rank packs of it: lines of one file with an index, else whole inputs. A
     * share without documents leaves no file. */
    Share share;
} PackSettings;

typedef struct PackSummary {
    int64_t n_documents, n_tokens, n_bad;
    int64_t n_bytes_read;                /* of the lines */
    int64_t n_tokens_found, bytes_found; /* of both, what an earlier run had done */
    int token_bytes;
    double seconds;
} PackSummary;

/* Writes dst_path (and its folder) with one document per line, in the order of the index: the
 * tokens of the text that jq_pattern finds, and the EOD token unless they end with it. The bytes do
 * not depend on the number of threads or the sizes of batches and queues. On an error, and when a
 * stop is asked for, nothing is left at dst_path (or what was there before); finished parts stay
 * beside it, and the next run with the same input and settings goes on after them. */
Error *pack_jsonl(const PackSettings *settings, const Tokenizer *tokenizer, PackSummary *out);
#endif
