/* soft_cap_fast.c - soft_cap in single precision; compiled once for each instruction set. */
#include "ops/kernels.h"
#include "ops/soft_cap.h"

static int forward(const Launch *l)
{
    const float cap = (float)((const SoftCap *)l->attrs)->cap, *x = l->in[0].data;
    float *y = l->out[0].data;
    for (int64_t i = 0, n = tensor_count(&l->in[0]); i < n; i++) y[i] = cap * tanhf(x[i] / cap);
    return KERNEL_OK;
}

const KernelDef TABLE[] = {
    { "soft_cap", "cpu", "f32>f32", LEVEL, forward, NULL, NULL },
    { 0 },
};
