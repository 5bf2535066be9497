/* moves.cu - conversions and sums of what ranks give each other, on a GPU. */
#include "device/cuda/kernel.h"

__device__ static bool is_narrow(const CallTensor &t)
{
    return t.dtype == F32 || t.dtype == BF16 || t.dtype == F16;
}

/* in: n elements; out: as many of another dtype, or sums. */
KERNEL(move_kernel, 256)
{
    const CallTensor &x = c.in[0], &y = c.out[0];
    const int64_t n = x.count;
    const bool in_float = is_narrow(x) && is_narrow(y);
    for (int64_t i = EIGHT * thread_number(); i < n; i += EIGHT * all_threads()) {
        const int64_t m = n - i < EIGHT ? n - i : EIGHT;
        if (in_float)
            put_eight(y, i, m, get_eight(x, i, m));
        else
            for (int64_t k = i; k < i + m; k++) put_double(y, k, get_double(x, k));
    }
}

/* Results of attention to some keys, o [rows, d] with log-sum-exps, into the sums so far: in: o,
 * its log-sum-exps; out: sum, lse. A warp per row. */
KERNEL(ring_join_kernel, 256)
{
    const CallTensor &o = c.in[0], &more = c.in[1], &sum = c.out[0], &lse = c.out[1];
    const int64_t d = o.size[o.n_dims - 1];
    for (int64_t row = thread_number() / WARP; row < more.count; row += all_threads() / WARP) {
        const double a = get_double(lse, row), b = get_double(more, row), top = a > b ? a : b;
        if (isinf(b) && b < 0) continue; /* none of these keys is seen */
        const double of_a = exp(a - top), of_b = exp(b - top), total = of_a + of_b;
        for (int64_t i = row * d + threadIdx.x % WARP; i < (row + 1) * d; i += WARP)
            set(sum, i, (get_double(sum, i) * of_a + get_double(o, i) * of_b) / total);
        __syncwarp();
        if (threadIdx.x % WARP == 0) set(lse, row, top + log(total));
    }
}
