/* loading.h - the settings of checkpoint_loading; the format itself is found by checkpoint_open. */
#ifndef CHECKPOINT_LOADING_H
#define CHECKPOINT_LOADING_H
#include "device/device_choice.h"
#include "tensor/dtype.h"

typedef struct CheckpointLoading {
    const char *variant; /* "fsdp1", "dcp", "torch" */
    int64_t global_rank; /* fsdp1, dcp */
    /* fsdp1: how the loaded model is computed and split. */
    int mixed_precision, sharding_strategy; /* see passes/fsdp1.h */
    StringList block_names;
    /* torch: where to, and the format that parameters are converted to (has_precision). */
    DeviceChoice device;
    bool has_precision;
    Dtype precision;
} CheckpointLoading;
#endif
