/* relu.h - max(x, 0), and its square, which many feed-forward layers of today use. */
#ifndef OPS_RELU_H
#define OPS_RELU_H
#include "graph/op.h"

Value *relu(Graph *g, Value *x);
Value *relu_squared(Graph *g, Value *x); /* So et al. 2021 */
#endif
