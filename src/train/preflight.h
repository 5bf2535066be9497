/* preflight.h - what is tried and told before the first step. */
#ifndef TRAIN_PREFLIGHT_H
#define TRAIN_PREFLIGHT_H
#include "train/job.h"

/* Tries to save a checkpoint of this state and progress (checkpoint/rehearsal.h), then tells how
 * many steps, tokens and checkpoints there will be. */
Error *preflight(const TrainingJob *job, const CheckpointContent *content);
#endif
