/* native.h - this program's own checkpoints: a folder of safetensors files and manifest.json. */
#ifndef CHECKPOINT_NATIVE_H
#define CHECKPOINT_NATIVE_H
#include "checkpoint/checkpoint.h"

/* A writer for the folder `path`; a checkpoint of that name is replaced in one step. */
CheckpointWriter *native_writer(Arena *a, const char *path);
/* Instead of finish: writes everything but the tensors, reads the manifest back, and removes it
 * all; `reserve` is given a new file in the folder and the bytes that the tensors would take. */
Error *native_rehearse(CheckpointWriter *w, const char *progress,
                       Error *(*reserve)(void *context, const char *path, int64_t bytes),
                       void *context);
/* `folder` is where the files lie, `path` its name for users (they differ after an interrupted
 * replacement). */
Error *native_open(Arena *a, const char *path, const char *folder, CheckpointReader **out);
#endif
