/* positions_cuda.c - starts the kernels of positions.cu, dropout.cu and cache_write.cu. */
#include "device/cuda/cuda.h"
#include "ops/cache_write.h"
#include "ops/dropout.h"
#include "ops/kernels.h"
#include "ops/positions.h"

static int64_t blocks_for(const Launch *l, const Tensor *t)
{
    return cuda_blocks(l, tensor_count(t), 256);
}

/* A thread has eight columns of four samples. */
static int run_add_positions(const Launch *l)
{
    const Tensor *x = &l->in[0];
    const int64_t n = (x->size[0] + 3) / 4 * x->size[1] * ((x->size[2] + 7) / 8);
    return cuda_run(l, "add_positions_kernel", sizeof(Positions), cuda_blocks(l, n, 128), 128);
}

/* Four threads have eight columns of a row of the table. */
static int run_add_positions_grad(const Launch *l)
{
    const Tensor *table = &l->out[0];
    const int64_t n = 4 * table->size[0] * ((table->size[1] + 7) / 8);
    return cuda_run(l, "add_positions_grad_kernel", sizeof(Positions), cuda_blocks(l, n, 256), 256);
}

static int run_document_positions(const Launch *l)
{
    return cuda_run(l, "document_positions_kernel", sizeof(Positions), blocks_for(l, &l->out[0]),
                    256);
}

static int run_dropout(const Launch *l)
{
    return cuda_run(l, "dropout_kernel", sizeof(Dropout), blocks_for(l, &l->out[0]), 256);
}

static int run_cache_windows(const Launch *l)
{
    return cuda_run(l, "cache_windows_kernel", sizeof(CacheWindows), blocks_for(l, &l->in[1]), 256);
}

static int run_cache_write(const Launch *l)
{
    return cuda_run(l, "cache_write_kernel", 0, blocks_for(l, &l->in[1]), 256);
}

/* clang-format off */
const KernelDef positions_cuda[] = {
    { "add_positions", "cuda", "any any>any", CPU_SCALAR, run_add_positions, NULL, cuda_floats_fit },
    { "add_positions", "cuda", "bf16 f32>f32", CPU_SCALAR, run_add_positions, NULL, NULL },
    { "add_positions_grad", "cuda", "any>any", CPU_SCALAR, run_add_positions_grad, NULL, cuda_floats_fit },
    { "document_positions", "cuda", "i32>i32", CPU_SCALAR, run_document_positions, NULL, NULL },
    { "dropout", "cuda", "any>any", CPU_SCALAR, run_dropout, NULL, cuda_floats_fit },
    { "cache_write_windows", "cuda", "any any>any", CPU_SCALAR, run_cache_windows, NULL,
      cuda_floats_fit },
    { "cache_write", "cuda", "any any>any", CPU_SCALAR, run_cache_write, NULL, cuda_floats_fit },
    { 0 },
};
/* clang-format on */
