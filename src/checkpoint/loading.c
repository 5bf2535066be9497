/* loading.c - checkpoint_loading.{fsdp1,dcp,torch}: settings of the components that load. */
#include "checkpoint/loading.h"
#include "config/builder.h"
#include "passes/fsdp1.h"

typedef struct DcpSettings {
    int64_t global_rank;
} DcpSettings;

static const Field dcp_fields[] = {
    FIELD_INT(DcpSettings, global_rank, NULL, 0, INFINITY, "rank of this process",
              .flags = FIELD_STRICT, .no_effect = "app_state.dcp loads without this component"),
    { 0 },
};

static Error *build_dcp(Builder *b, const void *settings, void **out)
{
    CheckpointLoading *l = NEW(builder_arena(b), CheckpointLoading);
    *l = (CheckpointLoading){ .variant = "dcp",
                              .global_rank = ((const DcpSettings *)settings)->global_rank };
    *out = l;
    return NULL;
}

const ComponentDef checkpoint_loading_dcp = {
    .kind = "checkpoint_loading",
    .variant = "dcp",
    .doc = "loads a checkpoint folder into any parallel layout",
    .fields = dcp_fields,
    .settings_size = sizeof(DcpSettings),
    .build = build_dcp,
};

typedef struct Fsdp1Settings {
    int64_t global_rank;
    StringList block_names;
    int mixed_precision_settings, sharding_strategy;
} Fsdp1Settings;

static const Field fsdp1_fields[] = {
    FIELD_INT(Fsdp1Settings, global_rank, NULL, 0, INFINITY, "rank of this process",
              .flags = FIELD_STRICT, .no_effect = "every rank reads what it needs"),
    FIELD_STRINGS(Fsdp1Settings, block_names, NULL, 0, 0,
                  "classes of the blocks that the model is split by"),
    FIELD_CHOICE(Fsdp1Settings, mixed_precision_settings, NULL, fsdp1_precisions,
                 "number formats of parameters and gradients"),
    FIELD_CHOICE(Fsdp1Settings, sharding_strategy, NULL, fsdp1_strategies,
                 "what is split over the ranks", .no_effect_alone = "it holds everything"),
    { 0 },
};

static Error *build_fsdp1(Builder *b, const void *settings, void **out)
{
    const Fsdp1Settings *s = settings;
    CheckpointLoading *l = NEW(builder_arena(b), CheckpointLoading);
    *l = (CheckpointLoading){ .variant = "fsdp1",
                              .global_rank = s->global_rank,
                              .mixed_precision = s->mixed_precision_settings,
                              .sharding_strategy = s->sharding_strategy,
                              .block_names = s->block_names };
    *out = l;
    return NULL;
}

const ComponentDef checkpoint_loading_fsdp1 = {
    .kind = "checkpoint_loading",
    .variant = "fsdp1",
    .doc = "loads a checkpoint and splits the model as FSDP1 does",
    .fields = fsdp1_fields,
    .settings_size = sizeof(Fsdp1Settings),
    .build = build_fsdp1,
};

typedef struct TorchSettings {
    DeviceChoice device;
    const int *precision;
} TorchSettings;

static const char *const precision_choices[] = { "FP32", "FP16", "BF16", NULL };
static const Dtype precision_dtypes[] = { F32, F16, BF16 };

static const Field torch_fields[] = {
    FIELD_UNION(TorchSettings, device, DeviceChoice, device_choice_fields, NULL,
                "where the parameters go: cpu, cuda, cuda:N, or N",
                .no_effect = "they go where the program computes"),
    FIELD_CHOICE(TorchSettings, precision, "null", precision_choices,
                 "format that the parameters are converted to; null: as stored"),
    { 0 },
};

static Error *check_torch(const void *settings)
{
    return device_choice_check(&((const TorchSettings *)settings)->device);
}

static Error *build_torch(Builder *b, const void *settings, void **out)
{
    const TorchSettings *s = settings;
    CheckpointLoading *l = NEW(builder_arena(b), CheckpointLoading);
    *l = (CheckpointLoading){ .variant = "torch",
                              .device = s->device,
                              .has_precision = s->precision };
    if (s->precision) l->precision = precision_dtypes[*s->precision];
    *out = l;
    return NULL;
}

const ComponentDef checkpoint_loading_torch = {
    .kind = "checkpoint_loading",
    .variant = "torch",
    .doc = "loads parameters on one device, for generation and conversion",
    .fields = torch_fields,
    .settings_size = sizeof(TorchSettings),
    .check = check_torch,
    .build = build_torch,
};
