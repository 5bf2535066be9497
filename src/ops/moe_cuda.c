/* moe_cuda.c - starts the kernels of moe.cu and moe_mma.cu. */
#include "base/environment.h"
#include "device/cuda/cuda.h"
#include "ops/grouped_linear.h"
#include "ops/kernels.h"
#include "ops/moe_mixer.h"
#include "ops/moe_route.h"
#include "ops/moe_rows.h"
#include <string.h>

enum { MOST_CHOICES = 64 }; /* as in moe.cu */

static int64_t tokens_of(const Launch *l)
{
    const Tensor *x = &l->in[0];
    return tensor_volume(x, 0, x->n_dims - 1);
}

/* A thread per token, per element of a result, or a warp per pair. */
static int per_token(const Launch *l, const char *kernel, size_t attrs_bytes)
{
    return cuda_run(l, kernel, attrs_bytes, cuda_blocks(l, tokens_of(l), 128), 128);
}

static int per_element(const Launch *l, const char *kernel, size_t attrs_bytes)
{
    return cuda_run(l, kernel, attrs_bytes, cuda_blocks(l, tensor_count(&l->out[0]), 256), 256);
}

static int per_pair(const Launch *l, const char *kernel, size_t attrs_bytes, const Tensor *pairs)
{
    return cuda_run(l, kernel, attrs_bytes, cuda_blocks(l, 32 * tensor_count(pairs), 256), 256);
}

static bool serves_route(const Launch *l)
{
    const MoeRoute *a = l->attrs;
    return cuda_floats_fit(l) && a->top_k <= MOST_CHOICES && a->n_groups <= MOST_EXPERT_GROUPS;
}

static int run_route(const Launch *l)
{
    return per_token(l, "moe_route_kernel", sizeof(MoeRoute));
}

static int run_route_grad(const Launch *l)
{
    return per_token(l, "moe_route_grad_kernel", sizeof(MoeRoute));
}

static int run_hash(const Launch *l)
{
    return per_element(l, "moe_hash_kernel", sizeof(MoeHash));
}

static int run_weigh(const Launch *l)
{
    return per_token(l, "moe_weigh_kernel", sizeof(MoeRoute));
}

static int run_mixer(const Launch *l)
{
    return per_token(l, "moe_mixer_kernel", sizeof(MoeMixer));
}

static int run_mixer_grad(const Launch *l)
{
    return per_token(l, "moe_mixer_grad_kernel", sizeof(MoeMixer));
}

static int run_share(const Launch *l)
{
    return cuda_run(l, "moe_share_kernel", 0, tensor_count(&l->out[0]), 256);
}

static int run_share_grad(const Launch *l)
{
    return per_token(l, "moe_share_grad_kernel", 0);
}

static int run_balance(const Launch *l)
{
    return cuda_run(l, "moe_balance_kernel", sizeof(int64_t), 1, 32);
}

static int run_balance_grad(const Launch *l)
{
    return cuda_run(l, "moe_balance_grad_kernel", sizeof(int64_t), 1, 32);
}

static int run_element(const Launch *l)
{
    return cuda_run(l, "moe_element_kernel", sizeof(int64_t), 1, 32);
}

static int run_square(const Launch *l)
{
    return cuda_run(l, "mean_square_lse_kernel", 0, 1, 256);
}

static int run_square_grad(const Launch *l)
{
    return per_token(l, "mean_square_lse_grad_kernel", 0);
}

static int run_limit(const Launch *l)
{
    const MoeLimit *a = l->attrs;
    const int64_t n = tensor_count(&l->in[0]);
    const double n_experts = (double)(a->n_experts + a->n_zero);
    const double room = a->capacity > 0 ? ceil(a->capacity * (double)n / n_experts) : (double)n;
    Call c = cuda_call(l);
    memcpy(c.attrs, a, sizeof *a);
    c.number[0] = room < (double)n ? (int64_t)room : n;
    return cuda_start(l, "moe_limit_kernel", &c, 1, 1024, 0);
}

static int run_rows(const Launch *l)
{
    int status = cuda_fill(l, l->out[0].data, 0xff, tensor_bytes(&l->out[0]));
    if (!status) status = cuda_fill(l, l->out[2].data, 0xff, tensor_bytes(&l->out[2]));
    return status ? status : per_pair(l, "moe_rows_kernel", sizeof(MoeSorting), &l->in[0]);
}

static int run_gather(const Launch *l)
{
    return per_element(l, "moe_gather_kernel", 0);
}

static int run_scatter(const Launch *l)
{
    return per_element(l, "moe_scatter_kernel", 0);
}

static int run_combine(const Launch *l)
{
    return per_element(l, "moe_combine_kernel", 0);
}

static int run_grad_rows(const Launch *l)
{
    const int status = cuda_fill(l, l->out[0].data, 0, tensor_bytes(&l->out[0]));
    const int64_t n = tensor_count(&l->in[2]) * l->in[0].size[2];
    if (status) return status;
    return cuda_run(l, "moe_gather_weighted_kernel", 0, cuda_blocks(l, n, 256), 256);
}

static int run_grad_weight(const Launch *l)
{
    return per_pair(l, "moe_combine_grad_weight_kernel", 0, &l->in[2]);
}

static int run_identity(const Launch *l)
{
    return per_element(l, "moe_identity_kernel", sizeof(int64_t));
}

static int run_identity_grad(const Launch *l)
{
    return per_pair(l, "moe_identity_grad_weight_kernel", sizeof(int64_t), &l->in[2]);
}

static int run_grouped_linear(const Launch *l)
{
    return per_element(l, "grouped_linear_kernel", sizeof(GroupedLinear));
}

static int run_grouped_outer(const Launch *l)
{
    return per_element(l, "grouped_outer_kernel", sizeof(GroupedLinear));
}

/* ---- by tensor cores ---- */

enum { MMA_TILE = 128, MMA_THREADS = 256 }; /* as in moe_mma.cu */

static bool wants_mma(void)
{
    const char *set = environment_get("MODALITIES_CUDA_MMA");
    return !set || strcmp(set, "off");
}

static int run_bias(const Launch *l)
{
    return cuda_run_elements(l, "grouped_bias_kernel", 0);
}

static int run_bias_grad(const Launch *l)
{
    return cuda_run(l, "grouped_bias_grad_kernel", 0, cuda_blocks(l, tensor_count(&l->out[0]), 256),
                    256);
}

/* Lines are whole pieces of 16 bytes. */
static bool fits_mma(const Launch *l)
{
    const Tensor *a = &l->in[0], *b = &l->in[1], *y = &l->out[0];
    return a->dtype == b->dtype && (y->dtype == a->dtype || y->dtype == F32) &&
           a->size[2] % 8 == 0 && b->size[2] % 8 == 0 && y->size[2] % 8 == 0;
}

static bool serves_mma(const Launch *l)
{
    return wants_mma() && fits_mma(l);
}

static bool lies_well(const Launch *l)
{
    return !(((uintptr_t)l->in[0].data | (uintptr_t)l->in[1].data | (uintptr_t)l->out[0].data) &
             15);
}

static int64_t tiles(int64_t n)
{
    return (n + MMA_TILE - 1) / MMA_TILE;
}

static int run_linear_mma(const Launch *l)
{
    const int64_t n = tiles(tensor_count(&l->in[2])) * tiles(l->out[0].size[2]);
    if (!lies_well(l)) return run_grouped_linear(l);
    const bool is_turned = ((const GroupedLinear *)l->attrs)->transposed;
    return cuda_run(l, is_turned ? "grouped_linear_turned_mma_kernel" : "grouped_linear_mma_kernel",
                    sizeof(GroupedLinear), n, MMA_THREADS);
}

static int run_outer_mma(const Launch *l)
{
    const Tensor *y = &l->out[0];
    if (!lies_well(l)) return run_grouped_outer(l);
    return cuda_run(l, "grouped_outer_mma_kernel", sizeof(GroupedLinear),
                    y->size[0] * tiles(y->size[1]) * tiles(y->size[2]), MMA_THREADS);
}

/* clang-format off */
const KernelDef moe_cuda[] = {
    { "moe_route", "cuda", "any>any i32", CPU_SCALAR, run_route, NULL, serves_route },
    { "moe_route", "cuda", "any any>any i32", CPU_SCALAR, run_route, NULL, serves_route },
    { "moe_route_grad", "cuda", "any i32 any>any", CPU_SCALAR, run_route_grad, NULL, serves_route },
    { "moe_hash", "cuda", "i32 any>i32", CPU_SCALAR, run_hash, NULL, cuda_floats_fit },
    { "moe_weigh", "cuda", "any i32>any", CPU_SCALAR, run_weigh, NULL, cuda_floats_fit },
    { "moe_mixer", "cuda", "any>any i32", CPU_SCALAR, run_mixer, NULL, cuda_floats_fit },
    { "moe_mixer_grad", "cuda", "any i32 any>any", CPU_SCALAR, run_mixer_grad, NULL, cuda_floats_fit },
    { "moe_share", "cuda", "any i32>any any", CPU_SCALAR, run_share, NULL, cuda_floats_fit },
    { "moe_share_grad", "cuda", "any any>any", CPU_SCALAR, run_share_grad, NULL, cuda_floats_fit },
    { "moe_balance", "cuda", "any any>any", CPU_SCALAR, run_balance, NULL, cuda_floats_fit },
    { "moe_balance_grad", "cuda", "any any>any", CPU_SCALAR, run_balance_grad, NULL, cuda_floats_fit },
    { "moe_element", "cuda", "any>any", CPU_SCALAR, run_element, NULL, cuda_floats_fit },
    { "mean_square_lse", "cuda", "any>any", CPU_SCALAR, run_square, NULL, cuda_floats_fit },
    { "mean_square_lse_grad", "cuda", "any any>any", CPU_SCALAR, run_square_grad, NULL, cuda_floats_fit },
    { "moe_limit", "cuda", "i32 i32>i32 any", CPU_SCALAR, run_limit, NULL, cuda_floats_fit },
    { "moe_rows", "cuda", "i32>i32 i32 i32", CPU_SCALAR, run_rows, NULL, NULL },
    { "moe_gather", "cuda", "any i32 i32>any", CPU_SCALAR, run_gather, NULL, cuda_floats_fit },
    { "moe_scatter", "cuda", "any i32>any", CPU_SCALAR, run_scatter, NULL, cuda_floats_fit },
    { "moe_combine", "cuda", "any any i32>any", CPU_SCALAR, run_combine, NULL, cuda_floats_fit },
    { "moe_gather_weighted", "cuda", "any any i32>any", CPU_SCALAR, run_grad_rows, NULL, cuda_floats_fit },
    { "moe_combine_grad_weight", "cuda", "any any i32>any", CPU_SCALAR, run_grad_weight, NULL, cuda_floats_fit },
    { "moe_identity", "cuda", "any any i32>any", CPU_SCALAR, run_identity, NULL, cuda_floats_fit },
    { "moe_identity_grad_weight", "cuda", "any any i32>any", CPU_SCALAR, run_identity_grad, NULL, cuda_floats_fit },
    { "grouped_bias", "cuda", "any any i32>any", CPU_SCALAR, run_bias, NULL, cuda_floats_fit },
    { "grouped_bias_grad", "cuda", "any i32>any", CPU_SCALAR, run_bias_grad, NULL, cuda_floats_fit },
    { "grouped_linear", "cuda", "bf16 bf16 i32>any", CPU_SCALAR, run_linear_mma, NULL, serves_mma },
    { "grouped_linear", "cuda", "f16 f16 i32>any", CPU_SCALAR, run_linear_mma, NULL, serves_mma },
    { "grouped_outer", "cuda", "bf16 bf16 i32>any", CPU_SCALAR, run_outer_mma, NULL, serves_mma },
    { "grouped_outer", "cuda", "f16 f16 i32>any", CPU_SCALAR, run_outer_mma, NULL, serves_mma },
    { "grouped_linear", "cuda", "any any i32>any", KERNEL_PLAIN, run_grouped_linear, NULL, cuda_floats_fit },
    { "grouped_outer", "cuda", "any any i32>any", KERNEL_PLAIN, run_grouped_outer, NULL, cuda_floats_fit },
    { 0 },
};
/* clang-format on */
