/* fill.h - constants, and the gradient of the loss. */
#ifndef OPS_FILL_H
#define OPS_FILL_H
#include "graph/op.h"

/* A constant with the dims and dtype of `like`; the value is not kept alive for it. */
Value *fill(Graph *g, const Value *like, double value);
/* The scalar RunTime.loss_scale in the dtype of the loss. */
Value *loss_seed(Graph *g, Dtype t);

/* Attributes of "fill". */
typedef struct Fill {
    double value;
    int dtype;
} Fill;
#endif
