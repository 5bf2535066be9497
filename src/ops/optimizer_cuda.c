/* optimizer_cuda.c - starts the kernels of gradient_norm.cu and adam.cu. */
#include "device/cuda/cuda.h"
#include "ops/adam.h"
#include "ops/gradient_norm.h"
#include "ops/gradient_norm_cuda.h"
#include "ops/kernels.h"
#include <string.h>

/* Blocks of the first kernel, and their threads. */
typedef struct Pieces {
    int64_t n;
    int threads;
} Pieces;

/* Pieces of a gradient, by its size alone, so that every GPU gives the same bits. A small one is
 * one piece, whose sum is the result. */
static Pieces pieces_of(const Launch *l)
{
    enum { SMALL = 1 << 15, ELEMENTS = 1 << 13, MOST_PIECES = 1024 };
    const int64_t size = tensor_count(&l->in[0]), n = (size + ELEMENTS - 1) / ELEMENTS;
    if (size <= SMALL) return (Pieces){ 1, size <= ELEMENTS ? 256 : 1024 };
    return (Pieces){ n < MOST_PIECES ? n : MOST_PIECES, 256 };
}

static size_t piece_scratch(const Launch *l, int n_threads)
{
    (void)n_threads;
    return sizeof(double) * (size_t)pieces_of(l).n;
}

static int run_norm_partial(const Launch *l)
{
    const Pieces p = pieces_of(l);
    Call c = cuda_call(l);
    memcpy(c.attrs, l->attrs, sizeof(GradientNorm));
    c.number[0] = p.n;
    const int status = cuda_start(l, "norm_pieces_kernel", &c, p.n, p.threads, 0);
    return status || p.n == 1 ? status : cuda_start(l, "norm_join_kernel", &c, 1, 512, 0);
}

static size_t total_scratch(const Launch *l, int n_threads)
{
    (void)l, (void)n_threads;
    return sizeof(double);
}

/* There are as many inputs as parameters: group by group. */
static int run_norm_total(const Launch *l)
{
    int status = KERNEL_OK;
    Launch few = *l;
    few.n_in = 0;
    Call c = cuda_call(&few);
    c.launch = l;
    NormGroup group = { .p = ((const GradientNorm *)l->attrs)->p };
    for (int at = 0; !status && at < l->n_in; at += NORM_GROUP) {
        group.n = l->n_in - at < NORM_GROUP ? l->n_in - at : NORM_GROUP;
        for (int k = 0; k < group.n; k++) group.partial[k] = l->in[at + k].data;
        memcpy(c.attrs, &group, sizeof group);
        c.number[0] = at;
        c.number[1] = at + NORM_GROUP >= l->n_in;
        status = cuda_start(l, "norm_total_kernel", &c, 1, 64, 0);
    }
    return status;
}

static int run_clip_factor(const Launch *l)
{
    return cuda_run(l, "clip_factor_kernel", sizeof(Clip), 1, 32);
}

static int run_unscale(const Launch *l)
{
    return cuda_run(l, "unscale_kernel", 0, 1, 32);
}

/* Each block computes the step's factors first: so no more of them than fill the GPU four times. */
static int run_adam(const Launch *l)
{
    enum { THREADS = 256, ELEMENTS = 8, BLOCKS_PER_PROCESSOR = 12 };
    const int64_t wanted =
                      (tensor_count(&l->in[0]) + THREADS * ELEMENTS - 1) / (THREADS * ELEMENTS),
                  most = (int64_t)BLOCKS_PER_PROCESSOR * cuda_multiprocessors(l);
    return cuda_run(l, l->n_in < 6 ? "adam_kernel" : "adam_halves_kernel", sizeof(AdamSettings),
                    wanted < most ? wanted : most, THREADS);
}

/* Every input is one number in double precision. */
static bool serves_total(const Launch *l)
{
    for (int k = 0; k < l->n_in; k++)
        if (l->in[k].dtype != F64) return false;
    return l->out[0].dtype == F64;
}

/* clang-format off */
const KernelDef optimizer_cuda[] = {
    { "norm_partial", "cuda", "f32>f64", CPU_SCALAR, run_norm_partial, piece_scratch, NULL },
    { "norm_partial", "cuda", "bf16>f64", CPU_SCALAR, run_norm_partial, piece_scratch, NULL },
    { "norm_partial", "cuda", "f16>f64", CPU_SCALAR, run_norm_partial, piece_scratch, NULL },
    { "norm_total", "cuda", "*", CPU_SCALAR, run_norm_total, total_scratch, serves_total },
    { "clip_factor", "cuda", "f64>f64", CPU_SCALAR, run_clip_factor, NULL, NULL },
    { "unscale", "cuda", "f64>f64", CPU_SCALAR, run_unscale, NULL, NULL },
    { "adam", "cuda", "f32 f32 f32 f32 f64>f32 f32 f32 f32", CPU_SCALAR, run_adam, NULL, NULL },
    { "adam", "cuda", "f32 f32 bf16 f32 f64>f32 bf16 f32 f32", CPU_SCALAR, run_adam, NULL, NULL },
    { "adam", "cuda", "bf16 f32 bf16 f32 f64 i16>bf16 bf16 f32 f32 i16", CPU_SCALAR, run_adam, NULL, NULL },
    { "adam", "cuda", "bf16 f32 f32 f32 f64 i16>bf16 f32 f32 f32 i16", CPU_SCALAR, run_adam, NULL, NULL },
    { 0 },
};
/* clang-format on */
