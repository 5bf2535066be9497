/* step_schedule.h - what a rank does in an optimizer step: accumulation, or its part of a pipeline.
 */
#ifndef TRAIN_STEP_SCHEDULE_H
#define TRAIN_STEP_SCHEDULE_H
#include "comm/mesh.h"
#include "exec/schedule.h"
#include "passes/pipeline.h"

typedef struct StepSchedule {
    Schedule schedule; /* of this rank */
    int n_stages;      /* of all ranks */
    int first_stage;   /* of this rank: a microbatch is done with its backward pass */
    int64_t n;         /* microbatches of a step */
    int64_t samples;   /* of a microbatch */
    int64_t per_batch; /* microbatches in a batch of the loader */
    double bubble;     /* share of a step in which ranks of the pipeline wait, if all stages take
                          equally long */
} StepSchedule;

/* A step of so many batches of the loader, each of so many samples. The pipeline is NULL where the
 * model is not cut; its batches go through the stages in microbatches. */
Error *step_schedule_new(Arena *a, const Pipeline *p, const Mesh *mesh, int64_t batches,
                         int64_t samples, StepSchedule *out);
#endif
