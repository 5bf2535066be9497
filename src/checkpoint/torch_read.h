/* torch_read.h - files of torch.save as a checkpoint. */
#ifndef CHECKPOINT_TORCH_READ_H
#define CHECKPOINT_TORCH_READ_H
#include "checkpoint/checkpoint.h"

/* The tensors of n files as one checkpoint. A dict of names is the model's, one with state and
 * param_groups the optimizer's, one with "app" has all names as DCP has them. */
Error *torch_open(Arena *a, const char *const *path, int64_t n, CheckpointReader **out);
#endif
