/* planned_step.h - what a training step of a rank would take, before anything runs. */
#ifndef TRAIN_PLANNED_STEP_H
#define TRAIN_PLANNED_STEP_H
#include "train/session.h"
#include "train/step_schedule.h"

/* The training step of a rank, as it will be made. */
typedef struct PlannedStep {
    Model *model;
    const Loss *loss;
    const Optimizer *optimizer;
    const GradientClipper *clipper;
    const Mesh *mesh;
    const StepSchedule *schedule;
    int64_t sequence;
    const char *device; /* as SessionSettings has them */
    int local_rank;
    int n_threads;
} PlannedStep;

/* Bytes of the device, and of the host where that is another one's memory. */
Error *planned_step_bytes(const PlannedStep *s, double *out);
#endif
