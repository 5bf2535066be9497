/* torch_nested.h - the pickle of one file with all of a checkpoint, nested as torch's dcp_to_torch
 * nests it; of parameters alone, a flat dict of their names. */
#ifndef CHECKPOINT_TORCH_NESTED_H
#define CHECKPOINT_TORCH_NESTED_H
#include "checkpoint/objects.h"
#include "checkpoint/safetensors.h"

typedef struct TorchNested TorchNested;
TorchNested *torch_nested(Arena *a, const NamedTensor *piece, int64_t n,
                          const CheckpointObject *object, int64_t n_objects);
/* For torch_plan; the context is the TorchNested. */
void torch_nested_put(void *context, PickleWriter *w);
#endif
