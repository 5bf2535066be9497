/* grid_cuda.c - starts the kernels of grid.cu. */
#include "device/cuda/cuda.h"
#include "ops/grid.h"
#include "ops/kernels.h"
#include <string.h>

enum { THREADS = 256, MOST_BLOCKS = 1024 };

static int64_t eights(const Tensor *t)
{
    return (tensor_count(t) + 7) / 8;
}

static int run_size(const Launch *l)
{
    const GridSize *a = l->attrs;
    const int64_t n = tensor_count(&l->out[0]), blocks = cuda_blocks(l, eights(&l->in[0]), THREADS);
    Call c = cuda_call(l);
    memcpy(c.attrs, a, sizeof *a);
    c.number[0] = a->count ? blocks < MOST_BLOCKS ? blocks : MOST_BLOCKS
                  : n > 0  ? tensor_count(&l->in[0]) / n
                           : 0;
    if (!a->count) return cuda_start(l, "grid_largest_kernel", &c, n, THREADS, 0);
    const int status = cuda_start(l, "grid_sum_kernel", &c, c.number[0], THREADS, 0);
    return status ? status : cuda_start(l, "grid_mean_kernel", &c, 1, THREADS, 0);
}

static bool serves_size(const Launch *l)
{
    const bool is_mean = ((const GridSize *)l->attrs)->count > 0;
    return is_mean == (l->out[0].dtype == F64) && (!is_mean || tensor_count(&l->out[0]) == 1);
}

static size_t size_scratch(const Launch *l, int n_threads)
{
    (void)l, (void)n_threads;
    return sizeof(double) * MOST_BLOCKS;
}

static int run_round(const Launch *l)
{
    const GridRound *a = l->attrs;
    const int64_t n = tensor_count(&l->in[1]);
    Call c = cuda_call(l);
    memcpy(c.attrs, a, sizeof *a);
    c.number[0] = n > 0 ? tensor_count(&l->in[0]) / n : 1;
    return cuda_start(l, "grid_round_kernel", &c, cuda_blocks(l, eights(&l->out[0]), THREADS),
                      THREADS, 0);
}

/* clang-format off */
#define ROWS(x, size) \
    { "grid_size", "cuda", x ">" size, CPU_SCALAR, run_size, size_scratch, serves_size }, \
    { "grid_round", "cuda", x " " size ">" x, CPU_SCALAR, run_round, NULL, NULL }
const KernelDef grid_cuda[] = {
    ROWS("f32", "f32"), ROWS("bf16", "f32"), ROWS("f16", "f32"),
    ROWS("f32", "f64"), ROWS("bf16", "f64"), ROWS("f16", "f64"),
    { 0 },
};
/* clang-format on */
