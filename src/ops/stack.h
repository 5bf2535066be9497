/* stack.h - matrices of one shape as one value, and apart again. */
#ifndef OPS_STACK_H
#define OPS_STACK_H
#include "graph/op.h"

/* [n rows columns] of n matrices [rows columns]. */
Value *stack_matrices(Graph *g, int n, Value *const *x);
/* The matrices of x [n rows columns]: out[0] ... */
void unstack_matrices(Graph *g, Value *x, Value **out);
#endif
