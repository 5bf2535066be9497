/* moves.c - copies, sums and conversions between places in the memory of a launch's device. */
#include "ops/moves.h"
#include <string.h>

enum { BLOCK = 256 };

/* NULL: the host's memory. */
static const Moves *moves_of(const Launch *l)
{
    return l->stream ? l->stream->moves : NULL;
}

int move_rows(const Launch *l, void *to, size_t to_step, const void *from, size_t from_step,
              size_t bytes, int64_t n)
{
    if (bytes == 0 || n == 0) return KERNEL_OK;
    if (moves_of(l)) return moves_of(l)->copy(l, to, to_step, from, from_step, bytes, n);
    for (int64_t i = 0; i < n; i++)
        memcpy((char *)to + (size_t)i * to_step, (const char *)from + (size_t)i * from_step, bytes);
    return KERNEL_OK;
}

int move_bytes(const Launch *l, void *to, const void *from, size_t bytes)
{
    return move_rows(l, to, bytes, from, bytes, bytes, 1);
}

int move_clear(const Launch *l, void *to, size_t bytes)
{
    if (bytes == 0) return KERNEL_OK;
    if (moves_of(l)) return moves_of(l)->clear(l, to, bytes);
    memset(to, 0, bytes);
    return KERNEL_OK;
}

static void add_to_f32(float *sum, const void *x, Dtype t, int64_t n)
{
    float block[BLOCK];
    for (int64_t at = 0; at < n; at += BLOCK) {
        const int64_t m = n - at < BLOCK ? n - at : BLOCK;
        dtype_convert(F32, block, t, (const char *)x + dtype_size(t) * (size_t)at, m);
        for (int64_t i = 0; i < m; i++) sum[at + i] += block[i];
    }
}

int move_add(const Launch *l, void *to, Dtype to_type, const void *from, Dtype from_type, int64_t n)
{
    if (n == 0) return KERNEL_OK;
    if (moves_of(l)) return moves_of(l)->convert(l, to, to_type, from, from_type, n, true);
    if (to_type == F32 && from_type != F64)
        add_to_f32(to, from, from_type, n);
    else
        for (int64_t i = 0; i < n; i++)
            dtype_set(to_type, to, i, dtype_get(to_type, to, i) + dtype_get(from_type, from, i));
    return KERNEL_OK;
}

int move_convert(const Launch *l, void *to, Dtype to_type, const void *from, Dtype from_type,
                 int64_t n)
{
    if (n == 0) return KERNEL_OK;
    if (moves_of(l)) return moves_of(l)->convert(l, to, to_type, from, from_type, n, false);
    dtype_convert(to_type, to, from_type, from, n);
    return KERNEL_OK;
}

int move_now(const Launch *l, void *to, const void *from, size_t bytes)
{
    if (bytes && moves_of(l)) return moves_of(l)->exchange(l, to, from, bytes);
    if (bytes) memcpy(to, from, bytes);
    return KERNEL_OK;
}
