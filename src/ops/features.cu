/* features.cu - rows of features cut out, widened and joined, on a GPU. A thread per element of the
 * result. */
#include "device/cuda/kernel.h"
extern "C" {
#include "ops/features.h"
}

__device__ static int64_t width(const CallTensor &t)
{
    return t.size[t.n_dims - 1];
}

/* slice_features (from >= 0 features further on), and pad_features. */
__device__ static void move_features(const Call &c, int64_t from)
{
    const CallTensor &x = c.in[0], &y = c.out[0];
    const int64_t n = width(x), d = width(y);
    for (int64_t i = thread_number(); i < y.count; i += all_threads()) {
        const int64_t j = i % d + from;
        put(y, i, j >= 0 && j < n ? get(x, i / d * n + j) : 0);
    }
}

KERNEL(slice_features_kernel, 256)
{
    move_features(c, attrs_of<PlaceOfFeatures>(c).from);
}

KERNEL(pad_features_kernel, 256)
{
    move_features(c, -attrs_of<PlaceOfFeatures>(c).from);
}

/* The row of what heads share that row i of heads begins with. */
__device__ static int64_t shared_row(const CallTensor &t, int64_t i)
{
    const int64_t rows = t.size[t.n_dims - 2], heads = t.size[t.n_dims - 3];
    return i / (heads * rows) * rows + i % rows;
}

KERNEL(join_features_kernel, 256)
{
    const CallTensor &x = c.in[0], &front = c.in[1], &y = c.out[0];
    const int64_t n = width(x), shared = width(front), d = n + shared;
    for (int64_t i = thread_number(); i < y.count; i += all_threads()) {
        const int64_t row = i / d, j = i % d;
        put(y, i,
            j < shared ? get(front, shared_row(y, row) * shared + j)
                       : get(x, row * n + j - shared));
    }
}

KERNEL(join_features_grad_kernel, 256)
{
    const CallTensor &dy = c.in[0], &to = c.out[0];
    const int64_t d = width(dy), n = width(to), rows = dy.size[dy.n_dims - 2],
                  heads = dy.size[dy.n_dims - 3];
    for (int64_t i = thread_number(); i < to.count; i += all_threads()) {
        const int64_t row = i / n;
        float sum = 0;
        for (int64_t k = 0; k < heads; k++)
            sum += get(dy, ((row / rows * heads + k) * rows + row % rows) * d + i % n);
        put(to, i, sum);
    }
}
