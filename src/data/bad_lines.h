/* bad_lines.h - what becomes of all lines of a run that cannot be used: under BAD_LINE_STOP the
 * first one ends it; under BAD_LINE_SKIP they are left out, the first ones named in warnings, all
 * of them counted by reason and, if wanted, written to a report. */
#ifndef DATA_BAD_LINES_H
#define DATA_BAD_LINES_H
#include "base/file.h"
#include "base/map.h"
#include "data/bad_line.h"
#include "data/resumable.h"

typedef struct BadLines {
    BadLinePolicy policy;
    const char *skipping;   /* what is to be typed for BAD_LINE_SKIP */
    int64_t max_line_bytes; /* longer lines are bad */
    int64_t n;
    Arena *arena;
    Map *reason; /* text to count */
    NewFile report;
    bool has_report;
    Resumable *kept; /* where they go instead of a report of their own, or NULL */
    int stream;
} BadLines;

/* `skipping` where a YAML file has the setting */
#define BAD_LINES_SKIPPED_BY_SET "--set settings.on_bad_line=skip"

/* report_path NULL: no report; a file there that is no report is an error. max_line_bytes and
 * `skipping` are those of a command's options; whoever has settings changes them. */
Error *bad_lines_open(BadLinePolicy policy, const char *report_path, BadLines *out);
/* The stream that holds all bad lines of an output that may be continued, and becomes the report if
 * there is to be one; and using it, with what an earlier run left there. */
Error *bad_lines_stream(const char *report_path, OutputStream *out);
Error *bad_lines_keep(BadLines *b, Resumable *to, int stream);
/* One line, as for bad_line_error; consumes the reason. */
Error *bad_lines_add(BadLines *b, const char *path, int64_t line_number, int64_t offset, Str line,
                     int64_t column, Error *reason);
/* "OUTPUT: 3 of 100 lines were left out" and a line per reason, as a warning, if there are any. */
void bad_lines_tell(const BadLines *b, const char *output, int64_t n_lines);
/* Completes the report, or drops it when the run failed; an object of zeros is allowed. */
Error *bad_lines_close(BadLines *b, bool is_done);
#endif
