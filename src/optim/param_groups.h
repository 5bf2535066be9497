/* param_groups.h - the groups of a run's parameters: by optimizer, and by whether they decay. */
#ifndef OPTIM_PARAM_GROUPS_H
#define OPTIM_PARAM_GROUPS_H
#include "optim/optim.h"

/* How many there are; of a combined optimizer those of its parts one after the other. */
int param_groups_count(const Optimizer *o);
/* The group with this number; its weight decay is that of its parameters. */
ParamGroup param_groups_at(const Optimizer *o, int number);
/* The group of a parameter. One that no part takes belongs to the last (param_groups_check). */
ParamGroup param_group_of(const Optimizer *o, const Value *param);
/* Whether the two are the same or one is part of the other. */
bool optimizer_has(const Optimizer *o, const Optimizer *part);
/* Every parameter that is trained must belong to an optimizer that can update it, every pattern
 * must take some, and the rules of weight decay hold for each optimizer. */
Error *param_groups_check(const Optimizer *o, const Graph *g);
#endif
