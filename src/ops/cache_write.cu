/* cache_write.cu - keys and values of new tokens after those of earlier ones, on a GPU. */
#include "device/cuda/kernel.h"
extern "C" {
#include "ops/cache_write.h"
}

KERNEL(cache_windows_kernel, 256)
{
    const CallTensor &cache = c.in[0], &x = c.in[1], &to = c.out[0];
    const int64_t n = x.size[1], cap = cache.size[1], row = x.count / (x.size[0] * n),
                  rate = attrs_of<CacheWindows>(c).rate;
    for (int64_t i = thread_number(); i < x.count; i += all_threads()) {
        const int64_t b = i / (n * row), rest = i % (n * row), at = first_position(c, b) / rate;
        if (at < 0 || at >= cap)
            fail(c, KERNEL_BAD_INDEX);
        else if (at + rest / row < cap)
            set(to, (b * cap + at) * row + rest, get(x, i));
    }
    if (to.data == cache.data) return;
    for (int64_t i = thread_number(); i < cache.count; i += all_threads()) {
        const int64_t s = i / row % cap, at = first_position(c, i / row / cap) / rate;
        if (s < at || s >= at + n) set(to, i, get(cache, i));
    }
}

KERNEL(cache_write_kernel, 256)
{
    const CallTensor &cache = c.in[0], &x = c.in[1], &to = c.out[0];
    const int64_t n = x.size[1], cap = cache.size[1], row = x.count / (x.size[0] * n);
    for (int64_t i = thread_number(); i < x.count; i += all_threads()) {
        const int64_t b = i / (n * row), rest = i % (n * row), at = first_position(c, b);
        if (at >= 0 && at + n <= cap)
            set(to, (b * cap + at) * row + rest, get(x, i));
        else
            fail(c, KERNEL_BAD_INDEX);
    }
    if (to.data == cache.data) return;
    for (int64_t i = thread_number(); i < cache.count; i += all_threads()) {
        const int64_t s = i / row % cap, at = first_position(c, i / row / cap);
        if (s < at || s >= at + n) set(to, i, get(cache, i));
    }
}
