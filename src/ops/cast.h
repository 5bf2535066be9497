/* cast.h - the same values in another dtype. */
#ifndef OPS_CAST_H
#define OPS_CAST_H
#include "graph/op.h"

extern const OpDef op_cast;

Value *cast(Graph *g, Value *x, Dtype t);
#endif
