/* cross_entropy.h - the loss of each token from logits. */
#ifndef OPS_CROSS_ENTROPY_H
#define OPS_CROSS_ENTROPY_H
#include "graph/op.h"

/* "*v,*->*"; 0 for ignored targets (tensor/target.h). Result f32 or better. */
Value *cross_entropy(Graph *g, Value *logits, Value *targets);
#endif
