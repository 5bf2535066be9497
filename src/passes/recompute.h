/* recompute.h - activation checkpointing (Chen et al. 2016): parts of the forward pass are computed
 * again in the backward pass instead of being kept. */
#ifndef PASSES_RECOMPUTE_H
#define PASSES_RECOMPUTE_H
#include "graph/pass.h"

typedef struct Recompute {
    int64_t every;           /* blocks k with (k + 1) % every == 0; 0: none, 1: all */
    const char *const *save; /* names of ops whose results are kept all the same (of contractions
                                every second one, from the first); ends with NULL, or is NULL */
} Recompute;
extern const PassDef pass_recompute;
#endif
