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
    const int64_t per_sample = x.n_dims ? whole_count(c, x) / whole_size(c, x, 0) : 1;
    const float factor = (float)(1 / (1 - a.p));
    for (int64_t i = thread_number(); i < x.count; i += all_threads()) {
        const int64_t number =
            dropout_number_of(c.now, before + whole_element(c, x, i), per_sample);
        const bool is_kept = dropout_keeps_it(key, number, a.p);
        put(c.out[0], i, is_kept ? get(x, i) * factor : 0);
    }
}
