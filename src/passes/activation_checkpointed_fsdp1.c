/* activation_checkpointed_fsdp1.c - model.activation_checkpointed_fsdp1: recomputation by class
 * names. */
#include "config/builder.h"
#include "models/model.h"
#include "passes/recompute.h"
#include <string.h>

typedef struct Settings {
    Model *model;
    StringList activation_checkpointing_modules;
} Settings;

static Error *build(Builder *b, const void *settings, void **out)
{
    const Settings *s = settings;
    *out = s->model;
    TRY(model_check_blocks(s->model, "activation_checkpointing_modules",
                           &s->activation_checkpointing_modules));
    for (int64_t i = 0; i < s->activation_checkpointing_modules.n; i++) {
        Recompute *r = NEW(builder_arena(b), Recompute);
        r->stack = model_block_class(s->model, s->activation_checkpointing_modules.item[i])->stack;
        r->every = 1;
        passes_add(&s->model->passes, &pass_recompute, r);
    }
    return NULL;
}

/* clang-format off */
static const Field fields[] = {
    FIELD_COMPONENT(Settings, model, Model, "model", NULL, "the model"),
    FIELD_STRINGS(Settings, activation_checkpointing_modules, "[]", 0, 0, "class names of the blocks to recompute"),
    { 0 },
};
/* clang-format on */

const ComponentDef model_activation_checkpointed_fsdp1 = {
    .kind = "model",
    .variant = "activation_checkpointed_fsdp1",
    .doc = "recomputes the blocks of the named classes",
    .fields = fields,
    .settings_size = sizeof(Settings),
    .build = build,
};
