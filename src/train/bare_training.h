/* bare_training.h - the steps of a training and nothing beside them: no folder, no results, no
 * evaluations, no checkpoints. */
#ifndef TRAIN_BARE_TRAINING_H
#define TRAIN_BARE_TRAINING_H
#include "train/begin.h"
#include "train/run_config.h"

typedef struct BareTraining {
    RunConfig made; /* its root and components */
    Events events;  /* that nobody hears */
    TrainingJob job;
    Session *session;
    OptimizerStep step; /* the numbers of the last one */
    int64_t steps;      /* done, those before this training included */
    bool data_ended;    /* there is no further step */
} BareTraining;

/* Builds what `root`, a resolved training configuration, names, and makes it ready for its first
 * step. Of the settings, rank, crew and initial weights count. Every rank calls it. Close it after
 * an error, too, and free the arena before the rank is done. */
Error *bare_training_open(Arena *a, const Registry *r, Yaml *root, const RunSettings *s,
                          BareTraining *out);
/* One step; *ended, without a step: the target or the end of the data was reached before. */
Error *bare_training_step(BareTraining *t, bool *ended);
void bare_training_close(BareTraining *t);
#endif
