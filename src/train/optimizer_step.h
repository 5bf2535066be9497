/* optimizer_step.h - one optimizer step: its microbatches, its numbers, and whether its update is
 * applied. */
#ifndef TRAIN_OPTIMIZER_STEP_H
#define TRAIN_OPTIMIZER_STEP_H
#include "exec/program.h"
#include "train/job.h"
#include "train/loss_scaling.h"
#include "train/step_schedule.h"

typedef struct OptimizerStep {
    Arena *arena;
    const TrainingJob *job;
    ParamStore *store;
    Program *program; /* to be set before the first step runs: the first batch tells the shapes */
    StepSchedule plan;
    RunTime now;
    float updates; /* applied, not those that were skipped; checkpoints keep them as torch does */
    bool skipped;  /* the step's update was left out */
    LossScaling scaling;
    bool overflowed;  /* it was left out because gradients were too large for F16 */
    Batch **batch;    /* the microbatches, owned copies */
    int64_t sequence; /* their length */
    double *loss;     /* of each, on this rank */
    bool *has_targets;
    int64_t *position; /* where they stand in the loader's order */
    double *sum;       /* of each, over all ranks: the losses, then their numbers */
    double loss_last;  /* mean over the ranks of the last loss that is one, or not finite */
    double grad_norm;
} OptimizerStep;

Error *optimizer_step_new(Arena *a, const TrainingJob *job, ParamStore *store, OptimizerStep *out);
/* Takes the microbatches of the next step; *ended: there are not enough left. The ranks have to
 * agree before it runs. */
Error *optimizer_step_read(OptimizerStep *s, bool *ended);
/* Runs the step after `done` ones. What is not finite on any rank ends in an error, in a skipped
 * update, or is let through, as the job says, on all. After an error the ranks agree no more. */
Error *optimizer_step_run(OptimizerStep *s, int64_t done);
#endif
