/* muon_cuda.c - starts the kernels of muon.cu. */
#include "device/cuda/cuda.h"
#include "ops/average.h"
#include "ops/kernels.h"
#include "ops/muon.h"

static int run_momentum(const Launch *l)
{
    return cuda_run_elements(l, "muon_momentum_kernel", sizeof(MuonMomentum));
}

static int run_unit_matrix(const Launch *l)
{
    const Tensor *x = &l->in[0];
    const int64_t n = tensor_volume(x, 0, x->n_dims - 2);
    const bool is_empty = tensor_count(x) == 0;
    return cuda_run(l, "unit_matrix_kernel", sizeof(UnitMatrix), is_empty ? 0 : n, 1024);
}

static int run_blend(const Launch *l)
{
    return cuda_run_elements(l, "blend_kernel", sizeof(Blend));
}

static int run_update(const Launch *l)
{
    return cuda_run_elements(l, "muon_update_kernel", sizeof(MuonUpdate));
}

static int run_stack(const Launch *l)
{
    const size_t bytes = tensor_bytes(&l->in[0]);
    int status = KERNEL_OK;
    for (int k = 0; !status && k < l->n_in; k++)
        status = cuda_move(l, (char *)l->out[0].data + bytes * (size_t)k, l->in[k].data, bytes);
    return status;
}

static int run_unstack(const Launch *l)
{
    const size_t bytes = tensor_bytes(&l->out[0]);
    int status = KERNEL_OK;
    for (int k = 0; !status && k < l->n_out; k++)
        status =
            cuda_move(l, l->out[k].data, (const char *)l->in[0].data + bytes * (size_t)k, bytes);
    return status;
}

static bool keeps_dtype(const Launch *l)
{
    return l->in[0].dtype == l->out[0].dtype;
}

static int run_average(const Launch *l)
{
    return cuda_run_elements(l, "average_kernel", sizeof(AverageDecay));
}

/* clang-format off */
const KernelDef muon_cuda[] = {
    { "muon_momentum", "cuda", "f32 f32 f64>f32 f32 any", CPU_SCALAR, run_momentum, NULL, NULL },
    { "unit_matrix", "cuda", "any>any", CPU_SCALAR, run_unit_matrix, NULL, cuda_floats_fit },
    { "blend", "cuda", "any any>any", CPU_SCALAR, run_blend, NULL, cuda_floats_fit },
    { "muon_update", "cuda", "f32 any>f32", CPU_SCALAR, run_update, NULL, cuda_floats_fit },
    { "stack", "cuda", "*", CPU_SCALAR, run_stack, NULL, keeps_dtype },
    { "unstack", "cuda", "*", CPU_SCALAR, run_unstack, NULL, keeps_dtype },
    { "average", "cuda", "f32 f32>f32", CPU_SCALAR, run_average, NULL, NULL },
    { 0 },
};
/* clang-format on */
