/* fsdp2_wrapped.c - model.fsdp2_wrapped: parameter sharding and mixed precision. */
#include "config/builder.h"
#include "models/model.h"
#include "passes/data_parallel.h"

struct Mesh;

typedef struct MixedPrecision {
    int param_dtype, reduce_dtype;
} MixedPrecision;

typedef struct Settings {
    Model *model;
    StringList block_names;
    MixedPrecision mixed_precision_settings;
    bool reshard_after_forward;
    struct Mesh *device_mesh;
    int64_t layers_per_fsdp_unit;
} Settings;

/* In the order of their names below. */
static const Dtype format[] = { F16, F32, BF16 };

static Error *build(Builder *b, const void *settings, void **out)
{
    const Settings *s = settings;
    DataParallel *d = NEW(builder_arena(b), DataParallel);
    *d = (DataParallel){
        .stage = s->reshard_after_forward ? ZERO_PARAMETERS : ZERO_GRADIENTS,
        .blocks_per_unit = s->layers_per_fsdp_unit,
        .reduce_dtype = format[s->mixed_precision_settings.reduce_dtype],
    };
    s->model->data_parallel = d;
    s->model->compute = format[s->mixed_precision_settings.param_dtype];
    *out = s->model;
    return model_check_blocks(s->model, "block_names", &s->block_names);
}

static const char *const dtypes[] = { "FP_16", "FP_32", "BF_16", NULL };
/* clang-format off */
static const Field precision_fields[] = {
    FIELD_CHOICE(MixedPrecision, param_dtype, NULL, dtypes, "dtype of weights and activations in matrix products"),
    FIELD_CHOICE(MixedPrecision, reduce_dtype, NULL, dtypes, "dtype in which gradients are summed over ranks", .no_effect_alone = "nothing is summed"),
    { 0 },
};
static const Field fields[] = {
    FIELD_COMPONENT(Settings, model, Model, "model", NULL, "the model", .flags = FIELD_MAPS),
    FIELD_STRINGS(Settings, block_names, NULL, 0, 0, "class names of the units of sharding"),
    FIELD_STRUCT(Settings, mixed_precision_settings, MixedPrecision, precision_fields, NULL, "dtypes"),
    FIELD_BOOL(Settings, reshard_after_forward, "true", "gathered parameters are given up after the forward pass", .no_effect_alone = "nothing is gathered"),
    FIELD_COMPONENT(Settings, device_mesh, struct Mesh, "device_mesh", NULL, "the ranks; its dimension dp_shard shards", .no_effect_alone = "it holds everything"),
    FIELD_INT(Settings, layers_per_fsdp_unit, "1", 1, INFINITY, "blocks that are gathered together", .no_effect_alone = "nothing is gathered"),
    { 0 },
};
/* clang-format on */

const ComponentDef model_fsdp2_wrapped = {
    .kind = "model",
    .variant = "fsdp2_wrapped",
    .doc = "shards parameters, gradients and optimizer state over the data-parallel ranks",
    .fields = fields,
    .settings_size = sizeof(Settings),
    .build = build,
};
