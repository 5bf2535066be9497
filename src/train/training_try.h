/* training_try.h - what a training does before its first step, as far as it leaves nothing behind.
 */
#ifndef TRAIN_TRAINING_TRY_H
#define TRAIN_TRAINING_TRY_H
#include "train/settings.h"

/* Builds the components, reads the first batch, plans the step's program, and holds the checkpoints
 * that it would begin with against the model. Inputs that are not there, and too little memory for
 * a training of one rank, are warnings where the builder allows it. `warmstart_path` is the
 * configuration of a warm start; NULL: a fresh run. */
Error *training_config_try(Builder *b, TrainingConfig *c, const char *warmstart_path);
#endif
