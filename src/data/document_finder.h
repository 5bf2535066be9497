/* document_finder.h - which document a token of a .pbin file belongs to. */
#ifndef DATA_DOCUMENT_FINDER_H
#define DATA_DOCUMENT_FINDER_H
#include "data/pbin.h"

/* Keeps the ends of a file's documents: 8 bytes of memory each. */
typedef struct DocumentFinder {
    const Pbin *file;
    int64_t *end; /* of each document, in tokens of the file */
    int64_t n;
} DocumentFinder;

/* `file` must stay as long as the finder. */
Error *document_finder_open(Arena *a, const Pbin *file, DocumentFinder *out);
/* The document that holds a token of the file, and its first token. */
int64_t document_finder_find(const DocumentFinder *d, int64_t token, int64_t *first);
#endif
