/* delta_step.h - the step that decays are made of, for the reference and the kernels of the CPU. */
#ifndef OPS_DELTA_STEP_H
#define OPS_DELTA_STEP_H
#include "ops/delta_gates.h"
#include <math.h>

static inline double delta_sigmoid(double x)
{
    return 1 / (1 + exp(-x));
}

/* The step that x + bias makes, and its slope there. */
static inline double delta_step(const DeltaGatesAttrs *a, double x, double *slope)
{
    const double step = x > 30 ? x : log1p(exp(x)); /* softplus */
    *slope = 0;
    if (step < a->least_step) return a->least_step;
    if (a->most_step > 0 && step > a->most_step) return a->most_step;
    *slope = delta_sigmoid(x);
    return step;
}

/* A decay is -fast times `step`. It changes by -fast times `slope` with x, and by -fast times
 * `by_speed` with the speed. */
typedef struct DeltaDecay {
    double fast, step, slope, by_speed;
} DeltaDecay;

static inline DeltaDecay delta_decay(const DeltaGatesAttrs *a, double x, double speed)
{
    DeltaDecay d = { .fast = exp(speed) };
    if (a->bound > 0) {
        const double s = delta_sigmoid(d.fast * x), slope = a->bound * s * (1 - s) * d.fast;
        return (DeltaDecay){ 1, a->bound * s, slope, slope * x };
    }
    d.step = d.by_speed = delta_step(a, x, &d.slope);
    return d;
}

#endif
