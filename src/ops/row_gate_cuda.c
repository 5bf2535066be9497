/* row_gate_cuda.c - starts the kernels of row_gate.cu. */
#include "device/cuda/cuda.h"
#include "ops/kernels.h"
#include "ops/row_gate.h"

static int run(const Launch *l, const char *kernel, int64_t threads)
{
    Call c = cuda_call(l);
    c.number[0] = l->in[0].size[l->in[0].n_dims - 1];
    c.number[1] = ((const RowGate *)l->attrs)->softplus;
    return cuda_start(l, kernel, &c, cuda_blocks(l, threads, 256), 256, 0);
}

static int run_gate(const Launch *l)
{
    enum { ELEMENTS = 8 }; /* of a thread */
    return run(l, "row_gate_kernel", (tensor_count(&l->in[0]) + ELEMENTS - 1) / ELEMENTS);
}

static int run_gate_grad(const Launch *l)
{
    enum { WARP_SIZE = 32 };
    const int64_t rows = tensor_count(&l->in[1]), width = l->in[0].size[l->in[0].n_dims - 1];
    return run(l, "row_gate_grad_kernel", width == 1 ? rows : rows * WARP_SIZE);
}

const KernelDef row_gate_cuda[] = {
    { "row_gate", "cuda", "any any>any", CPU_SCALAR, run_gate, NULL, cuda_floats_fit },
    { "row_gate_grad", "cuda", "any any any>any any", CPU_SCALAR, run_gate_grad, NULL,
      cuda_floats_fit },
    { 0 },
};
