/* sample_state.h - a small state, different for every seed, to save and to compare. */
#ifndef TESTS_SAMPLE_STATE_H
#define TESTS_SAMPLE_STATE_H
#include "checkpoint/checkpoint.h"

enum { N_SAMPLE_TENSORS = 6 };

/* Parameters, moments, a scalar step and an empty tensor; the numbers come from the arena. */
void sample_state(Arena *a, int seed, StateTensor out[N_SAMPLE_TENSORS]);
/* The whole of it as a checkpoint, with some values that are no tensors; of the arena. */
CheckpointContent sample_content(Arena *a, int seed);
/* {"seed": seed}. */
const char *sample_progress(Arena *a, int seed);
/* Saves the state of this seed at `path`. */
Error *sample_save(const char *path, int seed);
/* The seed whose state is at `path`, complete and verified; an error when it is none. */
Error *sample_load(const char *path, int *seed);
#endif
