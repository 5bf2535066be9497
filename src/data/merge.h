/* merge.h - several .pbin files as one. */
#ifndef DATA_MERGE_H
#define DATA_MERGE_H
#include "base/error.h"
#include <stdint.h>

typedef struct MergeSummary {
    int64_t n_documents, n_bytes;
} MergeSummary;

/* Writes the documents of all sources, in their order, to a new file. All must have the same token
 * size. Memory does not grow with the files. */
Error *merge_pbin(const char *const *source, int64_t n, const char *target, MergeSummary *out);
#endif
