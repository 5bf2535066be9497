/* rehearsal.h - whether a checkpoint of this state can be saved, tried before hours are spent. */
#ifndef CHECKPOINT_REHEARSAL_H
#define CHECKPOINT_REHEARSAL_H
#include "checkpoint/saving.h"

/* Sizes on the disk; zeros where nothing is ever saved. */
typedef struct RehearsedSize {
    int64_t bytes;      /* of one checkpoint */
    int64_t free_bytes; /* where they go */
} RehearsedSize;

/* Does what saving will do but for writing the numbers: makes the folder of the checkpoint `first`
 * with all files, reserves the space, reads its manifest back, and removes it. An error when any
 * of it fails, or when names up to the one of `last` are too long. Where `content` is shared all
 * ranks call it, and rank 0 gets the sizes of all. */
Error *checkpoint_rehearse(const CheckpointSaving *s, const CheckpointTotals *first,
                           const CheckpointTotals *last, const CheckpointContent *content,
                           RehearsedSize *out);
#endif
