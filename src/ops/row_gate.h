/* row_gate.h - how much of something counts, as a number for each row of it. */
#ifndef OPS_ROW_GATE_H
#define OPS_ROW_GATE_H
#include "graph/op.h"

/* x [* d], each row times the sigmoid, between 0 and 1, of its gate [*]. With d = 1 each element
 * has its own. */
Value *sigmoid_gate(Graph *g, Value *x, Value *gate);
/* Likewise by log(1 + e^gate), above 0. */
Value *softplus_gate(Graph *g, Value *x, Value *gate);

/* Attributes of "row_gate" and of its gradient. */
typedef struct RowGate {
    bool softplus; /* else sigmoids */
} RowGate;
#endif
