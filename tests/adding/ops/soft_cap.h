/* soft_cap.h - bounds values smoothly. */
#ifndef OPS_SOFT_CAP_H
#define OPS_SOFT_CAP_H
#include "graph/op.h"

/* cap * tanh(x / cap) */
Value *soft_cap(Graph *g, Value *x, double cap);

/* Attributes of "soft_cap". */
typedef struct SoftCap {
    double cap;
} SoftCap;
#endif
