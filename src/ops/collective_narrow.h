/* collective_narrow.h - sums over ranks in F32 of parts that travel in a narrower dtype.
 *
 * A rank's own part is not rounded, and neither is what the parts give. They are added in the order
 * of the ranks. */
#ifndef OPS_COLLECTIVE_NARROW_H
#define OPS_COLLECTIVE_NARROW_H
#include "device/device.h"

/* `in` holds counts[r] elements for rank r, one after the other; `out` becomes the sum of all parts
 * for this rank. `scratch` has narrow_scatter_bytes. A status of kernels. */
size_t narrow_scatter_bytes(int ranks, int64_t n, int64_t largest, Dtype wire);
int narrow_scatter(const Launch *l, Dtype wire, const float *in, const int64_t *counts, float *out,
                   void *scratch);
/* n elements of `x` become the sums over all ranks, rounded to `wire`, on all of them.
 */
size_t narrow_sum_bytes(int ranks, int64_t n, Dtype wire);
int narrow_sum(const Launch *l, Dtype wire, float *x, int64_t n, void *scratch);
#endif
