/* optimize.h - gradient norm, clipping and the optimizer's update of every parameter. Outputs:
 * "grad_norm". */
#ifndef PASSES_OPTIMIZE_H
#define PASSES_OPTIMIZE_H
#include "graph/pass.h"

struct Optimizer;

typedef struct Optimize {
    const struct Optimizer *optimizer;
    int64_t norm_type; /* 1, 2, or 0 for the maximum */
    double max_norm;   /* 0: no clipping */
    bool is_scaled;    /* gradients are RunTime.gradient_scale times too large */
} Optimize;
extern const PassDef pass_optimize;
#endif
