/* make_job.h - from the settings of a configuration to what the trainer and the report are given.
 */
#ifndef TRAIN_MAKE_JOB_H
#define TRAIN_MAKE_JOB_H
#include "monitor/training_report.h"
#include "train/run_config.h"

/* The numbers that the training report shows; `n_samples` of the training dataset. */
TrainingPlan training_plan(const TrainingSettings *s, int64_t n_samples);
/* What to compute on: where nothing is asked for, a GPU if there is one; but several ranks stay on
 * the CPU, since what they do together needs it. */
const char *training_device(const RunSettings *run);
/* The job that built components describe. */
TrainingJob training_job(Arena *a, const RunSettings *s, const RunConfig *c, Events *events);
#endif
