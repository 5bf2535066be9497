/* line_filter.h - a command that turns each line of its input into output, by threads, in order. */
#ifndef CLI_LINE_FILTER_H
#define CLI_LINE_FILTER_H
#include "base/error.h"
#include "base/str.h"

typedef struct LineFilter {
    const char *what;                     /* "encoding", for progress */
    const char *input_path, *output_path; /* NULL: stdin, stdout */
    bool whole;                           /* the input is one "line" */
    int n_threads;                        /* 0: all */
    int64_t max_line_bytes;               /* a longer line is an error; not if whole */
    /* A thread's own state, and what ends it. */
    void *(*state_new)(const void *settings);
    void (*state_free)(void *state);
    /* Appends what a line (without its line end) gives. The error says what is wrong with the line;
     * *column is the byte of the line it is about, or stays -1. */
    Error *(*line)(void *state, Str line, Text *out, int64_t *column);
    const void *settings;
} LineFilter;

/* An output file appears only when everything went well. Errors name file and line. */
Error *line_filter_run(const LineFilter *f);
#endif
