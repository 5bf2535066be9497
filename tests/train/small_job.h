/* small_job.h - the training of tests/end_to_end/train.yaml inside of the test's process. */
#ifndef TESTS_TRAIN_SMALL_JOB_H
#define TESTS_TRAIN_SMALL_JOB_H
#include "end_to_end/training.h"
#include "train/settings.h"
#include "train/trainer.h"

typedef struct SmallJob {
    Bench bench;
    TrainingConfig config;
    Events events; /* nobody listens yet */
    TrainingJob job;
} SmallJob;

/* Ready for trainer_run; `set` are overrides ("key=value") and end with NULL. Checkpoints go to the
 * experiment `id` of the bench. Free the bench's arena. */
SmallJob *small_job_new(const char *id, Words set);
/* The parameter of that name while training; fails the test if there is none. */
Tensor *small_job_param(ParamStore *s, const char *name);
#endif
