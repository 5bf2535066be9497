/* data_shuffle.h - what the two commands share that shuffle a file. */
#ifndef CLI_DATA_SHUFFLE_H
#define CLI_DATA_SHUFFLE_H
#include "command.h"
#include "data/shuffle.h"
#include "data_rewriting.h"

typedef struct ShuffleOptions {
    const char *input_data_path, *output_data_path;
    int64_t batch_size;
    int file_existence_policy;
    const int64_t *seed;    /* NULL: any */
    int64_t max_line_bytes; /* of lines, and so the two below */
    int on_bad_line;
    const char *bad_line_report;
} ShuffleOptions;

Error *run_shuffle(Arena *a, const ShuffleOptions *o, PieceFormat format);
#endif
