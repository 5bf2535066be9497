/* filter.h - some documents of a .pbin file, in their order, as a new file. */
#ifndef DATA_FILTER_H
#define DATA_FILTER_H
#include "data/share.h"
#include "tokenizer/tokenizer.h"

typedef struct Filter {
    const char *source, *target;
    /* Either or both, else NULL; a document must pass both. */
    const char *jq;   /* true or false for {index, n_tokens, text, tokens} */
    const char *keep; /* file with the numbers of documents, from 0, one per line in any order */
    const Tokenizer *tokenizer; /* makes `text`, special tokens left out; NULL: there is none */
    const char *tokenizer_path; /* where it is from, to know it again (NULL without) */
    bool with_tokens;           /* the ids are asked for */
    Share share;                /* of the documents; one that keeps nothing leaves no file */
} Filter;

typedef struct FilterSummary {
    int64_t n_documents, n_kept, n_bytes;
} FilterSummary;

/* A filter that keeps nothing is an error, unless it is one of several shares. An interrupted run
 * goes on where it was, both with asking and with writing. */
Error *filter_pbin(const Filter *f, FilterSummary *out);
#endif
