/* generation_settings.c - tables of `text_inference_component` and `settings` of generate_text. */
#include "train/generation_settings.h"

/* clang-format off */
static const Field settings_fields[] = {
    FIELD_PATH(GenerationSettings, model_path, NULL, "weights: a file, the folder of a checkpoint, or the last_checkpoint_info.json of a run", .flags = FIELD_EXISTS_ANY),
    FIELD_INT(GenerationSettings, sequence_length, NULL, 0, 0, "tokens that prompt and answer may have together"),
    FIELD_UNION(GenerationSettings, device, DeviceChoice, device_choice_fields, NULL, "where to compute"),
    FIELD_MAP(GenerationSettings, referencing_keys, StringMap, &field_string_entry, NULL, "names to refer to with ${...}"),
    { 0 },
};
const Field generation_config_fields[] = {
    FIELD_COMPONENT(GenerationConfig, text_inference_component, struct TextInference, "inference_component", NULL, "generates text"),
    FIELD_STRUCT(GenerationConfig, settings, GenerationSettings, settings_fields, NULL, "what to generate with", .flags = FIELD_IGNORE_OTHERS),
    FIELD_COMPONENT(GenerationConfig, device_mesh, struct Mesh, "device_mesh", "null", "the ranks that share the model, for --ranks", .no_effect_alone = "one rank has all of it"),
    { 0 },
};
/* clang-format on */
