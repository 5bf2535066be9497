/* average.h - a moving average, one step further. */
#ifndef OPS_AVERAGE_H
#define OPS_AVERAGE_H
#include "graph/op.h"

/* In place: average = decay average + (1 - decay) x; before the first update of a training x
 * itself. */
void average(Graph *g, Value *x, Value *average, double decay);

/* Attributes of "average". */
typedef struct AverageDecay {
    double decay;
} AverageDecay;
#endif
