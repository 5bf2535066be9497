/* compiled.c - model.compiled: every graph is compiled into a fixed plan here, so nothing is left
 * to do. */
#include "config/builder.h"
#include "models/model.h"
#include <string.h>

typedef struct Settings {
    Model *model;
    StringList block_names;
    const bool *fullgraph, *debug;
} Settings;

static Error *build(Builder *b, const void *settings, void **out)
{
    (void)b;
    const Settings *s = settings;
    *out = s->model;
    return model_check_blocks(s->model, "block_names", &s->block_names);
}

/* clang-format off */
static const Field fields[] = {
    FIELD_COMPONENT(Settings, model, Model, "model", NULL, "the model", .flags = FIELD_MAPS),
    FIELD_STRINGS(Settings, block_names, NULL, 0, 0, "class names of the compiled blocks"),
    FIELD_BOOL(Settings, fullgraph, "true", "the whole block is one graph", .no_effect = "always so"),
    FIELD_BOOL(Settings, debug, "false", "messages of torch's compiler", .no_effect = "there is none; see --print_graph"),
    { 0 },
};
/* clang-format on */

const ComponentDef model_compiled = {
    .kind = "model",
    .variant = "compiled",
    .doc = "accepted: every model is compiled into a static plan",
    .fields = fields,
    .settings_size = sizeof(Settings),
    .build = build,
};
