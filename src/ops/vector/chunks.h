/* chunks.h - cuts elements or rows into tasks for the thread pool.
 *
 * Tasks are of fixed size, whatever the number of threads, so that sums over tasks come out the
 * same. */
#ifndef OPS_VECTOR_CHUNKS_H
#define OPS_VECTOR_CHUNKS_H
#include "base/thread.h"
#include "device/device.h"
#include "ops/vector/vector.h"

/* Elements per task: long enough to hide the claim, short enough to share the work. */
enum { CHUNK = 16384 };

typedef struct Range {
    int64_t from, to;
} Range;

INLINE int64_t chunk_count(int64_t total, int64_t size)
{
    return (total + size - 1) / size;
}

INLINE Range chunk(int64_t total, int64_t size, int64_t i)
{
    int64_t from = i * size;
    return (Range){ from, total - from < size ? total : from + size };
}

/* Rows of `width` elements that make about CHUNK elements. */
INLINE int64_t chunk_rows(int64_t width)
{
    return width >= CHUNK ? 1 : CHUNK / (width > 0 ? width : 1);
}

/* True if a launch's floats are all F32 or BF16: what kernels with "any" in their row can serve. */
INLINE bool floats_fit(const Launch *l)
{
    for (int k = 0; k < l->n_in + l->n_out; k++) {
        Dtype t = k < l->n_in ? l->in[k].dtype : l->out[k - l->n_in].dtype;
        if (dtype_is_float(t) && t != F32 && t != BF16) return false;
    }
    return true;
}

/* What stands in results that are added to. */
INLINE Vec vec_before(const Launch *l, int k, int64_t i, int64_t n)
{
    if (!launch_adds(l, k)) return vec_set(0);
    return vec_get(l->out[k].dtype, l->out[k].data, i, n);
}

#endif
