/* memory_budget.h - how many blocks are computed again, so that a training fits into its memory. */
#ifndef TRAIN_MEMORY_BUDGET_H
#define TRAIN_MEMORY_BUDGET_H
#include "train/planned_step.h"

/* Where the model has a budget: plans the step, and sets the least number of blocks with which it
 * fits. An error, with the bytes that are needed, where it does not fit with all of them. */
Error *memory_budget_keep(const PlannedStep *s);
#endif
