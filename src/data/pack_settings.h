/* pack_settings.h - the top-level keys of a pack configuration. */
#ifndef DATA_PACK_SETTINGS_H
#define DATA_PACK_SETTINGS_H
#include "config/field.h"
#include "data/pack.h"

typedef struct PackConfig {
    Tokenizer *tokenizer;
    PackSettings settings;
} PackConfig;

/* For builder_build and builder_validate. */
extern const Field pack_config_fields[];
/* dst_path is optional in the table, as in the original, but there must be one. */
Error *pack_settings_check(const PackSettings *s);
#endif
