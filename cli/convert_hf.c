/* convert_hf.c - `convert_pytorch_to_hf_checkpoint` and `convert_gpt2`: a model as a folder that
 * transformers loads. */
#include "command.h"
#include "components.h"
#include "config/config.h"
#include "train/hf_export.h"
#include <stdio.h>
#include <string.h>

typedef struct Options {
    const char *config_file_path, *output_hf_checkpoint_dir, *prediction_key, *checkpoint_path,
        *tokenizer_path, *model_key;
    int dtype;
    bool custom_code;
    StringList set;
} Options;

enum { AS_LOADED, AS_F32, AS_BF16 };
static const char *const dtypes[] = { "as_loaded", "f32", "bf16", NULL };

/* The component that has the weights, or that --checkpoint_path gives them to. */
static Error *find_model(Arena *a, const Options *o, Model **out)
{
    const char *const own[] = { o->model_key, NULL };
    static const char *const keys[] = { "checkpointed_model", "model", "model_raw", NULL };
    const char *const *allowed = o->model_key ? own : o->checkpoint_path ? keys + 2 : keys, *key;
    void *found = NULL;
    TRY(config_find_key(a, o->config_file_path, o->set, allowed, &key));
    if (!key)
        return error_new("%s has none of the keys %s", o->config_file_path,
                         o->model_key         ? o->model_key
                         : o->checkpoint_path ? "model_raw"
                                              : "checkpointed_model, model, model_raw");
    TRY(component_from_file(a, o->config_file_path, o->set, key, "model", &found));
    *out = found;
    if (o->checkpoint_path) (*out)->weights_path = o->checkpoint_path;
    return NULL;
}

static Error *run(Arena *a, const void *from)
{
    const Options *o = from;
    const Dtype chosen = o->dtype == AS_BF16 ? BF16 : F32;
    const char *class_name;
    Model *m = NULL;
    TRY(find_model(a, o, &m));
    CHECK(m != NULL);
    if (o->prediction_key && strcmp(o->prediction_key, m->prediction_key))
        return error_usage("--prediction_key %s: the model's prediction_key is %s",
                           o->prediction_key, m->prediction_key);
    const HfExport x = { .model = m,
                         .output_path = o->output_hf_checkpoint_dir,
                         .tokenizer = o->tokenizer_path,
                         .dtype = o->dtype == AS_LOADED ? NULL : &chosen,
                         .custom_code = o->custom_code };
    Error *e = hf_export(a, &x, &class_name);
    if (e && !o->custom_code)
        return error_wrap(e, "--custom_code writes a config.json for the original's own class");
    TRY(e);
    printf("Model was successfully converted and saved to %s (%s)\n", o->output_hf_checkpoint_dir,
           class_name);
    if (o->custom_code)
        printf(
            "It needs configuration_gpt2.py and modeling_gpt2.py beside config.json: they are part "
            "of the Python package modalities (modalities/conversion/gpt2), and are not shipped\n");
    return NULL;
}

/* clang-format off */
#define ROWS \
    FIELD_PATH(Options, checkpoint_path, "null", "a checkpoint for model_raw; null: the YAML's model brings its weights", .flags = FIELD_EXISTS_ANY), \
    FIELD_STRING(Options, model_key, "null", "key of the model in the YAML, where adapters (model.lora) or averages (model.averaged) wrap it: initialized_model"), \
    FIELD_PATH(Options, tokenizer_path, "null", "folder whose tokenizer files are copied; null: that of the model's Hugging Face folder", .flags = FIELD_EXISTS_ANY), \
    FIELD_CHOICE(Options, dtype, "as_loaded", dtypes, "format of the weights"), \
    FIELD_BOOL(Options, custom_code, "false", "the original's own class instead of a standard one, for models with layer norms and RoPE"), \
    FIELD_STRINGS(Options, set, "[]", 0, 0, "overrides, a.b=value"), \
    { 0 },
static const Field options[] = {
    FIELD_PATH(Options, config_file_path, NULL, "YAML with checkpointed_model, model or model_raw", .flags = FIELD_EXISTS),
    FIELD_PATH(Options, output_hf_checkpoint_dir, NULL, "folder that is made", .role = PATH_WRITTEN),
    FIELD_STRING(Options, prediction_key, "null", "name of the model's logits, as the original wants it told; null: not compared"),
    ROWS
};
static const Field gpt2_options[] = {
    FIELD_PATH(Options, config_file_path, NULL, "YAML with checkpointed_model, model or model_raw", .flags = FIELD_ARGUMENT | FIELD_EXISTS),
    FIELD_PATH(Options, output_hf_checkpoint_dir, NULL, "folder that is made", .flags = FIELD_ARGUMENT, .role = PATH_WRITTEN),
    ROWS
};
#undef ROWS
/* clang-format on */

static const char details[] =
    "The folder holds config.json of the standard class that computes the same, and "
    "model.safetensors (in shards above 5 GB): transformers loads it without custom code, with "
    "equal "
    "logits. Where no class has all options of the model, the error names the option.";

const Command command_top_convert_pytorch_to_hf_checkpoint = {
    .name = "convert_pytorch_to_hf_checkpoint",
    .doc = "Writes a model as a folder that Hugging Face's transformers loads.",
    .details = details,
    .examples = "modalities convert_pytorch_to_hf_checkpoint --config_file_path train.yaml "
                "--checkpoint_path checkpoints/eid_... --output_hf_checkpoint_dir hf",
    .options = options,
    .options_size = sizeof(Options),
    .run = run,
};

const Command command_top_convert_gpt2 = {
    .name = "convert_gpt2",
    .doc = "Does what convert_pytorch_to_hf_checkpoint does, with the arguments of the original's "
           "convert_gpt2.py.",
    .details = details,
    .examples = "modalities convert_gpt2 convert.yaml hf",
    .options = gpt2_options,
    .options_size = sizeof(Options),
    .run = run,
};
