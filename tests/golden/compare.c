/* compare.c - differences between tensors, and failures that say how far off they were. */
#include "golden/compare.h"
#include <math.h>
#include <string.h>

Difference tensor_difference(const char *name, const Tensor *got, const Tensor *expected)
{
    if (!got || !expected)
        fail_msg("%s is missing in the %s values", name, got ? "golden" : "computed");
    if (got->n_dims != expected->n_dims)
        fail_msg("%s has %d dimensions, expected %d", name, got->n_dims, expected->n_dims);
    for (int d = 0; d < got->n_dims; d++)
        if (got->size[d] != expected->size[d]) fail_msg("%s: dimension %d differs", name, d);
    Difference r = { 0 };
    int64_t n = tensor_count(got);
    for (int64_t i = 0; i < n; i++) {
        double x = dtype_get(got->dtype, got->data, i),
               y = dtype_get(expected->dtype, expected->data, i);
        if (!isfinite(x) || !isfinite(y))
            fail_msg("%s[%lld] is %g, expected %g", name, (long long)i, x, y);
        r.max = fmax(r.max, fabs(x - y));
        r.expected_max = fmax(r.expected_max, fabs(y));
        r.rms += (x - y) * (x - y);
        r.expected_rms += y * y;
    }
    r.rms = sqrt(r.rms / (double)n);
    r.expected_rms = sqrt(r.expected_rms / (double)n);
    return r;
}

void assert_within(const char *name, const char *what, double value, double bound)
{
    if (!(value <= bound)) fail_msg("%s: %s is off by %g, allowed is %g", name, what, value, bound);
}

double largest_absolute(const Safetensors *f, const char *prefix)
{
    double most = 0;
    for (int64_t i = 0; i < f->n; i++) {
        if (strncmp(f->tensor[i].name, prefix, strlen(prefix))) continue;
        const Tensor *t = &f->tensor[i].tensor;
        for (int64_t k = 0; k < tensor_count(t); k++)
            most = fmax(most, fabs(dtype_get(t->dtype, t->data, k)));
    }
    return most;
}
