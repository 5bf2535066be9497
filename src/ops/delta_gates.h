/* delta_gates.h - how fast the states of linear attention fade, and how much a token corrects them,
 * or adds to them, from products of the token. */
#ifndef OPS_DELTA_GATES_H
#define OPS_DELTA_GATES_H
#include "graph/op.h"

typedef struct DeltaGates {
    Value *decay, *rate; /* as x, and [b s g r]; f32 (f64) */
} DeltaGates;

/* Attributes of "delta_gates". */
typedef struct DeltaGatesAttrs {
    double most;
    double least_step, most_step; /* a step below or above is that; most_step 0: none is above */
    double bound; /* decays are above minus that; 0: there is no bound. Not of steps, too */
} DeltaGatesAttrs;

/* x and y [b s g r], speed and bias [(g r)]: decay is -exp(speed) times the step softplus(x +
 * bias), or, with a bound, minus that times the sigmoid of exp(speed) (x + bias); rate is the
 * sigmoid of y times `most`; y NULL: the step itself, as in state spaces, which have no bound.
 * Beside y a head may have d decays, of x [b s g r d] and bias [(g r d)], with one speed. */
DeltaGates delta_gates(Graph *g, Value *x, Value *y, Value *speed, Value *bias,
                       const DeltaGatesAttrs *attrs);
#endif
