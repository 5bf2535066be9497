/* native.h - this program's own checkpoints: a folder of safetensors files and manifest.json. */
#ifndef CHECKPOINT_NATIVE_H
#define CHECKPOINT_NATIVE_H
#include "checkpoint/checkpoint.h"

/* `folder` is where the files lie, `path` its name for users (they differ after an interrupted
 * replacement). */
Error *native_open(Arena *a, const char *path, const char *folder, CheckpointReader **out);
#endif
