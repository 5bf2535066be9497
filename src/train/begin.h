/* begin.h - what a training does before its first step. */
#ifndef TRAIN_BEGIN_H
#define TRAIN_BEGIN_H
#include "train/optimizer_step.h"
#include "train/session.h"

/* Makes the session and the step, and reads the first step's batches; *ended: there are not enough.
 * The caller frees the session, after an error, too. */
Error *begin_reading(Arena *a, const TrainingJob *job, Session **session, OptimizerStep *step,
                     bool *ended);
/* Makes the program for batches like the first. The ranks have to agree before begin_state. */
Error *begin_program(const TrainingJob *job, Session *session, OptimizerStep *step);
/* Gives parameters and states their first content; ranks read a checkpoint together. */
Error *begin_state(const TrainingJob *job, Session *session, OptimizerStep *step);
#endif
