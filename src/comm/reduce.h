/* reduce.h - sums and maxima of the parts of several ranks, the same bits for every transport. */
#ifndef COMM_REDUCE_H
#define COMM_REDUCE_H
#include "comm/comm.h"

/* Elements from..to-1 of every `out` become the reduction of these elements of all parts, in their
 * order. An `out` may be a part. Floats are added in F32, F64 in F64, integers exactly; a NaN is
 * the largest. */
void reduce_range(Dtype t, ReduceOp op, const void *const *part, int n_parts, void *const *out,
                  int n_out, int64_t from, int64_t to);

/* The slice of n elements that a rank reduces for all: whole cache lines. */
void reduce_slice(int64_t n, int size, int rank, int64_t *from, int64_t *to);

#endif
