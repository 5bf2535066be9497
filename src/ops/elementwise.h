/* elementwise.h - sums, products and functions of single elements. */
#ifndef OPS_ELEMENTWISE_H
#define OPS_ELEMENTWISE_H
#include "graph/op.h"

extern const OpDef op_add, op_add_bias, op_add_bias_grad;
Value *add(Graph *g, Value *a, Value *b);
Value *mul(Graph *g, Value *a, Value *b);
Value *add_bias(Graph *g, Value *x, Value *bias); /* "*d,d->*d" */
Value *silu(Graph *g, Value *x);
Value *gelu(Graph *g, Value *x);                 /* exact: x Phi(x) */
Value *swiglu(Graph *g, Value *gate, Value *up); /* silu(gate) * up */
Value *scale(Graph *g, Value *x, double factor);

/* Attributes of "scale". */
typedef struct Scale {
    double factor;
} Scale;
#endif
