/* fixed_decays_cuda.c - starts the kernel of fixed_decays.cu. */
#include "device/cuda/cuda.h"
#include "ops/fixed_decays.h"
#include "ops/kernels.h"

static int run(const Launch *l)
{
    return cuda_run(l, "fixed_decays_kernel", sizeof(FixedDecays),
                    cuda_blocks(l, tensor_count(&l->out[0]), 256), 256);
}

const KernelDef fixed_decays_cuda[] = {
    { "fixed_decays", "cuda", "any>any any", CPU_SCALAR, run, NULL, cuda_floats_fit },
    { 0 },
};
