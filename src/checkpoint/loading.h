/* loading.h - the settings of checkpoint_loading; the format itself is found by checkpoint_open. */
#ifndef CHECKPOINT_LOADING_H
#define CHECKPOINT_LOADING_H
#include "config/field.h"
#include "tensor/dtype.h"

/* Names of FSDP1's settings, in this order. */
typedef enum MixedPrecision {
    MIXED_FP_16,
    MIXED_BF_16,
    MIXED_BF_16_WORKING,
    MIXED_FP_32,
    MIXED_MEGATRON,
    MIXED_NONE
} MixedPrecision;
extern const char *const mixed_precision_choices[], *const sharding_strategy_choices[];

/* "cpu", "cuda", "cuda:1" by name, or the number of a GPU. */
typedef struct DeviceChoice {
    int which; /* 0: index, 1: name */
    int64_t index;
    const char *name;
} DeviceChoice;

typedef struct CheckpointLoading {
    const char *variant; /* "fsdp1", "dcp", "torch" */
    int64_t global_rank; /* fsdp1, dcp */
    /* fsdp1: how the loaded model is split and computed; indices of the choices above. */
    StringList block_names;
    int mixed_precision_settings, sharding_strategy;
    /* torch: where to, and the format that parameters are converted to (has_precision). */
    DeviceChoice device;
    bool has_precision;
    Dtype precision;
} CheckpointLoading;
#endif
