/* checkpoint_diff.c - `checkpoint diff A B`: what differs between two checkpoints. */
#include "checkpoint/convert.h"
#include "command.h"
#include <inttypes.h>
#include <stdio.h>

typedef struct Options {
    const char *first, *second;
} Options;

static const Field options[] = {
    FIELD_PATH(Options, first, NULL, "checkpoint of any format", .flags = FIELD_ARGUMENT,
               .role = PATH_READ),
    FIELD_PATH(Options, second, NULL, "another one, perhaps of another format",
               .flags = FIELD_ARGUMENT, .role = PATH_READ),
    { 0 },
};

static Error *run(Arena *a, const void *given)
{
    const Options *o = given;
    CheckpointReader *r, *s;
    Text text = { 0 };
    int64_t n = 0;
    TRY(checkpoint_open(a, o->first, &r));
    TRY(checkpoint_open(a, o->second, &s));
    Error *e = checkpoint_diff(r, s, &text, &n);
    if (text.len) fputs(text.ptr, stdout);
    text_free(&text);
    if (e) return e;
    if (n) return error_silent(1);
    printf("no difference: %" PRId64 " tensors have the same bits\n", r->n_entries);
    return NULL;
}

const Command command_checkpoint_diff = {
    .group = "checkpoint",
    .name = "diff",
    .doc = "Prints what differs between two checkpoints, whatever their formats.",
    .details =
        "A line for each tensor that only one has, that has another shape or dtype, or whose "
        "numbers differ (how many, and by how much at most), and for each other value of "
        "optimizer and scheduler. Exit status 0: no difference; 1: some, or an error.",
    .examples = "modalities checkpoint diff run_a/checkpoints/last_checkpoint_info.json "
                "run_b/checkpoints/last_checkpoint_info.json",
    .options = options,
    .options_size = sizeof(Options),
    .run = run,
};
