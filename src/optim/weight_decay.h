/* weight_decay.h - which parameters decay: those outside the groups that an optimizer excludes. */
#ifndef OPTIM_WEIGHT_DECAY_H
#define OPTIM_WEIGHT_DECAY_H
#include "optim/optim.h"

/* The name of the model's group that a parameter belongs to, or NULL. */
const char *weight_decay_group(const struct Model *model, const char *param);
/* Parameter groups of the optimizer in the original: what decays and what does not if any is
 * excluded, else one for all. */
int weight_decay_count_groups(const Optimizer *o);
/* The decay of one parameter. */
double weight_decay_of(const Optimizer *o, const Value *param);
double weight_decay_of_name(const Optimizer *o, const char *param);
/* Excluded groups must exist; a model without groups takes decay 0 or no exclusions only. */
Error *weight_decay_check(const Optimizer *o);
/* Every parameter of the graph must belong to exactly one group when groups are excluded, and
 * neither the decayed nor the excluded parameters may be missing. */
Error *weight_decay_check_graph(const Optimizer *o, const Graph *g);
#endif
