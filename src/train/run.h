/* run.h - `run` and `warmstart`: from a YAML file to a finished training. */
#ifndef TRAIN_RUN_H
#define TRAIN_RUN_H
#include "config/config.h"
#include "config/registry.h"
#include "monitor/run_record.h"
#include "train/changes.h"
#include "train/job.h"

/* Where a training that was begun goes on. */
typedef struct ResumePoint {
    const RunRecord *record;
    const char *config_file_path; /* what it was begun with, as RunSettings has it */
    const char *checkpoint;       /* NULL: none yet, so it begins anew */
    TrainingPosition position;    /* of the checkpoint */
} ResumePoint;

typedef struct RunSettings {
    const Rank *rank;        /* NULL: the only one of its job */
    const struct Crew *crew; /* NULL: this rank has no others and was started alone */
    const char *config_file_path, *experiments_root_path;
    const char *experiment_id;             /* NULL: made from time and path */
    const char *last_checkpoint_info_path; /* warm start; NULL: a fresh run */
    StringList overrides;                  /* --set */
    const ResumePoint *resume;             /* NULL: a run or warm start of its own */
    AllowedChanges changes;                /* where it goes on */
    const char *initial_weights_path;      /* NULL: by the initializer */
    const char *print_graph;               /* "after:recompute"; NULL: nowhere */
    const char *device;                    /* "cpu", "cuda", "cuda:1", or NULL: what there is */
    int64_t profile_ops;                   /* microbatches to measure; 0: none */
    int64_t check;                         /* microbatches whose kernels are checked; 0: none */
    void (*observe)(void *context, const StepReport *report); /* see TrainingJob */
    void *observer;
} RunSettings;

/* Checks the whole configuration before anything is made; then makes the experiment folder, trains,
 * and tells on stdout what the original tells. Every rank calls it; rank 0 makes what all share and
 * tells the user. */
Error *training_run(const Registry *r, const RunSettings *settings);
#endif
