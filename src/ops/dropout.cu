/* dropout.cu - dropout on a GPU, with the masks of the CPU. */
#include "device/cuda/kernel.h"
extern "C" {
#include "ops/dropout.h"
}

KERNEL(dropout_kernel, 256)
{
    const Dropout &a = attrs_of<Dropout>(c);
    const CallTensor &x = c.in[0];
    const uint64_t key = dropout_key_of(c.now, a.salt);
    const int64_t before = c.now->microbatch * whole_count(c, x);
    const float factor = (float)(1 / (1 - a.p));
    for (int64_t i = thread_number(); i < x.count; i += all_threads()) {
        const bool is_kept = dropout_keeps_it(key, before + whole_element(c, x, i), a.p);
        put(c.out[0], i, is_kept ? get(x, i) * factor : 0);
    }
}
