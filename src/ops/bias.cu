/* bias.cu - a vector along the last dimension, and its gradient, on a GPU. */
#include "device/cuda/kernel.h"

KERNEL(add_bias_kernel, 256)
{
    const int64_t n = c.out[0].count, d = c.in[1].count;
    for (int64_t i = EIGHT * thread_number(); i < n; i += EIGHT * all_threads()) {
        Eight x = get_eight(c.in[0], i, n - i);
        int64_t column = i % d;
#pragma unroll
        for (int k = 0; k < EIGHT; k++) {
            x.x[k] += get(c.in[1], column);
            column = column + 1 == d ? 0 : column + 1;
        }
        put_eight(c.out[0], i, n - i, x);
    }
}

/* Sums of columns in two steps, in a fixed order: number[0] pieces of rows give sums in scratch
 * [piece][column], and a second kernel adds those up. A thread has one column of one piece. */
KERNEL(column_sums_kernel, 256)
{
    const int64_t d = c.out[0].count, rows = c.in[0].count / d, n_pieces = c.number[0];
    float *sum = (float *)c.scratch;
    for (int64_t i = thread_number(); i < d * n_pieces; i += all_threads()) {
        const int64_t piece = i / d, column = i % d;
        const int64_t from = rows * piece / n_pieces, to = rows * (piece + 1) / n_pieces;
        float total = 0;
        for (int64_t row = from; row < to; row++) total += get(c.in[0], row * d + column);
        sum[i] = total;
    }
}

/* Of scratch [number[0]][result k][column], for as many results as there are from number[1] on. */
KERNEL(join_sums_kernel, 256)
{
    const int64_t n_pieces = c.number[0], first = c.number[1], d = c.out[first].count;
    const int64_t n_sums = c.n_out - first;
    const float *sum = (const float *)c.scratch;
    for (int64_t i = thread_number(); i < n_sums * d; i += all_threads()) {
        float total = 0;
        for (int64_t piece = 0; piece < n_pieces; piece++) total += sum[piece * n_sums * d + i];
        put(c.out[first + i / d], i % d, total);
    }
}
