/* norm_cuda.c - starts the kernels of norm.cu. */
#include "ops/column_sums_cuda.h"
#include "ops/norm.h"
#include <string.h>

/* Columns of a thread of the kernels that keep a row in registers (norm.cu), and the rows that they
 * take: wider ones, and rows that do not lie in whole loads, have kernels of their own. */
enum { COLUMNS_OF_THREAD = 8, UNIT = 4, USUAL_THREADS = 512, WIDE_THREADS = 1024 };

static int64_t width_of(const Launch *l)
{
    return l->in[0].size[l->in[0].n_dims - 1];
}

static int64_t rows_of(const Launch *l)
{
    const int64_t d = width_of(l);
    return d ? tensor_count(&l->in[0]) / d : 0;
}

/* Threads for a row: whole warps. */
static int64_t threads_for(int64_t d)
{
    enum { COLUMNS_OF_WARP = 32 * COLUMNS_OF_THREAD };
    const int64_t n = d > COLUMNS_OF_WARP ? (d + COLUMNS_OF_WARP - 1) / COLUMNS_OF_WARP * 32 : 32;
    return n <= WIDE_THREADS ? n : WIDE_THREADS;
}

static bool lies_well(const Tensor *t)
{
    return (uintptr_t)t->data % 16 == 0;
}

static bool has_copy(const Launch *l)
{
    return ((const NormAttrs *)l->attrs)->copies;
}

/* Of a gradient: the first result that is a sum over rows. */
static int first_sum(const Launch *l)
{
    return 1 + has_copy(l);
}

static bool rows_lie_well(const Launch *l)
{
    bool well = width_of(l) % UNIT == 0 && width_of(l) <= WIDE_THREADS * COLUMNS_OF_THREAD;
    for (int k = 0; k < l->n_in; k++) well = well && lies_well(&l->in[k]);
    return well && lies_well(&l->out[0]) && (!has_copy(l) || lies_well(&l->out[1]));
}

/* A kernel of a family for these rows; `of` are its members. */
typedef struct Family {
    const char *usual, *wide, *any;
} Family;

static int start(const Launch *l, Call *c, const Family *f, bool is_centered, int64_t blocks)
{
    enum { THREADS_FOR_ANY = 256 };
    const int64_t d = width_of(l), threads = threads_for(d);
    memcpy(c->attrs, l->attrs, sizeof(NormAttrs));
    c->number[0] = rows_of(l);
    c->number[1] = d;
    c->number[2] = is_centered;
    CHECK(c->number[0] <= INT32_MAX / 2 && d <= INT32_MAX / 2);
    if (!rows_lie_well(l)) return cuda_start(l, f->any, c, blocks, THREADS_FOR_ANY, 0);
    const size_t sums = ((const NormAttrs *)l->attrs)->sums ? sizeof(float) * (size_t)d : 0;
    const char *kernel = threads <= USUAL_THREADS ? f->usual : f->wide;
    return cuda_start(l, kernel, c, blocks, (int)threads, sums);
}

/* As many blocks as a GPU has room for at once, each of which takes many rows. */
static int forward(const Launch *l, bool is_centered)
{
    enum { THREADS_OF_PROCESSOR = 1152 };
    static const Family norm = { "norm_kernel", "norm_wide_kernel", "norm_any_kernel" };
    const int64_t rows = rows_of(l), fit = THREADS_OF_PROCESSOR / threads_for(width_of(l));
    const int64_t most = fit * cuda_multiprocessors(l);
    Call c = cuda_call(l);
    return start(l, &c, &norm, is_centered, rows < most ? rows : most);
}

/* Blocks that share the rows of a gradient: as many as an H100 has room for at once (132
 * multiprocessors; 96 registers of a thread), by the sizes alone, so that every GPU gives the same
 * bits. */
static int64_t pieces_of(const Launch *l)
{
    enum { PROCESSORS = 132, THREADS_OF_PROCESSOR = 640, ROWS_OF_PIECE = 4 };
    const int64_t fit = THREADS_OF_PROCESSOR / threads_for(width_of(l));
    const int64_t most = PROCESSORS * (fit > 1 ? fit : 1),
                  n = (rows_of(l) + ROWS_OF_PIECE - 1) / ROWS_OF_PIECE;
    return n < most ? n : most;
}

static size_t scratch(const Launch *l, int n_threads)
{
    size_t columns = 0;
    (void)n_threads;
    for (int k = first_sum(l); k < l->n_out; k++) columns += (size_t)tensor_count(&l->out[k]);
    return sizeof(float) * columns * (size_t)pieces_of(l);
}

static int backward(const Launch *l, bool is_centered)
{
    static const Family grad = { "norm_grad_kernel", "norm_grad_wide_kernel",
                                 "norm_grad_any_kernel" };
    Call c = cuda_call(l);
    const int status = start(l, &c, &grad, is_centered, pieces_of(l));
    if (status || l->n_out == first_sum(l)) return status;
    return column_sums_join(l, &c, pieces_of(l), first_sum(l));
}

static int run_rms_norm(const Launch *l)
{
    return forward(l, false);
}

static int run_layer_norm(const Launch *l)
{
    return forward(l, true);
}

static int run_rms_norm_grad(const Launch *l)
{
    return backward(l, false);
}

static int run_layer_norm_grad(const Launch *l)
{
    return backward(l, true);
}

/* clang-format off */
const KernelDef norm_cuda[] = {
    { "rms_norm", "cuda", "any>any", CPU_SCALAR, run_rms_norm, NULL, cuda_floats_fit },
    { "rms_norm", "cuda", "any any>any", CPU_SCALAR, run_rms_norm, NULL, cuda_floats_fit },
    { "rms_norm", "cuda", "any any any>any", CPU_SCALAR, run_rms_norm, NULL, cuda_floats_fit },
    { "rms_norm_grad", "cuda", "any any>any", CPU_SCALAR, run_rms_norm_grad, scratch, cuda_floats_fit },
    { "rms_norm_grad", "cuda", "any any any>any any", CPU_SCALAR, run_rms_norm_grad, scratch, cuda_floats_fit },
    { "rms_norm_grad", "cuda", "any any any>any any any", CPU_SCALAR, run_rms_norm_grad, scratch, cuda_floats_fit },
    { "rms_norm_grad_add", "cuda", "any any any>any", CPU_SCALAR, run_rms_norm_grad, scratch, cuda_floats_fit },
    { "rms_norm_grad_add", "cuda", "any any any>any any", CPU_SCALAR, run_rms_norm_grad, scratch, cuda_floats_fit },
    { "rms_norm_grad_add", "cuda", "any any any any>any any", CPU_SCALAR, run_rms_norm_grad, scratch, cuda_floats_fit },
    { "rms_norm_grad_add", "cuda", "any any any any>any any any", CPU_SCALAR, run_rms_norm_grad, scratch, cuda_floats_fit },
    { "rms_norm_grad_add", "cuda", "any any any any>any any any any", CPU_SCALAR, run_rms_norm_grad, scratch, cuda_floats_fit },
    { "rms_norm_grad_add", "cuda", "any any any any>any any any any any", CPU_SCALAR, run_rms_norm_grad, scratch, cuda_floats_fit },
    { "rms_norm_grad_add", "cuda", "any any any>any any any", CPU_SCALAR, run_rms_norm_grad, scratch, cuda_floats_fit },
    { "layer_norm", "cuda", "any>any", CPU_SCALAR, run_layer_norm, NULL, cuda_floats_fit },
    { "layer_norm", "cuda", "any any>any", CPU_SCALAR, run_layer_norm, NULL, cuda_floats_fit },
    { "layer_norm", "cuda", "any any any>any", CPU_SCALAR, run_layer_norm, NULL, cuda_floats_fit },
    { "layer_norm_grad", "cuda", "any any>any", CPU_SCALAR, run_layer_norm_grad, scratch, cuda_floats_fit },
    { "layer_norm_grad", "cuda", "any any>any any", CPU_SCALAR, run_layer_norm_grad, scratch, cuda_floats_fit },
    { "layer_norm_grad", "cuda", "any any any>any any", CPU_SCALAR, run_layer_norm_grad, scratch, cuda_floats_fit },
    { "layer_norm_grad", "cuda", "any any any>any any any", CPU_SCALAR, run_layer_norm_grad, scratch, cuda_floats_fit },
    { "layer_norm_grad_add", "cuda", "any any any>any", CPU_SCALAR, run_layer_norm_grad, scratch, cuda_floats_fit },
    { "layer_norm_grad_add", "cuda", "any any any>any any", CPU_SCALAR, run_layer_norm_grad, scratch, cuda_floats_fit },
    { "layer_norm_grad_add", "cuda", "any any any>any any any", CPU_SCALAR, run_layer_norm_grad, scratch, cuda_floats_fit },
    { "layer_norm_grad_add", "cuda", "any any any>any any any any", CPU_SCALAR, run_layer_norm_grad, scratch, cuda_floats_fit },
    { "layer_norm_grad_add", "cuda", "any any any any>any any", CPU_SCALAR, run_layer_norm_grad, scratch, cuda_floats_fit },
    { "layer_norm_grad_add", "cuda", "any any any any>any any any", CPU_SCALAR, run_layer_norm_grad, scratch, cuda_floats_fit },
    { "layer_norm_grad_add", "cuda", "any any any any>any any any any", CPU_SCALAR, run_layer_norm_grad, scratch, cuda_floats_fit },
    { "layer_norm_grad_add", "cuda", "any any any any>any any any any any", CPU_SCALAR, run_layer_norm_grad, scratch, cuda_floats_fit },
    { 0 },
};
/* clang-format on */
