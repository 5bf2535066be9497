/* model_run.c - `modalities model run`: one pass through a model from files. */
#include "train/model_run.h"
#include "command.h"
#include "components.h"
#include "models/hf/model.h"

typedef struct Options {
    const char *config_file_path, *weights_path, *hf_model_path, *batch_path, *output_path;
    const char *target_key, *loss_key;
    bool gradients;
    int precision, file_existence_policy;
    StringList set;
} Options;

static const char *const precisions[] = { "f32", "bf16", "autocast", "f64", NULL };
/* clang-format off */
static const Field options[] = {
    FIELD_PATH(Options, config_file_path, "null", "YAML with the component model_raw", .flags = FIELD_EXISTS),
    FIELD_PATH(Options, weights_path, "null", "parameters: a .safetensors file or a checkpoint folder; null: those of the folder that model_raw names", .flags = FIELD_EXISTS_ANY),
    FIELD_STRING(Options, hf_model_path, "null", "in the place of both a Hugging Face folder with config.json and .safetensors, or a name in its local cache"),
    FIELD_PATH(Options, batch_path, NULL, ".safetensors with the model's token ids and, for the loss, the targets", .flags = FIELD_EXISTS),
    FIELD_PATH(Options, output_path, NULL, "gets logits, loss and grad.<parameter>", .role = PATH_WRITTEN),
    FIELD_EXISTENCE(Options),
    FIELD_STRING(Options, target_key, "target_ids", "name of the targets in the batch; -100 does not count"),
    FIELD_STRING(Options, loss_key, "null", "key of a loss component in the YAML; null: the cross entropy of the targets"),
    FIELD_BOOL(Options, gradients, "false", "also the gradients of the loss"),
    FIELD_CHOICE(Options, precision, "f32", precisions, "of the computation; f64 uses the reference kernels"),
    FIELD_STRINGS(Options, set, "[]", 0, 0, "overrides, a.b=value"),
    { 0 },
};
/* clang-format on */

static Error *find_model(Arena *a, const Options *o, void **out)
{
    if (o->hf_model_path) {
        Model *m = NULL;
        if (o->config_file_path || o->weights_path)
            return error_usage("--hf_model_path brings model and weights: it excludes "
                               "--config_file_path and --weights_path");
        TRY(hf_model_new(a, o->hf_model_path, "input_ids", "logits", &m));
        *out = m;
        return NULL;
    }
    static const char needed[] =
        "--config_file_path and --weights_path are needed, or --hf_model_path in their place";
    if (!o->config_file_path) return error_usage(needed);
    TRY(component_from_file(a, o->config_file_path, o->set, "model_raw", "model", out));
    return o->weights_path || ((const Model *)*out)->hf ? NULL : error_usage(needed);
}

static Error *run(Arena *a, const void *from)
{
    const Options *o = from;
    void *model = NULL;
    void *loss = NULL;
    bool write;
    TRY(existing_file(o->output_path, (ExistingPolicy)o->file_existence_policy, &write));
    if (!write) return NULL;
    TRY(find_model(a, o, &model));
    if (o->loss_key && o->hf_model_path)
        return error_usage("--loss_key names a part of --config_file_path, which --hf_model_path "
                           "excludes");
    if (o->loss_key)
        TRY(component_from_file(a, o->config_file_path, o->set, o->loss_key, "loss", &loss));
    ModelRun r = { .model = model,
                   .weights_path = o->weights_path,
                   .batch_path = o->batch_path,
                   .output_path = o->output_path,
                   .target_key = o->target_key,
                   .loss = loss,
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
