/* reduce.c - sums and maxima of the parts of several ranks, the same bits for every transport.
 *
 * The parts are taken in the order of ranks, by blocks that stay in the first cache: converted to
 * the dtype of sums, added there, and rounded once. */
#include "comm/reduce.h"
#include "base/thread.h"
#include "tensor/dtype.h"
#include <string.h>

enum { BLOCK = 512, GRAIN = 64 };

static Dtype dtype_of_accumulator(Dtype t)
{
    if (t == I64) return I64;
    return dtype_is_float(t) ? dtype_for_sums(t) : F64; /* F64 holds all other integers */
}

static void take_f32(float *sum, const float *x, int64_t n, ReduceOp op)
{
    if (op == REDUCE_SUM)
        for (int64_t i = 0; i < n; i++) sum[i] += x[i];
    else
        for (int64_t i = 0; i < n; i++) sum[i] = x[i] > sum[i] || x[i] != x[i] ? x[i] : sum[i];
}

static void take_f64(double *sum, const double *x, int64_t n, ReduceOp op)
{
    if (op == REDUCE_SUM)
        for (int64_t i = 0; i < n; i++) sum[i] += x[i];
    else
        for (int64_t i = 0; i < n; i++) sum[i] = x[i] > sum[i] || x[i] != x[i] ? x[i] : sum[i];
}

/* Sums that are too large wrap around, on all ranks alike. */
static void take_i64(int64_t *sum, const int64_t *x, int64_t n, ReduceOp op)
{
    if (op == REDUCE_SUM)
        for (int64_t i = 0; i < n; i++) sum[i] = (int64_t)((uint64_t)sum[i] + (uint64_t)x[i]);
    else
        for (int64_t i = 0; i < n; i++) sum[i] = x[i] > sum[i] ? x[i] : sum[i];
}

static void take(Dtype t, void *sum, const void *x, int64_t n, ReduceOp op)
{
    if (t == F32)
        take_f32(sum, x, n, op);
    else if (t == F64)
        take_f64(sum, x, n, op);
    else
        take_i64(sum, x, n, op);
}

static const void *at(const void *base, Dtype t, int64_t i)
{
    return (const char *)base + dtype_size(t) * (size_t)i;
}

void reduce_range(Dtype t, ReduceOp op, const void *const *part, int n_parts, void *const *out,
                  int n_out, int64_t from, int64_t to)
{
    _Alignas(64) double sum[BLOCK], converted[BLOCK]; /* of any accumulator's dtype */
    const Dtype wide = dtype_of_accumulator(t);
    for (int64_t i = from; i < to; i += BLOCK) {
        int64_t n = to - i < BLOCK ? to - i : BLOCK;
        dtype_convert(wide, sum, t, at(part[0], t, i), n);
        for (int p = 1; p < n_parts; p++) {
            const void *x = at(part[p], t, i);
            if (wide != t) dtype_convert(wide, converted, t, x, n);
            take(wide, sum, wide == t ? x : converted, n, op);
        }
        for (int k = 0; k < n_out; k++) dtype_convert(t, (void *)at(out[k], t, i), wide, sum, n);
    }
}

void reduce_slice(int64_t n, int size, int rank, int64_t *from, int64_t *to)
{
    split_range((n + GRAIN - 1) / GRAIN, size, rank, from, to);
    *from *= GRAIN;
    *to = *to * GRAIN < n ? *to * GRAIN : n;
    if (*from > *to) *from = *to;
}
