/* clip.h - numbers kept within a bound. */
#ifndef OPS_CLIP_H
#define OPS_CLIP_H
#include "graph/op.h"

extern const OpDef op_clip;

/* x [*], from -bound to bound; what is further away has no gradient. */
Value *clip(Graph *g, Value *x, double bound);

/* Attributes of "clip" and of its gradient. */
typedef struct Clip {
    double bound;
} Clip;
#endif
