/* dropout.h - inverted dropout; dropout_mask.h tells which elements it keeps. */
#ifndef OPS_DROPOUT_H
#define OPS_DROPOUT_H
#include "graph/op.h"

/* The mask is a function of (seed, step, salt, the sample's place in the step, element). */
Value *dropout(Graph *g, Value *x, double p, int64_t salt);

/* Attributes of "dropout". */
typedef struct Dropout {
    double p;
    int64_t salt;
} Dropout;
#endif
