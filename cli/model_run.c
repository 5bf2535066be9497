/* model_run.c - `modalities model run`: one pass through a model from files. */
#include "train/model_run.h"
#include "command.h"
#include "components.h"

typedef struct Options {
    const char *config_file_path, *weights_path, *batch_path, *output_path, *target_key;
    bool gradients;
    int precision;
    StringList set;
} Options;

static const char *const precisions[] = { "f32", "bf16", "autocast", "f64", NULL };
/* clang-format off */
static const Field options[] = {
    FIELD_PATH(Options, config_file_path, NULL, "YAML with the component model_raw", .flags = FIELD_EXISTS),
    FIELD_PATH(Options, weights_path, NULL, "parameters: a .safetensors file or a checkpoint folder", .flags = FIELD_EXISTS_ANY),
    FIELD_PATH(Options, batch_path, NULL, ".safetensors with the model's token ids and, for the loss, the targets", .flags = FIELD_EXISTS),
    FIELD_PATH(Options, output_path, NULL, "gets logits, loss and grad.<parameter>", .role = PATH_WRITTEN),
    FIELD_STRING(Options, target_key, "target_ids", "name of the targets in the batch; -100 does not count"),
    FIELD_BOOL(Options, gradients, "false", "also the gradients of the loss"),
    FIELD_CHOICE(Options, precision, "f32", precisions, "of the computation; f64 uses the reference kernels"),
    FIELD_STRINGS(Options, set, "[]", 0, 0, "overrides, a.b=value"),
    { 0 },
};
/* clang-format on */

static Error *run(Arena *a, const void *from)
{
    const Options *o = from;
    void *model;
    TRY(component_from_file(a, o->config_file_path, o->set, "model_raw", "model", &model));
    ModelRun r = { .model = model,
                   .weights_path = o->weights_path,
                   .batch_path = o->batch_path,
                   .output_path = o->output_path,
                   .target_key = o->target_key,
                   .gradients = o->gradients,
                   .precision = (RunPrecision)o->precision };
    return model_run(&r);
}

const Command command_model_run = {
    .group = "model",
    .name = "run",
    .doc = "Runs a model once on a batch from a file, to compare with other programs.",
    .details = "Reads and writes safetensors. Logits, loss and gradients are written in f32, with "
               "--precision f64 in f64.",
    .examples = "modalities model run --config_file_path model.yaml --weights_path w.safetensors "
                "--batch_path b.safetensors --output_path out.safetensors --gradients",
    .options = options,
    .options_size = sizeof(Options),
    .run = run,
};
