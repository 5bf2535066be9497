/* fixed_decays.cu - decays of linear attention that are fixed for each head, on a GPU. */
#include "device/cuda/kernel.h"
#include "ops/fixed_decays.h"

KERNEL(fixed_decays_kernel, 256)
{
    const CallTensor &y = c.out[0];
    const int64_t repeat = y.size[3], n_repeat = whole_size(c, y, 3), n = whole_size(c, y, 2) * n_repeat;
    for (int64_t i = thread_number(); i < y.count; i += all_threads()) {
        const int64_t g = whole_index(c, y, 2, i / repeat % y.size[2]), r = whole_index(c, y, 3, i % repeat);
        put(y, i, (float)-fixed_decay(&attrs_of<FixedDecays>(c), g * n_repeat + r, n));
        put(c.out[1], i, 1.0f);
    }
}
