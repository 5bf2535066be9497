/* checkpoint_inspect.c - `checkpoint inspect PATH`: what a checkpoint holds. */
#include "checkpoint/checkpoint.h"
#include "command.h"
#include <inttypes.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>

typedef struct Options {
    const char *path;
} Options;

static const Field options[] = {
    FIELD_PATH(Options, path, NULL, "checkpoint folder, .safetensors or .bin file",
               .flags = FIELD_ARGUMENT),
    { 0 },
};

static int64_t bytes_of(const CheckpointEntry *e)
{
    int64_t n = (int64_t)dtype_size(e->dtype);
    for (int d = 0; d < e->n_dims; d++) n *= e->size[d];
    return n;
}

static const char *shape_of(const CheckpointEntry *e, Text *to)
{
    text_clear(to);
    text_putc(to, '[');
    for (int d = 0; d < e->n_dims; d++) text_printf(to, "%s%" PRId64, d ? ", " : "", e->size[d]);
    text_putc(to, ']');
    return to->ptr;
}

static void print_progress(const char *progress)
{
    json_t *json = json_loads(progress, 0, NULL);
    char *text = json_dumps(json, JSON_INDENT(2) | JSON_REAL_PRECISION(17));
    printf("progress  %s\n", text ? text : progress);
    free(text);
    json_decref(json);
}

static Error *run(Arena *a, const void *given)
{
    CheckpointReader *r;
    TRY(checkpoint_open(a, ((const Options *)given)->path, &r));
    double total = 0;
    for (int64_t i = 0; i < r->n_entries; i++) total += (double)bytes_of(&r->entry[i]);
    char size[32];
    format_bytes(total, size);
    printf("path      %s\nformat    %s\ntensors   %" PRId64 ", %s\n", r->path, r->format,
           r->n_entries, size);
    print_progress(r->progress);
    printf("\n%-8s  %-20s  %10s  %s\n", "dtype", "shape", "size", "name");
    Text shape = { 0 };
    for (int64_t i = 0; i < r->n_entries; i++) {
        const CheckpointEntry *e = &r->entry[i];
        format_bytes((double)bytes_of(e), size);
        printf("%-8s  %-20s  %10s  %s\n", dtype_name(e->dtype), shape_of(e, &shape), size, e->name);
    }
    text_free(&shape);
    return NULL;
}

const Command command_checkpoint_inspect = {
    .group = "checkpoint",
    .name = "inspect",
    .doc = "Prints the tensors of a checkpoint with their shapes, dtypes and sizes, and the "
           "progress of the run.",
    .examples = "modalities checkpoint inspect "
                "checkpoints/eid_x-seen_steps_100-seen_tokens_51200-target_steps_200-"
                "target_tokens_102400",
    .options = options,
    .options_size = sizeof(Options),
    .run = run,
};
