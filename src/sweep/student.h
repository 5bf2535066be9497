/* student.h - Student's t distribution, for confidence intervals of a few samples. */
#ifndef SWEEP_STUDENT_H
#define SWEEP_STUDENT_H
#include <stdint.h>

/* The part of the distribution below t, with `df` > 0 degrees of freedom. */
double student_below(double t, double df);
/* The t below which this part lies, 0 < part < 1. */
double student_quantile(double part, double df);

/* Mean of n values and its confidence interval; NaN where n is too small to tell. */
typedef struct Estimate {
    int64_t n;
    double mean, std, low, high;
    double p; /* probability of a mean so far from 0 by chance, if it is 0: two-sided */
} Estimate;

Estimate estimate_mean(const double *x, int64_t n, double confidence);
#endif
