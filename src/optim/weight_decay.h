/* weight_decay.h - which parameters decay: those outside the groups that an optimizer excludes. */
#ifndef OPTIM_WEIGHT_DECAY_H
#define OPTIM_WEIGHT_DECAY_H
#include "config/field.h"
#include "optim/optim.h"

/* The name of the model's group that a parameter belongs to, or NULL. */
const char *weight_decay_group(const struct Model *model, const char *param);
/* Parameter groups of the optimizer in the original: what decays and what does not if any is
 * excluded, else one for all. */
int weight_decay_count_groups(const Optimizer *o);
/* Which of these a parameter belongs to: 0, or 1 for what is excluded. */
int weight_decay_own_group(const Optimizer *o, const Value *param);
/* Optimizer.excluded from its setting. */
const char *const *excluded_groups(Arena *a, const StringList *names);
/* Excluded groups must exist; a model without groups takes decay 0 or no exclusions only. */
Error *weight_decay_check(const Optimizer *o);
/* Every parameter must belong to exactly one group when groups are excluded, and neither the
 * decayed nor the excluded parameters may be missing. */
Error *weight_decay_check_params(const Optimizer *o, const Value *const *param, int64_t n);
#endif
