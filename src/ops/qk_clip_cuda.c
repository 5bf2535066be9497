/* qk_clip_cuda.c - starts the kernels of qk_clip.cu. */
#include "device/cuda/cuda.h"
#include "ops/kernels.h"
#include "ops/qk_clip.h"

static int per_element(const Launch *l, const char *kernel, size_t attrs_bytes)
{
    return cuda_run(l, kernel, attrs_bytes, cuda_blocks(l, tensor_count(&l->out[0]), 256), 256);
}

static int run_keep(const Launch *l)
{
    return per_element(l, "keep_largest_kernel", 0);
}

static int run_factors(const Launch *l)
{
    return per_element(l, "logit_factors_kernel", sizeof(LogitClip));
}

static int run_scale(const Launch *l)
{
    return per_element(l, "scale_param_rows_kernel", 0);
}

/* clang-format off */
const KernelDef qk_clip_cuda[] = {
    { "keep_largest", "cuda", "f32 f32>f32", CPU_SCALAR, run_keep, NULL, NULL },
    { "logit_factors", "cuda", "f32>f32", CPU_SCALAR, run_factors, NULL, NULL },
    { "scale_param_rows", "cuda", "any f32>any", CPU_SCALAR, run_scale, NULL, cuda_floats_fit },
    { 0 },
};
/* clang-format on */
