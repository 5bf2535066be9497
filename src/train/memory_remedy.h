/* memory_remedy.h - what would fit where a training step does not. */
#ifndef TRAIN_MEMORY_REMEDY_H
#define TRAIN_MEMORY_REMEDY_H
#include "train/planned_step.h"

/* To the error of a step that takes more than so many bytes adds the microbatch that would fit, and
 * that with all blocks computed again; other errors stay as they are. */
Error *memory_remedy(Error *e, const PlannedStep *s, size_t available);
#endif
