/* sequence.cu - rows of a sequence joined, cut out, averaged and repeated, on a GPU; patches of
 * images. A thread per element of the result. */
#include "device/cuda/kernel.h"
extern "C" {
#include "ops/patches.h"
#include "ops/sequence.h"
}

KERNEL(join_row_kernel, 256)
{
    const CallTensor &x = c.in[0];
    const int64_t s = x.size[1], d = x.size[2], in_front = attrs_of<JoinRow>(c).in_front;
    for (int64_t i = thread_number(); i < c.out[0].count; i += all_threads()) {
        const int64_t b = i / ((s + 1) * d), row = i / d % (s + 1) - in_front;
        const bool is_joined = row < 0 || row == s;
        put(c.out[0], i, is_joined ? get(c.in[1], i % d) : get(x, (b * s + row) * d + i % d));
    }
}

KERNEL(join_row_grad_kernel, 256)
{
    const CallTensor &dy = c.in[0];
    const int64_t s = dy.size[1], d = dy.size[2];
    const int64_t row = attrs_of<JoinRow>(c).in_front ? 0 : s - 1;
    for (int64_t j = thread_number(); j < d; j += all_threads()) {
        float sum = 0;
        for (int64_t b = 0; b < dy.size[0]; b++) sum += get(dy, (b * s + row) * d + j);
        put(c.out[0], j, sum);
    }
}

/* slice_rows (from >= 0 rows further on), and pad_rows, its gradient. */
__device__ static void move_rows(const Call &c, int64_t from)
{
    const CallTensor &x = c.in[0], &y = c.out[0];
    const int64_t d = x.size[2];
    for (int64_t i = thread_number(); i < y.count; i += all_threads()) {
        const int64_t b = i / (y.size[1] * d), row = i / d % y.size[1] + from;
        const bool is_there = row >= 0 && row < x.size[1];
        put(y, i, is_there ? get(x, (b * x.size[1] + row) * d + i % d) : 0);
    }
}

KERNEL(slice_rows_kernel, 256)
{
    move_rows(c, attrs_of<SliceRows>(c).from);
}

KERNEL(pad_rows_kernel, 256)
{
    move_rows(c, -attrs_of<SliceRows>(c).from);
}

KERNEL(later_ids_kernel, 256)
{
    const LaterIds &a = attrs_of<LaterIds>(c);
    const CallTensor &x = c.in[0];
    const int64_t s = x.size[1];
    for (int64_t i = thread_number(); i < x.count; i += all_threads())
        set(c.out[0], i, i % s + a.n < s ? get_int(x, i + a.n) : (int32_t)a.after);
}

KERNEL(ids_below_kernel, 256)
{
    const int64_t n = attrs_of<IdsBelow>(c).n;
    const CallTensor &x = c.in[0];
    for (int64_t i = thread_number(); i < x.count; i += all_threads()) {
        const int32_t id = get_int(x, i);
        set(c.out[0], i, id < n ? id : 0);
    }
}

KERNEL(mean_rows_kernel, 256)
{
    const CallTensor &x = c.in[0];
    const int64_t s = x.size[1], d = x.size[2];
    for (int64_t i = thread_number(); i < c.out[0].count; i += all_threads()) {
        float sum = 0;
        for (int64_t k = 0; k < s; k++) sum += get(x, (i / d * s + k) * d + i % d);
        put(c.out[0], i, sum / (float)s);
    }
}

KERNEL(mean_rows_grad_kernel, 256)
{
    const CallTensor &dx = c.out[0];
    const int64_t s = dx.size[1], d = dx.size[2];
    for (int64_t i = thread_number(); i < dx.count; i += all_threads())
        put(dx, i, get(c.in[0], i / (s * d) * d + i % d) / (float)s);
}

KERNEL(repeat_rows_kernel, 256)
{
    const int64_t n = c.in[0].count;
    for (int64_t i = thread_number(); i < c.out[0].count; i += all_threads())
        put(c.out[0], i, get(c.in[0], i % n));
}

KERNEL(repeat_rows_grad_kernel, 256)
{
    const int64_t n = c.out[0].count;
    for (int64_t i = thread_number(); i < n; i += all_threads()) {
        float sum = 0;
        for (int64_t b = 0; b < c.in[0].size[0]; b++) sum += get(c.in[0], b * n + i);
        put(c.out[0], i, sum);
    }
}

KERNEL(patches_kernel, 256)
{
    const Patches &a = attrs_of<Patches>(c);
    const CallTensor &x = c.in[0], &y = c.out[0];
    const int64_t width = x.size[3], across = (width - a.size) / a.stride + 1;
    for (int64_t i = thread_number(); i < y.count; i += all_threads()) {
        const int64_t k = i % y.size[2], p = i / y.size[2] % y.size[1],
                      b = i / (y.size[2] * y.size[1]);
        const int64_t channel = k / (a.size * a.size);
        const int64_t row = p / across * a.stride + k / a.size % a.size,
                      column = p % across * a.stride + k % a.size;
        put(y, i, get(x, ((b * x.size[1] + channel) * x.size[2] + row) * width + column));
    }
}
