/* torch_groups.h - the pickles of FSDP1's two files: parameters by name; an optimizer's states by
 * parameter with its groups. */
#ifndef CHECKPOINT_TORCH_GROUPS_H
#define CHECKPOINT_TORCH_GROUPS_H
#include "checkpoint/objects.h"
#include "checkpoint/safetensors.h"

typedef struct TorchGroups TorchGroups;
/* For the tensors of one file, member data/I each, and all objects of the checkpoint. */
TorchGroups *torch_groups(Arena *a, const NamedTensor *piece, int64_t n,
                          const CheckpointObject *object, int64_t n_objects);
/* Functions for torch_plan; the context is the TorchGroups. */
void torch_groups_put_model(void *context, PickleWriter *w);
void torch_groups_put_optimizer(void *context, PickleWriter *w);
#endif
