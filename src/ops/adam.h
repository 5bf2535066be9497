/* adam.h - one optimizer step of Adam or AdamW. */
#ifndef OPS_ADAM_H
#define OPS_ADAM_H
#include "graph/op.h"

typedef struct AdamSettings {
    double beta1, beta2, eps, weight_decay;
    bool decoupled; /* AdamW: p *= 1 - lr*wd; else Adam: gradient += wd*p */
    int64_t group;  /* of RunTime.rate */
} AdamSettings;
/* In place: reads the gradient times `factor` (scalar f64), updates param, m, v, clears the
 * gradient. Bias correction from RunTime.updates (+1); the rate is that of the group. `m` may be
 * BF16: it is rounded after the parameter was updated by it. */
void adam(Graph *g, Value *param, Value *grad, Value *m, Value *v, Value *factor,
          const AdamSettings *attrs);
#endif
