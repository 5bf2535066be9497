/* data_chunk.h - what the two commands share that write one chunk of several files. */
#ifndef CLI_DATA_CHUNK_H
#define CLI_DATA_CHUNK_H
#include "command.h"
#include "data/piece_files.h"
#include "data_rewriting.h"

typedef struct ChunkOptions {
    const char *input_file_list_path, *input_data_root_path, *output_chunk_file_path;
    int64_t chunk_id, num_chunks;
    int file_existence_policy;
    const int64_t *global_seed; /* NULL: any */
    int64_t max_line_bytes;     /* of lines, and so the two below */
    int on_bad_line;
    const char *bad_line_report;
} ChunkOptions;

/* The rows of both commands. */
#define CHUNK_FIELDS                                                                               \
    FIELD_PATH(ChunkOptions, input_file_list_path, NULL,                                           \
               "text with a path per line; its suffix is replaced by that of the format",          \
               .flags = FIELD_EXISTS),                                                             \
        FIELD_PATH(ChunkOptions, input_data_root_path, NULL,                                       \
                   "folder that the paths of the list start from", .flags = FIELD_EXISTS_ANY,      \
                   .role = PATH_BEGINNING),                                                        \
        FIELD_PATH(ChunkOptions, output_chunk_file_path, NULL, "file to write",                    \
                   .role = PATH_WRITTEN),                                                          \
        FIELD_INT(ChunkOptions, chunk_id, NULL, 0, 0, "which chunk, from 0"),                      \
        FIELD_INT(ChunkOptions, num_chunks, NULL, 0, 0, "into how many each file is divided"),     \
        FIELD_CHOICE(ChunkOptions, file_existence_policy, "error", existing_policies,              \
                     "when the output is already there"),                                          \
        FIELD_INT(ChunkOptions, global_seed, "null", 0, 0,                                         \
                  "of the orders of all chunks; without it, another one each time, so that an "    \
                  "interrupted run is not continued")

/* The files of the list. */
Error *chunk_paths(Arena *a, const ChunkOptions *o, PieceFormat format, PathRoles *to);
Error *run_chunk(Arena *a, const ChunkOptions *o, PieceFormat format);
#endif
