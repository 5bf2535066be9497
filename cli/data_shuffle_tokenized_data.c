/* data_shuffle_tokenized_data.c - `data shuffle_tokenized_data`: documents in a random order. */
#include "data_shuffle.h"

static const Field options[] = {
    FIELD_PATH(ShuffleOptions, input_data_path, NULL, "file of packed tokens",
               .flags = FIELD_EXISTS),
    FIELD_PATH(ShuffleOptions, output_data_path, NULL, "file to write", .role = PATH_WRITTEN),
    FIELD_INT(ShuffleOptions, batch_size, "100", 1, INFINITY,
              "accepted for the original's sake; the output does not depend on it"),
    FIELD_CHOICE(ShuffleOptions, file_existence_policy, "error", existing_policies,
                 "when the output is already there"),
    FIELD_INT(ShuffleOptions, seed, "null", 0, 0,
              "of the order; without it, another one each time"),
    { 0 },
};

static Error *run(Arena *a, const void *given)
{
    return run_shuffle(a, given, PIECES_PBIN);
}

const Command command_data_shuffle_tokenized_data = {
    .group = "data",
    .name = "shuffle_tokenized_data",
    .doc = "Writes the documents of a .pbin file in a random order.",
    .details = "The order is that of Python's random.shuffle. " REWRITING_DETAILS PIECES_DETAILS(
        "document"),
    .examples = "modalities data shuffle_tokenized_data --input_data_path corpus.pbin "
                "--output_data_path shuffled.pbin --seed 42",
    .options = options,
    .options_size = sizeof(ShuffleOptions),
    .run = run,
};
