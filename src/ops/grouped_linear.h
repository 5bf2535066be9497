/* grouped_linear.h - a linear layer whose weight depends on the row. */
#ifndef OPS_GROUPED_LINEAR_H
#define OPS_GROUPED_LINEAR_H
#include "graph/op.h"

/* Attributes of "grouped_linear" and "grouped_outer". */
typedef struct GroupedLinear {
    bool transposed; /* the weight is [(ge) k n]: the gradient of x */
    int64_t n_rows;  /* that are in use, on average over ranks: for FLOPs */
} GroupedLinear;

extern const OpDef op_grouped_linear;
/* Rows x [g r k] times the transposed weight [(ge) n k] of their expert: [g r n]. Along g ranks
 * have different rows and experts. `of` [g r] is the expert of a row, counted from the first that
 * its rank has, in rising order; -1 after the last row, where the result is 0. `n_rows` of a
 * microbatch are in use. */
Value *grouped_linear(Graph *g, Value *x, Value *weight, Value *of, int64_t n_rows);
/* The row after the last one of an expert, given its first one. */
int64_t grouped_end(const Tensor *of, int64_t expert, int64_t first);
#endif
