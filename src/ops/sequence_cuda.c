/* sequence_cuda.c - starts the kernels of sequence.cu. */
#include "device/cuda/cuda.h"
#include "ops/kernels.h"
#include "ops/patches.h"
#include "ops/sequence.h"

static int run(const Launch *l, const char *kernel, size_t attrs_bytes)
{
    return cuda_run(l, kernel, attrs_bytes, cuda_blocks(l, tensor_count(&l->out[0]), 256), 256);
}

static int run_join_row(const Launch *l)
{
    return run(l, "join_row_kernel", sizeof(JoinRow));
}

static int run_join_row_grad(const Launch *l)
{
    return run(l, "join_row_grad_kernel", sizeof(JoinRow));
}

static int run_slice_rows(const Launch *l)
{
    return run(l, "slice_rows_kernel", sizeof(SliceRows));
}

static int run_pad_rows(const Launch *l)
{
    return run(l, "pad_rows_kernel", sizeof(SliceRows));
}

static int run_later_ids(const Launch *l)
{
    return run(l, "later_ids_kernel", sizeof(LaterIds));
}

static int run_ids_below(const Launch *l)
{
    return run(l, "ids_below_kernel", sizeof(IdsBelow));
}

static int run_mean_rows(const Launch *l)
{
    return run(l, "mean_rows_kernel", 0);
}

static int run_mean_rows_grad(const Launch *l)
{
    return run(l, "mean_rows_grad_kernel", 0);
}

static int run_repeat_rows(const Launch *l)
{
    return run(l, "repeat_rows_kernel", 0);
}

static int run_repeat_rows_grad(const Launch *l)
{
    return run(l, "repeat_rows_grad_kernel", 0);
}

static int run_patches(const Launch *l)
{
    return run(l, "patches_kernel", sizeof(Patches));
}

/* clang-format off */
const KernelDef sequence_cuda[] = {
    { "join_row", "cuda", "any any>any", CPU_SCALAR, run_join_row, NULL, cuda_floats_fit },
    { "join_row_grad", "cuda", "any>any", CPU_SCALAR, run_join_row_grad, NULL, cuda_floats_fit },
    { "slice_rows", "cuda", "any>any", CPU_SCALAR, run_slice_rows, NULL, cuda_floats_fit },
    { "pad_rows", "cuda", "any>any", CPU_SCALAR, run_pad_rows, NULL, cuda_floats_fit },
    { "later_ids", "cuda", "i32>i32", CPU_SCALAR, run_later_ids, NULL, NULL },
    { "ids_below", "cuda", "i32>i32", CPU_SCALAR, run_ids_below, NULL, NULL },
    { "mean_rows", "cuda", "any>any", CPU_SCALAR, run_mean_rows, NULL, cuda_floats_fit },
    { "mean_rows_grad", "cuda", "any>any", CPU_SCALAR, run_mean_rows_grad, NULL, cuda_floats_fit },
    { "repeat_rows", "cuda", "any>any", CPU_SCALAR, run_repeat_rows, NULL, cuda_floats_fit },
    { "repeat_rows_grad", "cuda", "any>any", CPU_SCALAR, run_repeat_rows_grad, NULL, cuda_floats_fit },
    { "patches", "cuda", "any>any", CPU_SCALAR, run_patches, NULL, cuda_floats_fit },
    { 0 },
};
/* clang-format on */
