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
    /* Of a gradient: the last input is added to that of x, which is written again, to result 1, and
     * added up over rows, as the last result. */
    bool adds, copies, sums;
} NormAttrs;

/* The gradient that node `grad` makes, and what else x gets: results x's gradient + other, perhaps
 * a copy of that in a narrower dtype, gradients of weight and bias, perhaps the sums over rows of
 * result 0. NULL: not a norm's gradient. */
Node *norm_grad_add(Graph *g, const Node *grad, Value *other, bool copies, bool sums);
/* NULL: not one of those. */
const NormAttrs *norm_grad_add_attrs(const Node *n);
#endif
