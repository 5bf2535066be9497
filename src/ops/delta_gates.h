/* delta_gates.h - how fast the states of linear attention fade, and how much a token corrects them,
 * or adds to them, from products of the token. */
#ifndef OPS_DELTA_GATES_H
#define OPS_DELTA_GATES_H
#include "graph/op.h"

typedef struct DeltaGates {
    Value *decay, *rate; /* [b s g r], f32 (f64) */
} DeltaGates;

/* Attributes of "delta_gates". */
typedef struct DeltaGatesAttrs {
    double most;
    double least_step, most_step; /* a step below or above is that; most_step 0: none is above */
} DeltaGatesAttrs;

/* x and y [b s g r], speed and bias [(g r)]: decay is -exp(speed) times the step softplus(x +
 * bias), rate the sigmoid of y times `most`; y NULL: the step itself, as in state spaces. */
DeltaGates delta_gates(Graph *g, Value *x, Value *y, Value *speed, Value *bias,
                       const DeltaGatesAttrs *attrs);
#endif
