/* trainer.h - runs a training job: steps, logging, evaluation, checkpoints, stopping. */
#ifndef TRAIN_TRAINER_H
#define TRAIN_TRAINER_H
#include "train/job.h"

typedef enum TrainingEnd {
    TRAINING_DONE,
    TRAINING_NOTHING_LEFT,
    TRAINING_DATA_ENDED,
    TRAINING_STOPPED
} TrainingEnd;

/* Trains up to job->target_steps. A stop signal ends it after the running step with a checkpoint.
 * On an error the last checkpoint stays what it was. */
Error *trainer_run(const TrainingJob *job, TrainingEnd *end);
#endif
