/* check_kernels.h - `run --check`: each tuned kernel beside its reference, on the numbers of a run.
 */
#ifndef WATCH_CHECK_KERNELS_H
#define WATCH_CHECK_KERNELS_H
#include "watch/profiler.h"

/* Looks at `n` microbatches, or at what there is; prints how far each op was off at most to `to`.
 * An error names the first node that is further off than its dtype explains. */
Profiler *check_kernels_new(Arena *a, int64_t n, FILE *to);
#endif
