/* weights.h - a plain .safetensors file as a checkpoint that holds parameters only. */
#ifndef CHECKPOINT_WEIGHTS_H
#define CHECKPOINT_WEIGHTS_H
#include "checkpoint/checkpoint.h"

/* Its tensors appear as app.model.<name>, unless their names begin with "app." already. */
Error *weights_open(Arena *a, const char *path, CheckpointReader **out);
#endif
