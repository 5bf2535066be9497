/* job_plan.h - what each rank of a training would take, and send, without running it. */
#ifndef TRAIN_JOB_PLAN_H
#define TRAIN_JOB_PLAN_H
#include "config/registry.h"
#include "exec/rank_plan.h"
#include "exec/transfer_check.h"
#include "passes/all_passes.h"

typedef struct PlanSettings {
    const char *config_file_path, *experiments_root_path;
    StringList overrides;
    int64_t n_ranks;    /* of the job; 0: as `process` says */
    int64_t n_largest;  /* activations to name of those that exist together at the peak */
    int schedule_width; /* columns of the picture of the pipeline's schedule; 0: it is not asked for
                         */
    PassTrace trace;    /* of the first rank's graph */
    const Rank *process;
} PlanSettings;

/* Ranks that share a stage of the pipeline, all of which take the same. */
typedef struct StagePlan {
    int64_t first_rank, n_ranks;
    RankPlan plan;
    const char *largest; /* a line each */
    TransferList transfers;
    bool in_background; /* checkpoints are saved, from a copy of parameters and states */
} StagePlan;

typedef struct JobPlan {
    Mesh mesh;
    int64_t microbatch, sequence, microbatches; /* samples, tokens; per step */
    double bubble;        /* share of a step in which ranks of the pipeline wait, if all stages take
                             equally long */
    int64_t messages;     /* between ranks of a pipeline, per step; each has its counterpart */
    StagePlan *stage;     /* by rank along pp */
    const char *schedule; /* its picture; NULL: not asked for */
} JobPlan;

/* Data files need not be there. All of it is of the arena. A usage error where the process is one
 * of a job of another size, or a schedule is asked for where there is no pipeline. */
Error *job_plan(Arena *a, const Registry *registry, const PlanSettings *s, JobPlan *out);
void job_plan_print(const JobPlan *p, FILE *to);
#endif
