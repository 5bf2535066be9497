/* logit_cap.h - logits bent to stay within a bound. */
#ifndef OPS_LOGIT_CAP_H
#define OPS_LOGIT_CAP_H
#include "graph/op.h"

/* cap tanh(x / cap); in f32 or better, since a loss follows. */
Value *logit_cap(Graph *g, Value *x, double cap);

/* Attributes of "logit_cap" and of its gradient. */
typedef struct LogitCap {
    double cap;
} LogitCap;
#endif
