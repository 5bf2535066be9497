/* recompute.h - activation checkpointing (Chen et al. 2016): parts of the forward pass are computed
 * again in the backward pass instead of being kept. */
#ifndef PASSES_RECOMPUTE_H
#define PASSES_RECOMPUTE_H
#include "graph/pass.h"

typedef struct Recompute {
    const char *stack; /* whose blocks, as graph_enter names it; NULL: all */
    int64_t every;     /* blocks k of a stack with (k + 1) % every == 0; 0: none, 1: all */
    int64_t n, of;     /* of > 0: instead, n of every `of` blocks of a stack, evenly spread */
    unsigned save; /* flags of ops whose results are kept all the same: OP_ATTENTION, OP_MATMUL (of
                      these every second one, from the first) */
} Recompute;
extern const PassDef pass_recompute;

/* As few blocks are computed again as let a rank's training fit into so many bytes; who plans the
 * training (train/memory_budget.h) sets recompute->n. */
typedef struct MemoryBudget {
    double bytes;
    Recompute *recompute;
} MemoryBudget;
#endif
