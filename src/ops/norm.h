/* norm.h - normalisation of the last dimension; weight and bias [d] may be NULL. */
#ifndef OPS_NORM_H
#define OPS_NORM_H
#include "graph/op.h"

Value *rms_norm(Graph *g, Value *x, Value *weight, Value *bias, double eps);
Value *layer_norm(Graph *g, Value *x, Value *weight, Value *bias, double eps);

/* The gradient that node `grad` makes, and what else x gets: results x's gradient + other, perhaps
 * a copy of that in a narrower dtype, gradients of weight and bias. NULL: not a norm's gradient. */
Node *norm_grad_add(Graph *g, const Node *grad, Value *other, bool has_copy);
/* Whether `n` is one of those, without a copy. */
bool is_norm_grad_add(const Node *n);

/* Attributes of both, and of their gradients. */
typedef struct NormAttrs {
    double eps;
    bool weight, bias; /* which of the two are inputs */
} NormAttrs;
#endif
