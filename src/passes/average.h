/* average.h - an exponential moving average of the parameters, for evaluation and generation. */
#ifndef PASSES_AVERAGE_H
#define PASSES_AVERAGE_H
#include "graph/pass.h"

#define AVERAGE "ema." /* before the name of a parameter */

typedef struct Average {
    double decay;
    bool evaluation; /* evaluations and generation read the averages */
} Average;
/* Training keeps averages, as states "ema.{parameter}". */
extern const PassDef pass_average;
/* Where Purpose.averages, the averages stand for the parameters. */
extern const PassDef pass_read_averages;
#endif
