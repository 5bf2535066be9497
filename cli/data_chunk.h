/* data_chunk.h - what the two commands share that write one chunk of several files. */
#ifndef CLI_DATA_CHUNK_H
#define CLI_DATA_CHUNK_H
#include "command.h"
#include "data/piece_files.h"

typedef struct ChunkOptions {
    const char *input_file_list_path, *input_data_root_path, *output_chunk_file_path;
    int64_t chunk_id, num_chunks;
    int file_existence_policy;
    const int64_t *global_seed; /* NULL: any */
} ChunkOptions;

extern const Field chunk_options[];

Error *run_chunk(Arena *a, const ChunkOptions *o, PieceFormat format);
#endif
