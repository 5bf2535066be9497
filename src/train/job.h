/* job.h - everything that a training run was asked to do, as components built it. */
#ifndef TRAIN_JOB_H
#define TRAIN_JOB_H
#include "checkpoint/saving.h"
#include "comm/mesh.h"
#include "data/data.h"
#include "exec/store.h"
#include "models/loss.h"
#include "models/model.h"
#include "monitor/event.h"
#include "monitor/mfu.h"
#include "optim/gradient_clipper.h"
#include "optim/optim.h"
#include "optim/scheduler.h"
#include "passes/all_passes.h"
#include "train/consensus.h"
#include "train/progress.h"

typedef enum OnNonfinite { NONFINITE_STOP, NONFINITE_SKIP, NONFINITE_IGNORE } OnNonfinite;

/* What app_state components describe: what is trained, and where its state comes from. */
typedef struct AppState {
    Model *model;
    Optimizer *optimizer;
    Scheduler *scheduler;        /* NULL: the optimizer's rate throughout */
    const char *checkpoint_path; /* NULL: fresh weights */
} AppState;

typedef struct LoaderList {
    Loader **item;
    int64_t n;
} LoaderList;

/* What one optimizer step did on this rank; valid during the call. */
typedef struct StepReport {
    int64_t step; /* from 1 */
    double grad_norm, lr;
    int64_t n_microbatches;
    const double *loss;      /* of each microbatch */
    const double *sum;       /* the same, summed over all ranks */
    const int64_t *position; /* of each microbatch's first sample in the loader's order */
    ParamStore *store;
} StepReport;

typedef struct TrainingJob {
    AppState *state;
    Loss *loss;
    GradientClipper *clipper;
    Loader *train;
    LoaderList evaluation;
    CheckpointSaving *saving;
    Mfu *mfu;                  /* NULL: -1 is reported */
    Events *events;            /* subscribers of progress and results; on rank 0 only */
    struct Profiler *profiler; /* measures some microbatches; NULL: none */
    const struct CheckpointSamples *samples; /* texts made at checkpoints; NULL: none */
    const char *folder; /* of the experiment, for what the board shows; NULL: nothing is kept */

    int64_t accumulation, microbatch_size, sequence_length, dp_degree;
    int64_t n_train_samples; /* in the training data; 0: not known */
    int64_t target_steps, target_tokens;
    int64_t seen_steps, seen_tokens;                     /* before this run */
    int64_t log_every, evaluate_every, checkpoint_every; /* steps */
    int64_t evaluation_batches;                          /* of each loader at most; 0: all */
    OnNonfinite on_nonfinite;

    /* NULL: begins, or begins with a warm start; else the same training goes on there, with the
     * loader at its place. */
    const TrainingPosition *resumed;
    const char *initial_weights; /* a .safetensors file, or NULL */
    const char *config_digest;   /* kept in checkpoints */
    PassTrace trace;
    Consensus *consensus; /* NULL: one rank */
    Mesh mesh;            /* of all ranks, and the place of this one */
    const char *device;   /* as SessionSettings has it */
    int local_rank;       /* likewise */
    int n_threads;        /* 0: all cores */
    size_t memory;        /* bytes that this rank may take; 0: what is free */
    void (*observe)(void *context, const StepReport *report); /* after each step; NULL: nobody */
    void *observer;
    bool is_observed; /* by somebody who may look at the state after a step */
} TrainingJob;
#endif
