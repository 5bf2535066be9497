/* checkpoint_name.h - the numbers in the name of a checkpoint folder, written and read back. */
#ifndef CHECKPOINT_CHECKPOINT_NAME_H
#define CHECKPOINT_CHECKPOINT_NAME_H
#include "base/arena.h"
#include "base/error.h"
#include <stdint.h>

/* Totals over all runs of an experiment: those seen so far and those aimed at. */
typedef struct CheckpointTotals {
    int64_t seen_steps, seen_tokens, target_steps, target_tokens;
} CheckpointTotals;

/* "eid_{id}-seen_steps_{S}-seen_tokens_{T}-target_steps_{TS}-target_tokens_{TT}". */
char *checkpoint_name(Arena *a, const char *experiment_id, const CheckpointTotals *totals);

/* The folder of the checkpoint of which `file` is one of the two files of FSDP1, by its name; NULL:
 * it is none. */
const char *checkpoint_folder_of(Arena *a, const char *file);

/* The number right after `key` ("seen_steps_", "seen_tokens_", "target_steps_", "target_tokens_")
 * in `path`, parents included. It must be there exactly once. */
Error *checkpoint_path_number(const char *path, const char *key, int64_t *out);
#endif
