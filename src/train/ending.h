/* ending.h - how a run ended, in words, and what to type to go on. */
#ifndef TRAIN_ENDING_H
#define TRAIN_ENDING_H
#include "train/run_config.h"
#include "train/trainer.h"

/* "To go on:" and the command, for a run that was begun in its folder. */
const char *how_to_go_on(Arena *a, const RunSettings *s, const RunConfig *c);
const char *ending_text(Arena *a, const RunSettings *s, const RunConfig *c, const TrainingEnd *end);
#endif
