/* folder_write.h - writes a checkpoint: a folder with manifest.json and part files in one of three
 * layouts. */
#ifndef CHECKPOINT_FOLDER_WRITE_H
#define CHECKPOINT_FOLDER_WRITE_H
#include "checkpoint/output_part.h"

typedef struct FolderWriter FolderWriter;

/* Plans what this rank writes; numbers of content with `staging` are read through that, and may
 * change as it says. Objects, files and progress of the content must stay. Where it is shared among
 * ranks all of them call it, and fail together. */
Error *folder_plan(Arena *a, const char *path, const CheckpointContent *c, FolderWriter **out);
/* Writes what was planned, as folder_write does. */
Error *folder_write_planned(FolderWriter *w);
/* On rank 0: an error unless what it wrote is there, every file in its size and a whole manifest.
 * Numbers and what lies between them are not read. */
Error *folder_check_written(const FolderWriter *w);
/* Both: writes everything under `path`, replacing a checkpoint of that name in one step. After an
 * error nothing is left but what was there before. Where the content is shared among ranks, all of
 * them call it and write, and fail together. */
Error *folder_write(const char *path, const CheckpointContent *c);
/* Writes everything but the numbers, reads the manifest back, and removes it all; `reserve` is
 * given a new file in the folder and the bytes that the parts of all ranks would take. */
Error *folder_rehearse(const char *path, const CheckpointContent *c,
                       Error *(*reserve)(void *context, const char *path, int64_t bytes),
                       void *context);
/* Removes the checkpoint of that name, which the manifest in it tells how. */
Error *folder_remove(Arena *a, const char *path);
#endif
