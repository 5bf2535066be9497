/* verify.h - whether packed files and indexes are what they claim to be; reads everything. */
#ifndef DATA_VERIFY_H
#define DATA_VERIFY_H
#include "data/pbin.h"
#include "data/share.h"

typedef struct PbinExpectation {
    int64_t vocab_size; /* ids lie below; 0: any */
    int64_t eod;        /* every document ends with it; -1: any */
    Share share;        /* of the tokens and documents that are looked at */
} PbinExpectation;

typedef struct PbinVerdict {
    int64_t n_documents, n_tokens, n_empty;
    uint32_t largest_id;
    bool is_miscounted; /* merged by the original: offsets were read as they were meant */
} PbinVerdict;

/* The first thing that is wrong is an error that names its place. */
Error *verify_pbin(const char *path, const PbinExpectation *expected, PbinVerdict *out);

typedef struct IndexVerdict {
    int64_t n_entries, n_lines;
} IndexVerdict;

/* Every entry of a raw index is a line of its file, and JSON. index_path NULL: beside the file. */
Error *verify_index(const char *jsonl_path, const char *index_path, Share share, IndexVerdict *out);
#endif
