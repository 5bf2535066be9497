/* features_cuda.c - starts the kernels of features.cu. */
#include "device/cuda/cuda.h"
#include "ops/features.h"
#include "ops/kernels.h"

static int run(const Launch *l, const char *kernel, size_t attrs_bytes)
{
    return cuda_run(l, kernel, attrs_bytes, cuda_blocks(l, tensor_count(&l->out[0]), 256), 256);
}

static int run_slice(const Launch *l)
{
    return run(l, "slice_features_kernel", sizeof(PlaceOfFeatures));
}

static int run_pad(const Launch *l)
{
    return run(l, "pad_features_kernel", sizeof(PlaceOfFeatures));
}

static int run_join(const Launch *l)
{
    return run(l, "join_features_kernel", 0);
}

static int run_join_grad(const Launch *l)
{
    return run(l, "join_features_grad_kernel", 0);
}

const KernelDef features_cuda[] = {
    { "slice_features", "cuda", "any>any", CPU_SCALAR, run_slice, NULL, cuda_floats_fit },
    { "pad_features", "cuda", "any>any", CPU_SCALAR, run_pad, NULL, cuda_floats_fit },
    { "join_features", "cuda", "any any>any", CPU_SCALAR, run_join, NULL, cuda_floats_fit },
    { "join_features_grad", "cuda", "any>any", CPU_SCALAR, run_join_grad, NULL, cuda_floats_fit },
    { 0 },
};
