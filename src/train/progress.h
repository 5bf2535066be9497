/* progress.h - how far a training has come beside its tensors: what a checkpoint says of it. */
#ifndef TRAIN_PROGRESS_H
#define TRAIN_PROGRESS_H
#include "base/arena.h"
#include "base/error.h"
#include "train/loss_scaling.h"
#include <stdbool.h>
#include <stdint.h>

/* Sums since the last log line. */
typedef struct Window {
    double loss, grad_norm;
    double started;                      /* clock_seconds() */
    int64_t n_losses, n_without_targets; /* microbatches with a loss, and without one */
    int64_t n_steps, n_samples;
    int64_t
        n_overflows; /* steps whose gradients left the range of F16; they are in no sum of norms */
} Window;

typedef struct TrainingPosition {
    int64_t steps, tokens;               /* done, earlier runs included */
    int64_t loader_position;             /* of the next batch, on each rank */
    int64_t dp_degree;                   /* ranks that shared the data */
    int64_t samples_per_step, n_samples; /* of all ranks; in the training data; 0: not known */
    bool is_evaluated;                   /* the evaluation that was due at this step is done */
    Window window;
    LossScaling scaling;
} TrainingPosition;

/* What else is kept, to be looked at. */
typedef struct TrainingFacts {
    int64_t updates;
    int64_t seed;
    const char *config_digest; /* NULL: none */
} TrainingFacts;

/* As the JSON object of a checkpoint's progress. */
const char *progress_json(Arena *a, const TrainingPosition *p, const TrainingFacts *f);
/* Reads it from a checkpoint; an error where the checkpoint does not say where it stands. */
Error *progress_read(Arena *a, const char *checkpoint, TrainingPosition *out);
#endif
