/* norm.h - normalisation of the last dimension; weight and bias [d] may be NULL. */
#ifndef OPS_NORM_H
#define OPS_NORM_H
#include "graph/op.h"

Value *rms_norm(Graph *g, Value *x, Value *weight, Value *bias, double eps);
Value *layer_norm(Graph *g, Value *x, Value *weight, Value *bias, double eps);

/* Attributes of both, and of their gradients. */
typedef struct NormAttrs {
    double eps;
    bool weight, bias; /* which of the two are inputs */
} NormAttrs;
#endif
