/* memory_budget.h - how many blocks are computed again, so that a training fits into its memory. */
#ifndef TRAIN_MEMORY_BUDGET_H
#define TRAIN_MEMORY_BUDGET_H
#include "train/session.h"
#include "train/step_schedule.h"

/* The training step of a rank, as it will be made. */
typedef struct PlannedStep {
    const Model *model;
    const Loss *loss;
    const Optimizer *optimizer;
    const GradientClipper *clipper;
    const Mesh *mesh;
    const StepSchedule *schedule;
    int64_t sequence;
    int n_threads; /* 0: all cores */
} PlannedStep;

/* Where the model has a budget: plans the step, and sets the least number of blocks with which it
 * fits. An error, with the bytes that are needed, where it does not fit with all of them. */
Error *memory_budget_keep(const PlannedStep *s);
#endif
