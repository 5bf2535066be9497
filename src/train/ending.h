/* ending.h - how a run ended, in words, and what to type to go on. */
#ifndef TRAIN_ENDING_H
#define TRAIN_ENDING_H
#include "train/run_config.h"
#include "train/trainer.h"

const char *ending_text(Arena *a, const RunSettings *s, const RunConfig *c, const TrainingEnd *end);
#endif
