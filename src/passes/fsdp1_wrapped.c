/* fsdp1_wrapped.c - model.fsdp1_wrapped: the older spelling of parameter sharding and mixed
 * precision. */
#include "config/builder.h"
#include "models/model.h"

enum { M_FP_16, M_BF_16, M_BF_16_WORKING, M_FP_32, M_MEGATRON, M_NONE };

typedef struct Settings {
    Model *model;
    bool sync_module_states;
    int mixed_precision_settings, sharding_strategy;
    StringList block_names;
} Settings;

static Error *check(const void *settings)
{
    const Settings *s = settings;
    if (s->mixed_precision_settings == M_FP_16)
        return error_new("mixed_precision_settings FP_16 would need loss scaling; allowed are "
                         "BF_16, BF_16_WORKING, FP_32, "
                         "MIXED_PRECISION_MEGATRON, NO_MIXED_PRECISION");
    return NULL;
}

static Error *build(Builder *b, const void *settings, void **out)
{
    (void)b;
    const Settings *s = settings;
    int m = s->mixed_precision_settings; /* BF_16_WORKING: only reductions are in bf16 there */
    s->model->compute = m == M_BF_16 || m == M_MEGATRON ? BF16 : F32;
    *out = s->model;
    return model_check_blocks(s->model, "block_names", &s->block_names);
}

static const char *const precisions[] = {
    "FP_16", "BF_16", "BF_16_WORKING", "FP_32", "MIXED_PRECISION_MEGATRON", "NO_MIXED_PRECISION",
    NULL
};
static const char *const strategies[] = { "FULL_SHARD",   "SHARD_GRAD_OP",       "NO_SHARD",
                                          "HYBRID_SHARD", "_HYBRID_SHARD_ZERO2", NULL };
/* clang-format off */
static const Field fields[] = {
    FIELD_COMPONENT(Settings, model, Model, "model", NULL, "the model"),
    FIELD_BOOL(Settings, sync_module_states, NULL, "rank 0's weights go to all ranks", .no_effect = "there is one rank"),
    FIELD_CHOICE(Settings, mixed_precision_settings, NULL, precisions, "dtype of the computation"),
    FIELD_CHOICE(Settings, sharding_strategy, NULL, strategies, "what is sharded over which ranks", .no_effect = "one rank holds everything"),
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
    .check = check,
    .build = build,
};
