/* bad_line.h - what happens to a line that cannot be used: nothing is lost without being named. */
#ifndef DATA_BAD_LINE_H
#define DATA_BAD_LINE_H
#include "base/error.h"
#include "base/str.h"
#include <stdint.h>

/* The first bad line is an error, or every bad line is named in a warning, counted and left out. */
typedef enum { BAD_LINE_STOP, BAD_LINE_SKIP } BadLinePolicy;

/* "stop" (or "error"), "skip"; ends with NULL. */
extern const char *const bad_line_policies[];

/* Finds line numbers; for rising offsets in one pass over the text. */
typedef struct LineCounter {
    Str text;
    int64_t offset, line;
} LineCounter;

/* The number, from 1, of the line that begins at `offset`, which is not before that of the last
 * call. */
int64_t line_at(LineCounter *c, int64_t offset);

/* Lines may have 1 GiB unless a setting says otherwise. */
enum { DEFAULT_MAX_LINE_BYTES = 1 << 30 };
/* The limit that this setting means: 0 is the default. */
int64_t most_line_bytes(int64_t max_line_bytes);
/* Why a line of this length cannot be used, or NULL. Code that
 * stops reading at the limit may give any length above it. */
Error *line_too_long(int64_t length, int64_t max_line_bytes);

/* What to do about a bad line that stopped the work, as a further line of its error; `skipping`:
 * what is to be typed. */
Error *bad_line_stops(Error *e, const char *skipping);

/* "FILE:LINE:COLUMN: reason (byte N of the file; the line has "...")". `offset` is that of the
 * line, `column` that of the fault in the line or -1. Consumes the reason. */
Error *bad_line_error(const char *path, int64_t line_number, int64_t offset, Str line,
                      int64_t column, Error *reason);
#endif
