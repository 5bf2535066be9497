/* generation_settings.h - the top-level keys of a configuration of generate_text. */
#ifndef TRAIN_GENERATION_SETTINGS_H
#define TRAIN_GENERATION_SETTINGS_H
#include "config/field.h"

/* "cpu", "cuda", "cuda:1", or the number of a GPU. */
typedef struct GenerationDevice {
    int which; /* 0: number, 1: name */
    int64_t number;
    const char *name;
} GenerationDevice;

typedef struct GenerationSettings {
    const char *model_path;
    int64_t sequence_length;
    GenerationDevice device;
    StringMap referencing_keys;
} GenerationSettings;

typedef struct GenerationConfig {
    struct TextInference *text_inference_component; /* text_inference.h */
    GenerationSettings settings;
} GenerationConfig;

/* For builder_build and builder_validate. */
extern const Field generation_config_fields[];
/* An alternative for `device` in the tables of others, too. */
extern const Field generation_device_fields[];
/* Refuses a device name of another form. */
Error *generation_device_check(const GenerationDevice *d);
bool generation_device_is_cuda(const GenerationDevice *d);
#endif
