/* trainer.h - runs a training job: steps, logging, evaluation, checkpoints, stopping. */
#ifndef TRAIN_TRAINER_H
#define TRAIN_TRAINER_H
#include "train/job.h"

typedef enum EndReason { END_TARGET, END_NOTHING_LEFT, END_OF_DATA, END_SIGNAL } EndReason;

typedef struct TrainingEnd {
    EndReason reason;
    int64_t steps;       /* done, those of earlier runs included */
    int64_t saved_steps; /* of this run's newest checkpoint; -1: it wrote none */
    int signal;          /* of END_SIGNAL, which any rank may have got */
} TrainingEnd;

/* Trains up to job->target_steps. All ranks of the job call it, and end in the same way. A stop
 * signal, or the end of the data before the target, ends it after a whole step with a checkpoint
 * (unless the strategy keeps none). On an error the last checkpoint stays what it was. */
Error *trainer_run(const TrainingJob *job, TrainingEnd *end);
#endif
