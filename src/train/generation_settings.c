/* generation_settings.c - tables of `text_inference_component` and `settings` of generate_text. */
#include "train/generation_settings.h"
#include <string.h>

/* clang-format off */
const Field generation_device_fields[] = {
    FIELD_INT(GenerationDevice, number, NULL, 0, INFINITY, "number of a GPU", .flags = FIELD_STRICT),
    FIELD_STRING(GenerationDevice, name, NULL, "cpu, cuda or cuda:N"),
    { 0 },
};
static const Field settings_fields[] = {
    FIELD_PATH(GenerationSettings, model_path, NULL, "weights: a file, the folder of a checkpoint, or the last_checkpoint_info.json of a run", .flags = FIELD_EXISTS_ANY),
    FIELD_INT(GenerationSettings, sequence_length, NULL, 0, 0, "tokens that prompt and answer may have together"),
    FIELD_UNION(GenerationSettings, device, GenerationDevice, generation_device_fields, NULL, "where to compute"),
    FIELD_MAP(GenerationSettings, referencing_keys, StringMap, &field_string_entry, NULL, "names to refer to with ${...}"),
    { 0 },
};
const Field generation_config_fields[] = {
    FIELD_COMPONENT(GenerationConfig, text_inference_component, struct TextInference, "inference_component", NULL, "generates text"),
    FIELD_STRUCT(GenerationConfig, settings, GenerationSettings, settings_fields, NULL, "what to generate with", .flags = FIELD_IGNORE_OTHERS),
    { 0 },
};
/* clang-format on */

bool generation_device_is_cuda(const GenerationDevice *d)
{
    return d->which == 0 || strcmp(d->name, "cpu");
}

Error *generation_device_check(const GenerationDevice *d)
{
    if (d->which == 0 || !strcmp(d->name, "cpu") || !strcmp(d->name, "cuda")) return NULL;
    if (!strncmp(d->name, "cuda:", 5) && d->name[5] &&
        !d->name[5 + strspn(d->name + 5, "0123456789")])
        return NULL;
    return error_new("device \"%s\"; allowed: cpu, cuda, cuda:N, or the number of a GPU", d->name);
}
