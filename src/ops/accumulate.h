/* accumulate.h - adds a value to an accumulator. */
#ifndef OPS_ACCUMULATE_H
#define OPS_ACCUMULATE_H
#include "graph/op.h"

void accumulate(Graph *g, Value *x, Value *into);

extern const OpDef op_accumulate;
#endif
