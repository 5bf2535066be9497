/* grouped_linear.h - a linear layer whose weight depends on the row. */
#ifndef OPS_GROUPED_LINEAR_H
#define OPS_GROUPED_LINEAR_H
#include "graph/op.h"

/* x [m k] times the transposed weight [e n k] of the rows' expert: [m n]. Expert j has the rows
 * start[j] up to start[j + 1]; behind the last one the result is 0. */
Value *grouped_linear(Graph *g, Value *x, Value *weight, Value *start);

/* Attributes of "grouped_linear". */
typedef struct GroupedLinear {
    bool transposed; /* the weight is [e k n]: the gradient of x */
} GroupedLinear;
#endif
