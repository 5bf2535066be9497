/* delta_gates.h - how fast the states of the gated delta rule fade, and how much a token corrects
 * them, from products of the token. */
#ifndef OPS_DELTA_GATES_H
#define OPS_DELTA_GATES_H
#include "graph/op.h"

typedef struct DeltaGates {
    Value *decay, *rate; /* [b s g r], f32 (f64) */
} DeltaGates;

/* Attributes of "delta_gates". */
typedef struct DeltaGatesAttrs {
    double most;
} DeltaGatesAttrs;

/* x and y [b s g r], speed and bias [(g r)]: decay is -exp(speed) softplus(x + bias), rate the
 * sigmoid of y times `most`. */
DeltaGates delta_gates(Graph *g, Value *x, Value *y, Value *speed, Value *bias, double most);
#endif
