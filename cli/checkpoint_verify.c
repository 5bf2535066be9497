/* checkpoint_verify.c - `checkpoint verify PATH`: whether every byte is as it was written. */
#include "checkpoint/checkpoint.h"
#include "command.h"
#include <inttypes.h>
#include <stdio.h>

typedef struct Options {
    const char *path;
} Options;

static const Field options[] = {
    FIELD_PATH(Options, path, NULL, "checkpoint folder", .flags = FIELD_ARGUMENT),
    { 0 },
};

static Error *run(Arena *a, const void *given)
{
    CheckpointReader *r;
    TRY(checkpoint_open(a, ((const Options *)given)->path, &r));
    if (!r->verify) return error_new("%s: a plain %s file holds no checksums", r->path, r->format);
    TRY(checkpoint_verify(r));
    printf("%s: all %" PRId64 " tensors are as they were written\n", r->path, r->n_entries);
    return NULL;
}

const Command command_checkpoint_verify = {
    .group = "checkpoint",
    .name = "verify",
    .doc = "Compares everything in a checkpoint with its checksums; names each tensor that is "
           "damaged.",
    .details = "Exit status 0: every byte is as it was written; 1: it is not.",
    .examples = "modalities checkpoint verify "
                "checkpoints/eid_x-seen_steps_100-seen_tokens_51200-target_steps_200-"
                "target_tokens_102400",
    .options = options,
    .options_size = sizeof(Options),
    .run = run,
};
