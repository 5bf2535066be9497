/* fixed_decays_fast.c - decays of linear attention that are fixed for each head, without a look at
 * what only gives their sizes. */
#include "ops/fixed_decays.h"
#include "ops/kernels.h"

static int fill(const Launch *l)
{
    float *decay = l->out[0].data, *rate = l->out[1].data;
    const int64_t n = tensor_count(&l->out[0]), heads = l->out[0].size[2] * l->out[0].size[3];
    for (int64_t h = 0; h < heads; h++) {
        const float of_head = (float)-fixed_decay_of(l, h);
        for (int64_t i = h; i < n; i += heads) decay[i] = of_head, rate[i] = 1;
    }
    return KERNEL_OK;
}

/* clang-format off */
const KernelDef TABLE[] = {
    { "fixed_decays", "cpu", "any>f32 f32", LEVEL, fill, NULL, NULL },
    { 0 },
};
/* clang-format on */
