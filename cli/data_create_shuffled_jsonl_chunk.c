/* data_create_shuffled_jsonl_chunk.c - `data create_shuffled_jsonl_chunk`: a share of several JSONL
 * files. */
#include "data_chunk.h"

static const Field options[] = {
    CHUNK_FIELDS,
    LONG_LINE_FIELDS(ChunkOptions),
    { 0 },
};

static Error *paths(Arena *a, const void *given, PathRoles *to)
{
    return chunk_paths(a, given, PIECES_JSONL, to);
}

static Error *run(Arena *a, const void *given)
{
    return run_chunk(a, given, PIECES_JSONL);
}

const Command command_data_create_shuffled_jsonl_chunk = {
    .group = "data",
    .name = "create_shuffled_jsonl_chunk",
    .doc = "Writes one chunk of several JSONL files: a share of each, shuffled together.",
    .details = "All chunks together hold each line once; sizes differ by one line per file at "
               "most. The order is that of numpy.random.default_rng. A last line without a newline "
               "gets one. " REWRITING_DETAILS PIECES_DETAILS("line"),
    .examples = "modalities data create_shuffled_jsonl_chunk --input_file_list_path files.txt "
                "--input_data_root_path data --output_chunk_file_path chunk_0.jsonl --chunk_id 0 "
                "--num_chunks 8 --global_seed 42",
    .options = options,
    .options_size = sizeof(ChunkOptions),
    .paths = paths,
    .run = run,
};
