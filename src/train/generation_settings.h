/* generation_settings.h - the top-level keys of a configuration of generate_text. */
#ifndef TRAIN_GENERATION_SETTINGS_H
#define TRAIN_GENERATION_SETTINGS_H
#include "device/device_choice.h"

typedef struct GenerationSettings {
    const char *model_path;
    int64_t sequence_length;
    DeviceChoice device;
    StringMap referencing_keys;
} GenerationSettings;

struct Mesh;

typedef struct GenerationConfig {
    struct TextInference *text_inference_component; /* text_inference.h */
    GenerationSettings settings;
    struct Mesh *device_mesh; /* comm/mesh.h; NULL: none is given */
} GenerationConfig;

/* For builder_build and builder_validate. */
extern const Field generation_config_fields[];
#endif
