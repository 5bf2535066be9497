/* made_optimizer.h - optimizers from YAML for a model of names alone. */
#ifndef TESTS_MADE_OPTIMIZER_H
#define TESTS_MADE_OPTIMIZER_H
#include "optim/optim.h"

/* The component at the key "optimizer" of a YAML text, where ${model} is a model without decay
 * groups. */
Error *made_optimizer_try(Arena *a, const char *yaml, Optimizer **out);
Optimizer *made_optimizer(Arena *a, const char *yaml);
#endif
