/* step_plan.h - the program of a training's steps on one rank, planned only: what it would take is
 * known, and what cannot be built is told, without memory and without data. */
#ifndef TRAIN_STEP_PLAN_H
#define TRAIN_STEP_PLAN_H
#include "train/session.h"
#include "train/settings.h"
#include "train/step_schedule.h"

/* Where a training is described. */
typedef struct StepPlanSource {
    const char *config_file_path, *experiments_root_path;
    StringList overrides;
} StepPlanSource;

/* Builds what decides what a rank takes; data need not be there. `root` receives the resolved tree.
 */
Error *step_plan_read(Arena *a, const Registry *r, const StepPlanSource *source, const Rank *rank,
                      TrainingConfig *out, Yaml **root);

typedef struct StepPlanSettings {
    int64_t batch, sequence; /* of a microbatch of the loader; 0: as the step profile says */
    int n_threads;           /* which need scratch; 0: all cores */
    const Dtype *precision;  /* NULL: the model's own */
    const PassTrace *trace;  /* NULL: none */
} StepPlanSettings;

typedef struct StepPlan {
    Session *session; /* NULL: there is none */
    StepSchedule step;
    int64_t sequence;
    Program *program;
} StepPlan;

/* On the rank whose place `mesh` says, which must stay. The caller frees it with step_plan_free,
 * after an error, too. */
Error *step_plan_new(Arena *a, const TrainingConfig *c, const Mesh *mesh, const StepPlanSettings *s,
                     StepPlan *out);
void step_plan_free(StepPlan *p);
#endif
