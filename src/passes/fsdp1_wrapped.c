/* fsdp1_wrapped.c - model.fsdp1_wrapped: the older spelling of parameter sharding and mixed
 * precision. */
#include "config/builder.h"
#include "models/model.h"
#include "passes/fsdp1.h"

typedef struct Settings {
    Model *model;
    bool sync_module_states;
    int mixed_precision_settings, sharding_strategy;
    StringList block_names;
} Settings;

static Error *build(Builder *b, const void *settings, void **out)
{
    const Settings *s = settings;
    fsdp1_apply(builder_arena(b), s->model, s->mixed_precision_settings, s->sharding_strategy);
    *out = s->model;
    return model_check_blocks(s->model, "block_names", &s->block_names);
}

/* clang-format off */
static const Field fields[] = {
    FIELD_COMPONENT(Settings, model, Model, "model", NULL, "the model"),
    FIELD_BOOL(Settings, sync_module_states, NULL, "rank 0's weights go to all ranks", .no_effect = "every rank makes or loads the same weights"),
    FIELD_CHOICE(Settings, mixed_precision_settings, NULL, fsdp1_precisions, "dtypes of the computation and of gradients on their way"),
    FIELD_CHOICE(Settings, sharding_strategy, NULL, fsdp1_strategies, "what is sharded over which ranks", .no_effect_alone = "it holds everything"),
    FIELD_STRINGS(Settings, block_names, NULL, 0, 0, "class names of the units of sharding"),
    { 0 },
};
/* clang-format on */

const ComponentDef model_fsdp1_wrapped = {
    .kind = "model",
    .variant = "fsdp1_wrapped",
    .also = "fsdp_wrapped",
    .doc = "shards the model over the data-parallel ranks (deprecated spelling of fsdp2_wrapped)",
    .fields = fields,
    .settings_size = sizeof(Settings),
    .build = build,
};
