/* torch_state.h - what torch keeps of a training besides parameters and moments: buffers, settings
 * of each parameter, the scheduler's numbers. */
#ifndef TRAIN_TORCH_STATE_H
#define TRAIN_TORCH_STATE_H
#include "checkpoint/checkpoint.h"
#include "train/job.h"

/* Fills the objects of a checkpoint after `step` steps for the parameters of `content`, which the
 * graph of the training has, and adds the model's buffers to its tensors. The arena owns them. */
Error *torch_state(Arena *a, const AppState *s, const Graph *g, int64_t step,
                   CheckpointContent *content);
#endif
