/* bias_cuda.c - starts the kernels of bias.cu. */
#include "ops/column_sums_cuda.h"

static int run_add_bias(const Launch *l)
{
    return cuda_run_elements(l, "add_bias_kernel", 0);
}

/* Blocks of column_sums_kernel beside each other. */
static int64_t n_strips(const Launch *l)
{
    enum { COLUMNS_OF_STRIP = 256 };
    return (tensor_count(&l->out[0]) + COLUMNS_OF_STRIP - 1) / COLUMNS_OF_STRIP;
}

/* Into how many pieces rows are divided: by the sizes alone, so that every GPU gives the same bits,
 * and so that four blocks fall to each of the 132 multiprocessors of an H100. */
static int64_t n_pieces(const Launch *l)
{
    enum { ROWS_OF_PIECE = 32, BLOCKS = 4 * 132 };
    const int64_t d = tensor_count(&l->out[0]), rows = d ? tensor_count(&l->in[0]) / d : 0;
    const int64_t n = (rows + ROWS_OF_PIECE - 1) / ROWS_OF_PIECE,
                  most = n_strips(l) < BLOCKS && d ? BLOCKS / n_strips(l) : 1;
    return n < most ? n : most;
}

static size_t scratch(const Launch *l, int n_threads)
{
    (void)n_threads;
    return sizeof(float) * (size_t)(n_pieces(l) * tensor_count(&l->out[0]));
}

static int run_add_bias_grad(const Launch *l)
{
    Call c = cuda_call(l);
    c.number[0] = n_pieces(l);
    const int status = cuda_start(l, "column_sums_kernel", &c, c.number[0] * n_strips(l), 256, 0);
    return status ? status : column_sums_join(l, &c, n_pieces(l), 0);
}

const KernelDef bias_cuda[] = {
    { "add_bias", "cuda", "any any>any", CPU_SCALAR, run_add_bias, NULL, cuda_floats_fit },
    { "add_bias_grad", "cuda", "any>any", CPU_SCALAR, run_add_bias_grad, scratch, cuda_floats_fit },
    { 0 },
};
