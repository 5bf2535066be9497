/* exp_dot.h - how much counts as a learned product of two vectors says. */
#ifndef OPS_EXP_DOT_H
#define OPS_EXP_DOT_H
#include "graph/op.h"

/* exp(a . b) of two vectors [d], [1] in f32 (f64). */
Value *exp_dot(Graph *g, Value *a, Value *b);
#endif
