/* offset.h - a constant added to every element. */
#ifndef OPS_OFFSET_H
#define OPS_OFFSET_H
#include "graph/op.h"

/* x + by, in f32 or better: norms whose weight is stored as its distance to 1. */
Value *offset(Graph *g, Value *x, double by);

/* Attributes of "offset". */
typedef struct Offset {
    double by;
} Offset;
#endif
