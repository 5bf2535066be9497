/* optimizer_cuda.c - starts the kernels of gradient_norm.cu and adam.cu. */
#include "device/cuda/cuda.h"
#include "ops/adam.h"
#include "ops/gradient_norm.h"
#include "ops/kernels.h"
#include <string.h>

/* Pieces of a gradient, by its size alone, so that every GPU gives the same bits. */
static int64_t pieces_of(const Launch *l)
{
    enum { ELEMENTS = 1 << 14, MOST_PIECES = 1024 };
    const int64_t n = (tensor_count(&l->in[0]) + ELEMENTS - 1) / ELEMENTS;
    return n < 1 ? 1 : n < MOST_PIECES ? n : MOST_PIECES;
}

static size_t piece_scratch(const Launch *l, int n_threads)
{
    (void)n_threads;
    return sizeof(double) * (size_t)pieces_of(l);
}

static Call norm_call(const Launch *l)
{
    Call c = cuda_call(l);
    memcpy(c.attrs, l->attrs, sizeof(GradientNorm));
    return c;
}

static int run_norm_partial(const Launch *l)
{
    Call c = norm_call(l);
    c.number[0] = pieces_of(l);
    const int status = cuda_start(l, "norm_pieces_kernel", &c, c.number[0], 512, 0);
    return status ? status : cuda_start(l, "norm_join_kernel", &c, 1, 512, 0);
}

/* As many inputs as there are parameters: they are copied side by side. */
static size_t total_scratch(const Launch *l, int n_threads)
{
    (void)n_threads;
    return sizeof(double) * (size_t)l->n_in;
}

static int run_norm_total(const Launch *l)
{
    double *part = l->scratch;
    int status = KERNEL_OK;
    Launch few = *l;
    few.n_in = 0;
    Call c = norm_call(&few);
    c.number[0] = l->n_in;
    c.launch = l;
    for (int k = 0; !status && k < l->n_in; k++)
        status = cuda_move(l, part + k, l->in[k].data, sizeof *part);
    return status ? status : cuda_start(l, "norm_total_kernel", &c, 1, 512, 0);
}

static int run_clip_factor(const Launch *l)
{
    return cuda_run(l, "clip_factor_kernel", sizeof(Clip), 1, 32);
}

static int run_unscale(const Launch *l)
{
    return cuda_run(l, "unscale_kernel", 0, 1, 32);
}

static int run_adam(const Launch *l)
{
    return cuda_run_elements(l, l->n_in < 6 ? "adam_kernel" : "adam_halves_kernel",
                             sizeof(AdamSettings));
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
