/* jsonl.h - JSON lines: indexing a file, and its lines by number. */
#ifndef DATA_JSONL_H
#define DATA_JSONL_H
#include "data/bad_line.h"
#include "data/index.h"

typedef struct IndexSummary {
    int64_t n_lines, n_bad, n_bytes;
    double seconds;
} IndexSummary;

/* Writes the index of `source`: an entry (offset, length without the newline) per line. Each line
 * must be JSON (json_scan.h), so an empty line is bad, and so is an empty file; the newline at the
 * end is optional. On an error, and when a stop is asked for, nothing is left at index_path. */
Error *jsonl_write_index(const char *source, const char *index_path, BadLinePolicy policy,
                         IndexSummary *out);

/* A file with its index; both stay mapped as long as the arena. */
typedef struct Jsonl {
    const char *path, *index_path;
    Str text;
    IndexReader *index;
} Jsonl;

/* index_path NULL: beside the file, with its last suffix replaced by .idx. */
Error *jsonl_open(Arena *a, const char *path, const char *index_path, Jsonl *out);
/* The text of an entry; an error when the index does not fit the file. */
Error *jsonl_line(const Jsonl *j, IndexEntry entry, Str *out);
#endif
