/* scale_heads.h - heads, each times a number of its own. */
#ifndef OPS_SCALE_HEADS_H
#define OPS_SCALE_HEADS_H
#include "graph/op.h"

/* x [b s h e], factor [h]. With e = 1 each feature has its own. */
Value *scale_heads(Graph *g, Value *x, Value *factor);
#endif
