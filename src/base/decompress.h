/* decompress.h - the content of .gz and .zst files. */
#ifndef BASE_DECOMPRESS_H
#define BASE_DECOMPRESS_H
#include "base/error.h"
#include "base/str.h"
#include <stdio.h>

typedef enum { NOT_COMPRESSED, COMPRESSED_GZIP, COMPRESSED_ZSTD } Compression;

/* By the last suffix of the name: .gz, .zst. */
Compression compression_of(const char *path);
/* Where content goes. */
typedef struct Sink {
    /* Memory for the next bytes, and how many there may be. */
    char *(*room)(void *to, size_t *n);
    /* n bytes are there, from the first `stored` ones of the file. */
    Error *(*took)(void *to, size_t n, size_t stored);
    void *to;
} Sink;

/* The content of all members (gzip) or frames (zstd) in `bytes`; `name` is for errors, which name
 * the byte. Data that is cut short, damaged or followed by something else is an error. Memory does
 * not grow with the content: at most 128 MiB, the window of a zstd frame. */
Error *decompress(Compression kind, Str bytes, const char *name, const Sink *sink);
/* The same, written to a stream. */
Error *decompress_to_stream(Compression kind, Str bytes, const char *name, FILE *to);
#endif
