/* ops_profile.h - `run --profile_ops`: where the time of some microbatches goes. */
#ifndef WATCH_OPS_PROFILE_H
#define WATCH_OPS_PROFILE_H
#include "watch/profiler.h"

/* Looks at `n` microbatches after the first one, or at what there is, and prints the tables of
 * node_trace.h to `to` when they are done. It needs no particular number. */
Profiler *ops_profile_new(Arena *a, int64_t n, FILE *to);
#endif
