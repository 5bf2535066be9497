/* data_create_shuffled_dataset_chunk.c - `data create_shuffled_dataset_chunk`: a share of several
 * .pbin files. */
#include "data_chunk.h"

static const Field options[] = {
    CHUNK_FIELDS,
    { 0 },
};

static Error *paths(Arena *a, const void *given, PathRoles *to)
{
    return chunk_paths(a, given, PIECES_PBIN, to);
}

static Error *run(Arena *a, const void *given)
{
    return run_chunk(a, given, PIECES_PBIN);
}

const Command command_data_create_shuffled_dataset_chunk = {
    .group = "data",
    .name = "create_shuffled_dataset_chunk",
    .doc = "Writes one chunk of several .pbin files: a share of each, shuffled together.",
    .details =
        "All chunks together hold each document once; sizes differ by one document per file "
        "at most. The order is that of numpy.random.default_rng. " REWRITING_DETAILS PIECES_DETAILS(
            "document"),
    .examples = "modalities data create_shuffled_dataset_chunk --input_file_list_path files.txt "
                "--input_data_root_path data --output_chunk_file_path chunk_0.pbin --chunk_id 0 "
                "--num_chunks 8 --global_seed 42",
    .options = options,
    .options_size = sizeof(ChunkOptions),
    .paths = paths,
    .run = run,
};
