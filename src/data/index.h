/* index.h - the list of (offset, length) pairs that is an .idx file and the end of a .pbin file.
 *
 * On disk it is the pickle that CPython writes for a list of pairs of integers (protocol 4, byte
 * for byte). Read are protocols 2 to 5, pairs as tuples or lists, with or without frames, and
 * nothing else: no pickle can make this program do more than fill a list of numbers. Both
 * directions stream. */
#ifndef DATA_INDEX_H
#define DATA_INDEX_H
#include "base/arena.h"
#include "base/error.h"
#include "base/str.h"
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

typedef struct IndexEntry {
    int64_t offset, length; /* bytes */
} IndexEntry;

/* Writes as entries come; holds one frame (64 KiB). */
typedef struct IndexWriter {
    FILE *stream;
    Text frame;
    IndexEntry first; /* held back: a list of one is written differently */
    int64_t n;
} IndexWriter;

/* Write errors stay in the stream (ferror). */
void index_begin(IndexWriter *w, FILE *stream);
void index_add(IndexWriter *w, int64_t offset, int64_t length);
void index_end(IndexWriter *w);
/* Frees what an index_begin without index_end holds. */
void index_abandon(IndexWriter *w);

/* Reads entries one by one from bytes that stay the caller's. */
typedef struct IndexReader IndexReader;

/* Checks all of `bytes` and counts the entries; errors name `name` and the byte, counted from
 * `name_offset` (where the index starts in its file). */
Error *index_open(Arena *a, Str bytes, const char *name, int64_t name_offset, IndexReader **out);
/* After the last byte that an entry names. */
int64_t index_end_offset(const IndexReader *r);
int64_t index_count(const IndexReader *r);
/* The next entry; false after the last one. */
bool index_next(IndexReader *r, IndexEntry *out);
/* The next entry will be the first one again. */
void index_rewind(IndexReader *r);
/* All entries, in an array of index_count that the arena owns. */
IndexEntry *index_read_all(Arena *a, IndexReader *r);
#endif
