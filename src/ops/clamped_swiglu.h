/* clamped_swiglu.h - the gated activation of gpt-oss (OpenAI 2025), whose factors are bounded. */
#ifndef OPS_CLAMPED_SWIGLU_H
#define OPS_CLAMPED_SWIGLU_H
#include "graph/op.h"

/* g sigmoid(1.702 g) (u + 1) with g = min(gate, limit) and u = up within +-limit. */
Value *clamped_swiglu(Graph *g, Value *gate, Value *up, double limit);

#define CLAMPED_SWIGLU_ALPHA 1.702

/* Attributes of "clamped_swiglu" and of its gradient. */
typedef struct ClampedSwiglu {
    double limit;
} ClampedSwiglu;
#endif
