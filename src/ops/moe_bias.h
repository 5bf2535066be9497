/* moe_bias.h - routing that is balanced without a penalty (Wang et al. 2024): experts that were
 * chosen less often than others get a higher bias, which counts for the choice alone. */
#ifndef OPS_MOE_BIAS_H
#define OPS_MOE_BIAS_H
#include "graph/op.h"

/* Adds the number of times that each expert of [* k] is chosen to `load` [e], an accumulator. */
void moe_count(Graph *g, Value *expert, Value *load);
extern const OpDef op_moe_load; /* the node that does */
typedef struct MoeEven {
    double rate; /* by how much a bias changes in a step */
} MoeEven;
/* By how much each bias changes, from the load of a step: `rate` up or down, less the mean of all;
 * `load` becomes zero. */
Value *moe_even(Graph *g, Value *total, Value *load, double rate);
/* Adds x to `bias`, in place. */
void moe_shift(Graph *g, Value *x, Value *bias);
#endif
