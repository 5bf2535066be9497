/* gradient_clipper.h - what gradient_clipper components choose: the norm, and whether to clip by
 * it. */
#ifndef OPTIM_GRADIENT_CLIPPER_H
#define OPTIM_GRADIENT_CLIPPER_H
#include "config/field.h"

typedef struct GradientClipper {
    int64_t norm_type;    /* 1, 2, or 0 for the maximum */
    double max_norm;      /* 0: only measured */
    ComponentList models; /* whose gradients */
} GradientClipper;
#endif
