/* preflight.h - what is tried and told before the first step. */
#ifndef TRAIN_PREFLIGHT_H
#define TRAIN_PREFLIGHT_H
#include "checkpoint/rehearsal.h"
#include "train/job.h"

/* Tells how many steps, tokens and checkpoints of this size there will be. */
Error *preflight(const TrainingJob *job, const RehearsedSize *size);
#endif
