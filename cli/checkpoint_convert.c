/* checkpoint_convert.c - `checkpoint convert SOURCE TARGET --to FORMAT`: a checkpoint of any format
 * in another one. */
#include "base/file.h"
#include "checkpoint/convert.h"
#include "command.h"
#include <inttypes.h>
#include <stdio.h>

typedef struct Options {
    const char *source, *target;
    int to;
    bool model_only;
} Options;

static const char *const formats[] = { "native", "dcp", "torch", "safetensors", NULL };

static const Field options[] = {
    FIELD_PATH(Options, source, NULL,
               "checkpoint folder, last_checkpoint_info.json, .safetensors or .bin file",
               .flags = FIELD_ARGUMENT, .role = PATH_READ),
    FIELD_PATH(Options, target, NULL, "folder (native, dcp) or file (torch, safetensors) to write",
               .flags = FIELD_ARGUMENT, .role = PATH_WRITTEN),
    FIELD_CHOICE(Options, to, NULL, formats, "what to write"),
    FIELD_BOOL(Options, model_only, "false", "parameters alone, without optimizer and scheduler"),
    { 0 },
};

static Error *run(Arena *a, const void *given)
{
    const Options *o = given;
    CheckpointReader *r;
    if (file_exists(o->target))
        return error_new("%s: there is something already; nothing is overwritten", o->target);
    TRY(checkpoint_open(a, o->source, &r));
    TRY(checkpoint_convert(r, o->target, (ConvertTo)o->to, o->model_only));
    printf("%s: written as %s\n", o->target, formats[o->to]);
    return NULL;
}

const Command command_checkpoint_convert = {
    .group = "checkpoint",
    .name = "convert",
    .doc = "Writes a checkpoint of any format in another one.",
    .details =
        "native: this program's safetensors files with a manifest. dcp: what "
        "torch.distributed.checkpoint loads. torch: one file of torch.save, nested as torch's "
        "dcp_to_torch nests it; with --model_only a flat dict of parameters, as "
        "checkpoint_loading.torch of the original expects it. safetensors: one file with all "
        "tensors "
        "under their DCP keys. Needs no Python; one tensor at a time is in memory.",
    .examples =
        "modalities checkpoint convert checkpoints/last_checkpoint_info.json model.bin --to "
        "torch --model_only\nmodalities checkpoint convert checkpoints/eid_x-seen_steps_100-"
        "seen_tokens_51200-target_steps_200-target_tokens_102400 all.safetensors --to "
        "safetensors",
    .options = options,
    .options_size = sizeof(Options),
    .run = run,
};
