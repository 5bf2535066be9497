/* rope.cu - rotary positions on a GPU: tables, and the turning of pairs. */
#include "device/cuda/kernel.h"
extern "C" {
#include "ops/rope.h"
}

/* The frequencies of a row are in scratch, from the host; attributes: what cosines and sines are
 * multiplied by. */
KERNEL(rope_table_kernel, 256)
{
    const float *frequency = (const float *)c.scratch;
    const double factor = *(const double *)(const void *)c.attrs;
    const int64_t d = c.out[0].size[1], half = d / 2;
    for (int64_t i = thread_number(); i < c.out[0].size[0] * half; i += all_threads()) {
        const int64_t p = i / half, j = i % half;
        const double angle = (double)p * frequency[j];
        put_double(c.out[0], p * d + j, factor * cos(angle));
        put_double(c.out[0], p * d + j + half, factor * sin(angle));
    }
}

/* A warp per row of d elements. */
KERNEL(rope_kernel, 256)
{
    const CallTensor &x = c.in[0], &table = c.in[1];
    const int64_t d = table.size[1], half = d / 2, n_rows = c.number[0];
    const float sign = attrs_of<Rope>(c).inverse ? -1 : 1;
    const unsigned inner = (unsigned)c.number[1], length = (unsigned)x.size[1];
    for (int64_t row = thread_number() / WARP; row < n_rows; row += all_threads() / WARP) {
        const unsigned token = (unsigned)row / inner;
        const int64_t p = whole_index(c, x, 1, token % length) + first_position(c, token / length);
        const bool is_there = p >= 0 && p < table.size[0];
        if (!is_there) fail(c, KERNEL_BAD_INDEX);
        for (int64_t j = threadIdx.x % WARP; j < half; j += WARP) {
            const float cosine = is_there ? get(table, p * d + j) : 1,
                        sine = is_there ? sign * get(table, p * d + j + half) : 0;
            const int64_t at = row * d + j;
            const float a = get(x, at), b = get(x, at + half);
            put(c.out[0], at, a * cosine - b * sine);
            put(c.out[0], at + half, b * cosine + a * sine);
        }
    }
}
