/* delta_gates_cuda.c - starts the kernels of delta_gates.cu. */
#include "device/cuda/cuda.h"
#include "ops/delta_gates.h"
#include "ops/kernels.h"

static int gates(const Launch *l)
{
    return cuda_run(l, "delta_gates_kernel", sizeof(DeltaGatesAttrs),
                    cuda_blocks(l, tensor_count(&l->in[0]), 256), 256);
}

static int grad(const Launch *l)
{
    return cuda_run(l, "delta_gates_grad_kernel", sizeof(DeltaGatesAttrs), tensor_count(&l->in[1]),
                    256);
}

/* clang-format off */
const KernelDef delta_gates_cuda[] = {
    { "delta_gates", "cuda", "any any any any>any any", CPU_SCALAR, gates, NULL, cuda_floats_fit },
    { "delta_gates", "cuda", "any any any>any any", CPU_SCALAR, gates, NULL, cuda_floats_fit },
    { "delta_gates_grad", "cuda", "any any any any any any>any any any any", CPU_SCALAR, grad, NULL, cuda_floats_fit },
    { "delta_gates_grad", "cuda", "any any any any any>any any any", CPU_SCALAR, grad, NULL, cuda_floats_fit },
    { 0 },
};
/* clang-format on */
