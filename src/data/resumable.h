/* resumable.h - output files that an interrupted command goes on with.
 *
 * While a command works, its output grows in files named OUT.partial... Now and then a thread makes
 * durable what was written and adds a line to OUT.partial.parts: a finished part, with the length
 * of each file, sums over what the part added, and the command's own numbers (where in its input it
 * is). The next run that asks for the same work finds the parts, checks them and goes on after the
 * last one. What another run left, of other inputs or settings, is reported and removed. */
#ifndef DATA_RESUMABLE_H
#define DATA_RESUMABLE_H
#include "base/arena.h"
#include "base/error.h"
#include "base/str.h"
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

enum { MOST_STREAMS = 5, MOST_NUMBERS = 8, STREAM_BLOCK = 1 << 20 };

/* One file that grows. */
typedef struct OutputStream {
    const char *path;   /* where it appears in the end; NULL: it is only needed on the way */
    const char *suffix; /* of the latter: OUT.partialSUFFIX */
    int64_t header;     /* bytes kept free at its beginning; no count of bytes includes them */
} OutputStream;

typedef struct Resumable Resumable;

/* Appends "WHAT: PATH, N bytes, changed at TIME" (of a folder: of all files directly in it) to an
 * identity; "-" has none. */
Error *identify_path(Text *identity, const char *what, const char *path);

/* Opens the streams, the first of which is `output`, with what an earlier run left. `identity` is
 * all that the bytes depend on, a line per input or setting, each "what: value"; NULL: the work
 * cannot be continued, so nothing is left of it. Only one run at a time may write an output. */
Error *resumable_open(const char *output, const char *identity, const OutputStream *stream,
                      int n_streams, Resumable **out);
/* The value of `what` in the identity of an interrupted run of this output, or NULL: for settings
 * that were drawn and not given. */
const char *resumable_recorded(Arena *a, const char *output, const char *what);
const char *resumable_output(const Resumable *r);
/* How many parts of an earlier run are used, and the numbers of the last of them (or zeros). */
int64_t resumable_parts(const Resumable *r);
const int64_t *resumable_numbers(const Resumable *r);
/* Bytes of a stream so far, found and added. */
int64_t resumable_bytes(const Resumable *r, int stream);
/* Does without the parts that were found; `why` is reported. */
Error *resumable_discard(Resumable *r, const char *why);

/* Appends to a stream, after a buffer. */
Error *resumable_add(Resumable *r, int stream, const void *bytes, size_t n);
/* The other way: the caller writes to the file itself, after header and resumable_bytes, and tells
 * of consecutive blocks of STREAM_BLOCK bytes; only the very last one may be shorter. */
int resumable_file(const Resumable *r, int stream, int64_t *header);
void resumable_added(Resumable *r, int stream, size_t n, uint64_t block_sum);
/* For threads that write what they made: takes the place of n bytes after all others, in order,
 * and returns its offset in the file; resumable_write puts them there, in any order and at the same
 * time as others. All that was reserved must be written before resumable_reach. */
int64_t resumable_reserve(Resumable *r, int stream, const void *bytes, size_t n);
Error *resumable_write(const Resumable *r, int stream, const void *bytes, size_t n, int64_t at);
/* The work can be continued from here, with these MOST_NUMBERS numbers (NULL: zeros). Makes a part
 * of it when enough was done since the last one. */
Error *resumable_reach(Resumable *r, const int64_t *number);
/* Whether resumable_reach would make one now. */
bool resumable_is_due(Resumable *r);

/* All of a stream, mapped as long as the arena. */
Error *resumable_view(Resumable *r, int stream, Arena *a, Str *out);
/* Writes into the space for the header. */
Error *resumable_write_header(Resumable *r, int stream, const void *bytes, size_t n);
/* For what follows the first stream's data; to be closed. Nothing can be added any more. */
Error *resumable_tail(Resumable *r, FILE **out);

/* Marks of steps after resumable_place ("train.pbin is written"), found again until
 * resumable_commit; what follows `beginning` in the last one that begins so, or NULL. */
Error *resumable_note(Resumable *r, const char *note);
const char *resumable_find_note(const Resumable *r, const char *beginning);
/* The same about a file that was made, and whether it is still as it was then. */
Error *resumable_note_made(Resumable *r, const char *path);
bool resumable_is_made(const Resumable *r, const char *path);

/* Puts all streams with a path in place, the first one last, without letting go. */
Error *resumable_place(Resumable *r);
/* The same if that was not done, and removes all else. Frees r, also on failure. */
Error *resumable_commit(Resumable *r);
/* After a failure `e`: keeps finished parts and adds a line that says so, or removes everything
 * when there are none. Frees r; NULL is allowed. */
Error *resumable_abandon(Resumable *r, Error *e);
#endif
