/* changes.h - a training that goes on with other samples per step, or other data, than before. */
#ifndef TRAIN_CHANGES_H
#define TRAIN_CHANGES_H
#include "train/progress.h"
#include "train/settings.h"

/* What stays when a step takes another number of samples. */
typedef enum ChangedStep { STEP_REFUSED, STEP_KEEPS_STEPS, STEP_KEEPS_TOKENS } ChangedStep;
/* Where other data are read from. */
typedef enum ChangedData { DATA_REFUSED, DATA_FROM_PLACE, DATA_FROM_START } ChangedData;

typedef struct AllowedChanges {
    ChangedStep step;
    ChangedData data;
} AllowedChanges;

/* Compares the step of a checkpoint with that of the settings, whose target follows what is
 * allowed. An error says what each choice would mean. */
Error *changes_of_step(const TrainingPosition *was, const char *checkpoint, ChangedStep allowed,
                       TrainingSettings *s);
/* The place in training data of so many samples, given that in those before. */
Error *changes_of_data(const TrainingPosition *was, ChangedData allowed, int64_t n_samples,
                       int64_t *place);
#endif
