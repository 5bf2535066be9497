/* torch_state.h - what torch keeps of a training besides parameters and moments: buffers, settings
 * of each parameter, the scheduler's numbers. */
#ifndef TRAIN_TORCH_STATE_H
#define TRAIN_TORCH_STATE_H
#include "checkpoint/checkpoint.h"
#include "train/job.h"

/* Adds the model's buffers after the n tensors of a state, as a list of the arena. */
void torch_buffers(Arena *a, const Model *m, StateTensor **state, int64_t *n);
/* Fills the objects of a checkpoint after `step` steps for the parameters among these n tensors of
 * all ranks, which the graph of the training has. The arena owns them. */
Error *torch_objects(Arena *a, const AppState *s, const Graph *g, int64_t step,
                     const StateTensor *state, int64_t n, CheckpointContent *content);
#endif
