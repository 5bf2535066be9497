/* data_rewriting.h - what the commands share that write data in another order. */
#ifndef CLI_DATA_REWRITING_H
#define CLI_DATA_REWRITING_H
#include "base/clock.h"
#include "base/file.h"
#include "data/bad_lines.h"
#include "data/existing_file.h"

/* For `details` of a Command. */
#define REWRITING_DETAILS                                                                          \
    "All cores copy; memory stays below 4 MiB per core plus what the system keeps of the files, "  \
    "however large they are. The file appears when it is complete; " GOES_ON
/* Of all commands whose output is a Resumable. */
#define GOES_ON                                                                                    \
    "after an interruption (also kill -9 or a loss of power) the same command goes on after the "  \
    "finished parts, which wait in files named like the output with .partial appended."
/* Of the commands that sort: the list of pieces. */
#define PIECES_DETAILS(piece)                                                                      \
    " While it works, it needs 16 bytes per " piece " on the disk of the output."

/* What becomes of lines that are too long: the rows of the options. */
#define LONG_LINE_FIELDS(T)                                                                        \
    FIELD_INT(T, max_line_bytes, "1073741824", 1, INFINITY, "a longer line is a bad line"),        \
        FIELD_CHOICE(T, on_bad_line, "stop", bad_line_policies,                                    \
                     "a line that is too long is an error, or is named, counted and left out"),    \
        FIELD_PATH(T, bad_line_report, "null",                                                     \
                   "file for all lines that were left out, as JSON lines", .role = PATH_WRITTEN)

/* The policy decides about a file that is there, *write says whether to go on; then its folder is
 * made. */
Error *prepare_output(Arena *a, const char *output, int policy, bool *write);
/* The seed that an interrupted run of this output drew; a run without one goes on with it. */
bool find_drawn_seed(Arena *a, const char *output, int64_t *seed);
/* Draws one and tells it as the value of `option`. */
int64_t draw_seed(const char *option);
/* "out.pbin: 12 documents (1.2 MB in 3 s, 0.4 MB/s)". */
void tell_rewritten(const char *path, int64_t n, const char *what, int64_t n_bytes, double start);
#endif
