/* jsonl.h - JSON lines: indexing a file, and its lines by number. */
#ifndef DATA_JSONL_H
#define DATA_JSONL_H
#include "base/text_input.h"
#include "data/bad_lines.h"
#include "data/index.h"
#include "data/share.h"

typedef struct IndexSummary {
    int64_t n_lines, n_bad, n_bytes;
    double seconds;
} IndexSummary;

/* Writes the index of `source` (a file, plain or compressed, or "-"; offsets are in its text): an
 * entry (offset, length without the newline) per line. Each line
 * must be JSON (json_scan.h), so an empty line is bad, and so is an empty file; the newline at the
 * end is optional; `bad` NULL: the first bad line is an error. On an error, and when a stop is
 * asked for, nothing is left at index_path. */
Error *jsonl_write_index(const char *source, const char *index_path, BadLines *bad,
                         IndexSummary *out);

/* Of a plain file, the lines that begin in this rank's share of it; the ranks before have so many.
 */
typedef struct IndexShare {
    Share share;
    int64_t lines_before;
} IndexShare;
Error *jsonl_write_index_share(const char *source, const char *index_path, const IndexShare *share,
                               BadLines *bad, IndexSummary *out);
/* How many lines begin there. */
Error *jsonl_count_lines(const char *source, Share share, int64_t *out);
/* One index of those of all shares, in order. */
Error *index_join(const char *const *part, int64_t n, const char *target);

/* A text with its index, if it has one. */
typedef struct Jsonl {
    const char *path, *index_path;
    Str text;
    IndexReader *index; /* NULL: every line counts */
    int64_t at;         /* without index: where the next line begins */
} Jsonl;

/* A plain file, which stays mapped as long as the arena. index_path NULL: beside the file, with its
 * last suffix replaced by .idx. */
Error *jsonl_open(Arena *a, const char *path, const char *index_path, Jsonl *out);
/* A text that was opened before and stays the caller's; index_path NULL: no index. */
Error *jsonl_open_text(Arena *a, const TextInput *input, const char *index_path, Jsonl *out);
/* The next line, without its newline; false after the last one. */
bool jsonl_next(Jsonl *j, IndexEntry *out);
/* The text of an entry; an error when the index does not fit the file. */
Error *jsonl_line(const Jsonl *j, IndexEntry entry, Str *out);
#endif
