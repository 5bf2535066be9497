/* clamped_swiglu.h - gated activations whose factors are bounded: that of gpt-oss (OpenAI 2025),
 * and swiglu. */
#ifndef OPS_CLAMPED_SWIGLU_H
#define OPS_CLAMPED_SWIGLU_H
#include "graph/op.h"

/* g sigmoid(1.702 g) (u + 1) with g = min(gate, limit) and u = up within +-limit. */
Value *clamped_swiglu(Graph *g, Value *gate, Value *up, double limit);
/* g sigmoid(g) u of the same. */
Value *bounded_swiglu(Graph *g, Value *gate, Value *up, double limit);

#define CLAMPED_SWIGLU_ALPHA 1.702

/* Attributes of "clamped_swiglu" and of its gradient. */
typedef struct ClampedSwiglu {
    double limit;
    bool plain; /* swiglu */
} ClampedSwiglu;
#endif
