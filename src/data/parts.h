/* parts.h - the record of finished parts: a text that grows by a line for each.
 *
 *   modalities parts 1
 *   : input: /data/x.jsonl, 123 bytes, changed at 1700000000.000000000
 *   part 4096:9e3779b97f4a7c15 64:7f4a7c159e3779b9 numbers 1 2 3 0 0 0 0 0 =0123456789abcdef
 *
 * Each line ends with a sum of itself, so that one that was cut short is known. */
#ifndef DATA_PARTS_H
#define DATA_PARTS_H
#include "data/resumable.h"

typedef struct FinishedPart {
    int64_t end[MOST_STREAMS]; /* bytes of each stream */
    uint64_t
        sum[MOST_STREAMS]; /* of what the part added to it: block by block from its beginning */
    int64_t number[MOST_NUMBERS];
} FinishedPart;

typedef struct PartRecord {
    const char **file; /* the growing files of the run that wrote it */
    int64_t n_files, file_cap;
    const char *difference; /* why the work is another one; NULL: the same */
    FinishedPart *part;
    int64_t n, cap;
    const char **note;
    int64_t n_notes, note_cap;
} PartRecord;

/* Reads a record up to the first line that is not whole, and compares the identity. A file that is
 * missing is one without parts. */
Error *parts_read(Arena *a, const char *path, const char *identity, int n_streams, PartRecord *out);
/* What follows `beginning` in the line of the identity that begins so, or NULL. */
const char *parts_find_identity(Arena *a, const char *path, const char *beginning);
/* The beginning of a record, and its lines. */
void parts_begin(Text *t, const char *const *file, int n_files, const char *identity);
void parts_add(Text *t, const FinishedPart *part, int n_streams);
void parts_add_note(Text *t, const char *note);
#endif
