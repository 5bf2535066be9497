/* sigmoid_gate.h - how much of something counts, as a number between 0 and 1 for each row of it. */
#ifndef OPS_SIGMOID_GATE_H
#define OPS_SIGMOID_GATE_H
#include "graph/op.h"

/* x [* d], each row times the sigmoid of its gate [*]. With d = 1 each element has its own. */
Value *sigmoid_gate(Graph *g, Value *x, Value *gate);
#endif
