/* fsdp1_checkpointed.c - model.fsdp1_checkpointed and optimizer.fsdp1_checkpointed: a model with
 * the parameters, an optimizer with the states of a checkpoint.
 *
 * The checkpoint_loading decides how it computes: fsdp1 by its mixed precision as
 * model.fsdp1_wrapped, torch by the format that the parameters are converted to. */
#include "checkpoint/loading.h"
#include "config/builder.h"
#include "models/model.h"
#include "optim/optim.h"
#include "passes/fsdp1.h"
#include <string.h>

typedef struct Settings {
    CheckpointLoading *checkpoint_loading;
    const char *checkpoint_path;
    Model *model;
} Settings;

static Error *choose_precision(Arena *a, const CheckpointLoading *l, Model *m)
{
    if (!strcmp(l->variant, "torch")) {
        m->weights_dtype = l->has_precision ? l->precision : F32;
        m->compute = m->weights_dtype == BF16 ? BF16 : F32;
        return NULL;
    }
    if (strcmp(l->variant, "fsdp1") != 0)
        return error_new(
            "checkpoint_loading.%s does not load model.fsdp1_checkpointed; allowed are "
            "fsdp1, torch",
            l->variant);
    fsdp1_apply(a, m, l->mixed_precision, l->sharding_strategy);
    return error_wrap(model_check_blocks(m, "block_names", &l->block_names),
                      "checkpoint_loading.fsdp1");
}

static Error *build(Builder *b, const void *settings, void **out)
{
    const Settings *s = settings;
    if (s->model->weights_path)
        return error_new("the model is loaded already, from %s", s->model->weights_path);
    s->model->weights_path = s->checkpoint_path;
    *out = s->model;
    return choose_precision(builder_arena(b), s->checkpoint_loading, s->model);
}

static const Field fields[] = {
    FIELD_COMPONENT(Settings, checkpoint_loading, CheckpointLoading, "checkpoint_loading", NULL,
                    "how to load: fsdp1 or torch"),
    FIELD_PATH(Settings, checkpoint_path, NULL, "the checkpoint, of any format that can be read"),
    FIELD_COMPONENT(Settings, model, Model, "model", NULL, "the model that gets its parameters"),
    { 0 },
};

const ComponentDef model_fsdp1_checkpointed = {
    .kind = "model",
    .variant = "fsdp1_checkpointed",
    .doc = "the model with the parameters of a checkpoint",
    .fields = fields,
    .settings_size = sizeof(Settings),
    .build = build,
};

typedef struct OptimizerSettings {
    CheckpointLoading *checkpoint_loading;
    const char *checkpoint_path;
    Model *wrapped_model;
    Optimizer *optimizer;
} OptimizerSettings;

static Error *build_optimizer(Builder *b, const void *settings, void **out)
{
    (void)b;
    const OptimizerSettings *s = settings;
    if (strcmp(s->checkpoint_loading->variant, "fsdp1") != 0)
        return error_new(
            "checkpoint_loading.%s does not load optimizer.fsdp1_checkpointed; allowed "
            "is fsdp1",
            s->checkpoint_loading->variant);
    if (s->optimizer->model != s->wrapped_model)
        return error_new("wrapped_model is another model than the optimizer's");
    if (s->optimizer->state_path)
        return error_new("the optimizer is loaded already, from %s", s->optimizer->state_path);
    s->optimizer->state_path = s->checkpoint_path;
    *out = s->optimizer;
    return NULL;
}

/* clang-format off */
static const Field optimizer_fields[] = {
    FIELD_COMPONENT(OptimizerSettings, checkpoint_loading, CheckpointLoading, "checkpoint_loading", NULL, "how to load: fsdp1"),
    FIELD_PATH(OptimizerSettings, checkpoint_path, NULL, "the checkpoint, of any format that holds an optimizer's states"),
    FIELD_COMPONENT(OptimizerSettings, wrapped_model, Model, "model", NULL, "the model that the optimizer updates", .flags = FIELD_MAPS),
    FIELD_COMPONENT(OptimizerSettings, optimizer, Optimizer, "optimizer", NULL, "the optimizer that gets its states"),
    { 0 },
};
/* clang-format on */

const ComponentDef optimizer_fsdp1_checkpointed = {
    .kind = "optimizer",
    .variant = "fsdp1_checkpointed",
    .doc = "the optimizer with the states of a checkpoint",
    .fields = optimizer_fields,
    .settings_size = sizeof(OptimizerSettings),
    .build = build_optimizer,
};
