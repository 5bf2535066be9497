/* debugging_settings.c - debugging.settings: builds the hooks that it lists. */
#include "config/builder.h"

typedef struct Settings {
    ComponentList forward_hooks;
    bool enable_determinism;
} Settings;

/* Hooks look on at their models from the moment that they are built. */
static Error *build(Builder *b, const void *settings, void **out)
{
    (void)b;
    *out = (void *)settings;
    return NULL;
}

/* clang-format off */
static const Field fields[] = {
    FIELD_COMPONENTS(Settings, forward_hooks, "model_debugging_hook", "[]", 0, 0, "hooks on models"),
    FIELD_BOOL(Settings, enable_determinism, "false", "the same numbers in every run", .no_effect = "always so"),
    { 0 },
};
/* clang-format on */

const ComponentDef debugging_settings = {
    .kind = "debugging",
    .variant = "settings",
    .doc = "the hooks of a training",
    .fields = fields,
    .settings_size = sizeof(Settings),
    .build = build,
};
