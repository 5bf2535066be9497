/* compare.h - the one place that compares results with golden values. */
#ifndef TESTS_GOLDEN_COMPARE_H
#define TESTS_GOLDEN_COMPARE_H
#include "checkpoint/safetensors.h"
#include "test.h"

typedef struct Difference {
    double max, rms; /* of the difference */
    double expected_max, expected_rms;
} Difference;

/* Fails when shapes differ or a number that should be finite is not. */
Difference tensor_difference(const char *name, const Tensor *got, const Tensor *expected);
/* Fails with name, both numbers and the bound when `value` exceeds `bound` or is NaN. */
void assert_within(const char *name, const char *what, double value, double bound);
/* The largest absolute value of all tensors whose name begins with `prefix`. */
double largest_absolute(const Safetensors *f, const char *prefix);
#endif
