/* document_lengths.h - how long the documents of a file are, in memory that does not grow with
 * their number. */
#ifndef DATA_DOCUMENT_LENGTHS_H
#define DATA_DOCUMENT_LENGTHS_H
#include "base/str.h"
#include <stdbool.h>
#include <stdint.h>

/* Counts by length: exact below 2048, in steps of 1/1024 above. */
typedef struct DocumentLengths {
    int64_t *count; /* by step */
    int64_t n, sum, shortest, longest;
} DocumentLengths;

DocumentLengths *document_lengths_new(Arena *a);
void document_lengths_add(DocumentLengths *d, int64_t length);
/* The length that this share of the documents does not exceed; 0 without documents. */
int64_t document_lengths_quantile(const DocumentLengths *d, double share);
/* A line per power of two: range, bar, number of documents, their share of all tokens. */
void document_lengths_draw(const DocumentLengths *d, int width, bool is_utf8, Text *out);
#endif
