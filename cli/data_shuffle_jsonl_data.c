/* data_shuffle_jsonl_data.c - `data shuffle_jsonl_data`: lines in a random order. */
#include "data_shuffle.h"

static const Field options[] = {
    FIELD_PATH(ShuffleOptions, input_data_path, NULL, "file of JSON lines", .flags = FIELD_EXISTS),
    FIELD_PATH(ShuffleOptions, output_data_path, NULL, "file to write", .role = PATH_WRITTEN),
    FIELD_CHOICE(ShuffleOptions, file_existence_policy, "error", existing_policies,
                 "when the output is already there"),
    FIELD_INT(ShuffleOptions, seed, "null", 0, 0,
              "of the order; without it, another one each time"),
    LONG_LINE_FIELDS(ShuffleOptions),
    { 0 },
};

static Error *run(Arena *a, const void *given)
{
    return run_shuffle(a, given, PIECES_JSONL);
}

const Command command_data_shuffle_jsonl_data = {
    .group = "data",
    .name = "shuffle_jsonl_data",
    .doc = "Writes the lines of a JSONL file in a random order.",
    .details = "The order is that of Python's random.shuffle. A last line without a newline gets "
               "one. " REWRITING_DETAILS PIECES_DETAILS("line"),
    .examples = "modalities data shuffle_jsonl_data --input_data_path corpus.jsonl "
                "--output_data_path shuffled.jsonl --seed 42",
    .options = options,
    .options_size = sizeof(ShuffleOptions),
    .run = run,
};
