/* nce_cuda.c - starts the kernels of nce.cu. */
#include "device/cuda/cuda.h"
#include "ops/kernels.h"
#include "ops/nce.h"
#include <string.h>

static int64_t rows_of(const Launch *l)
{
    return l->in[0].size[0];
}

static size_t similarity_bytes(const Launch *l)
{
    return ((size_t)(rows_of(l) * rows_of(l)) * sizeof(float) + 15) / 16 * 16;
}

static size_t scratch(const Launch *l, int n_threads)
{
    (void)n_threads;
    return similarity_bytes(l) + 2 * sizeof(double) * (size_t)rows_of(l);
}

static int start_spread(const Launch *l, const char *kernel, const Call *c, int64_t threads)
{
    return cuda_start(l, kernel, c, cuda_blocks(l, threads, 256), 256, 0);
}

/* Similarities and their logarithms. */
static int begin(const Launch *l, Call *c)
{
    const int64_t n = rows_of(l);
    *c = cuda_call(l);
    memcpy(c->attrs, l->attrs, sizeof(Nce));
    c->number[0] = (int64_t)similarity_bytes(l);
    const int status = start_spread(l, "nce_similarity_kernel", c, 32 * n * n);
    return status ? status : start_spread(l, "nce_log_sum_kernel", c, 64 * n);
}

static int run_nce(const Launch *l)
{
    Call c;
    const int status = begin(l, &c);
    return status ? status : cuda_start(l, "nce_kernel", &c, 1, 256, 0);
}

static int run_nce_grad(const Launch *l)
{
    Call c;
    int status = begin(l, &c);
    if (!status) status = start_spread(l, "nce_slope_kernel", &c, rows_of(l) * rows_of(l));
    if (!status) status = start_spread(l, "nce_grad_kernel", &c, 2 * tensor_count(&l->in[0]));
    return status;
}

/* clang-format off */
const KernelDef nce_cuda[] = {
    { "nce", "cuda", "any any>any", CPU_SCALAR, run_nce, scratch, cuda_floats_fit },
    { "nce_grad", "cuda", "any any any>any any", CPU_SCALAR, run_nce_grad, scratch, cuda_floats_fit },
    { 0 },
};
/* clang-format on */
