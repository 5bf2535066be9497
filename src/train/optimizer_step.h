/* optimizer_step.h - one optimizer step: its microbatches, its numbers, and whether its update is
 * applied. */
#ifndef TRAIN_OPTIMIZER_STEP_H
#define TRAIN_OPTIMIZER_STEP_H
#include "exec/program.h"
#include "train/job.h"
#include "train/loss_scaling.h"
#include "train/step_schedule.h"

/* What a step is made of. */
typedef struct StepData {
    RunTime now;
    Batch **batch;           /* the microbatches, owned copies */
    int64_t loader_position; /* of the batch after them */
    bool is_read, is_begun;
} StepData;

typedef struct OptimizerStep {
    Arena *arena;
    const TrainingJob *job;
    ParamStore *store;
    Program *program; /* to be set before the first step runs: the first batch tells the shapes */
    StepSchedule plan;
    RunTime now;   /* of the step that was run last */
    float updates; /* applied, not those that were skipped; checkpoints keep them as torch does */
    bool skipped;  /* the step's update was left out */
    LossScaling scaling;
    bool overflowed; /* it was left out because gradients were too large for F16 */
    /* The step that comes to its end next, and the one after it, which may have begun. */
    StepData data[2];
    int turn;
    bool has_ended;          /* there are not enough microbatches for a further step */
    Error *unread;           /* why they could not be read ahead; NULL: they could */
    int64_t loader_position; /* of the batch after those of the step that was run last */
    int64_t sequence;        /* length of the microbatches */
    double *loss;            /* of each, on this rank */
    bool *has_targets;
    int64_t *position; /* where they stand in the loader's order */
    double *sum;       /* of each, over all ranks: the losses, then their numbers */
    double loss_last;  /* mean over the ranks of the last loss that is one, or not finite */
    double grad_norm;
} OptimizerStep;

Error *optimizer_step_new(Arena *a, const TrainingJob *job, ParamStore *store, OptimizerStep *out);
/* Takes the microbatches of the next step, unless it has them; *ended: there are not enough left.
 * The ranks have to agree before it runs. */
Error *optimizer_step_read(OptimizerStep *s, bool *ended);
/* Runs the step after `done` ones. What is not finite on any rank ends in an error, in a skipped
 * update, or is let through, as the job says, on all. After an error the ranks agree no more. */
Error *optimizer_step_run(OptimizerStep *s, int64_t done);
/* The same; before it waits for the step it gives the next one to the device, where that looks at
 * the numbers of both itself. That one is to be run next, and until then nothing else. */
Error *optimizer_step_run_ahead(OptimizerStep *s, int64_t done);
/* Whether a further step is under way. */
bool optimizer_step_is_ahead(const OptimizerStep *s);
#endif
