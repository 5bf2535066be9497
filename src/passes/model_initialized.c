/* model_initialized.c - model.model_initialized: chooses the initializer of a model. */
#include "config/builder.h"
#include "models/initializer.h"
#include "models/model.h"

typedef struct Settings {
    Model *model;
    Initializer *model_initializer;
} Settings;

static Error *build(Builder *b, const void *settings, void **out)
{
    (void)b;
    const Settings *s = settings;
    s->model->initializer = s->model_initializer;
    *out = s->model;
    return NULL;
}

/* clang-format off */
static const Field fields[] = {
    FIELD_COMPONENT(Settings, model, Model, "model", NULL, "the model to initialise", .flags = FIELD_MAPS),
    FIELD_COMPONENT(Settings, model_initializer, Initializer, "model_initialization", NULL, "the rules"),
    { 0 },
};
/* clang-format on */

const ComponentDef model_model_initialized = {
    .kind = "model",
    .variant = "model_initialized",
    .doc = "the model with initial weights by the given rules",
    .fields = fields,
    .settings_size = sizeof(Settings),
    .build = build,
};
