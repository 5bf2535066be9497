/* replay.c - `modalities replay`: runs a recorded node again. */
#include "command.h"
#include "watch/node_record.h"

typedef struct Options {
    const char *path;
} Options;

static Error *run(Arena *a, const void *options)
{
    return node_record_replay(a, ((const Options *)options)->path, stdout);
}

/* clang-format off */
static const Field options[] = {
    FIELD_PATH(Options, path, NULL, "file that model_debugging_hook.nan_hook left in save_inputs_to", .flags = FIELD_ARGUMENT | FIELD_EXISTS),
    { 0 },
};
/* clang-format on */

const Command command_top_replay = {
    .name = "replay",
    .doc = "Runs a node that a debugging hook recorded again, and compares.",
    .details = "Tells what the inputs and the recorded results are like, then runs the reference "
               "kernel and the tuned one of this machine on the inputs: the differences tell "
               "whether a kernel or its inputs are to blame.",
    .examples = "modalities replay nans/nan_rank_0_step_12_0.safetensors",
    .options = options,
    .options_size = sizeof(Options),
    .run = run,
};
