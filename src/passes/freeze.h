/* freeze.h - parameters that stay what they are: no gradient, no states, no memory for them. */
#ifndef PASSES_FREEZE_H
#define PASSES_FREEZE_H
#include "graph/pass.h"

typedef struct Freeze {
    const char *const *parameters, *const *except; /* patterns (models/parameter_pattern.h) */
} Freeze;
extern const PassDef pass_freeze;
#endif
