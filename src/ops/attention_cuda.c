/* attention_cuda.c - starts the kernels of attention.cu. */
#include "device/cuda/cuda.h"
#include "ops/attention.h"
#include "ops/attention_ring.h"
#include "ops/kernels.h"
#include <string.h>

enum { MOST_WIDTH = 256, WIDEST = 640, QUERY_WARPS = 8, KEY_WARPS = 4 }; /* as in attention.cu */

static bool serves(const Launch *l)
{
    return cuda_floats_fit(l) && l->in[0].size[4] <= MOST_WIDTH;
}

static bool serves_wide(const Launch *l)
{
    return cuda_floats_fit(l) && l->in[0].size[4] <= WIDEST;
}

static int64_t tiles(int64_t rows, int64_t warps)
{
    return (rows + warps - 1) / warps;
}

static Call call_of(const Launch *l)
{
    Call c = cuda_call(l);
    memcpy(c.attrs, l->attrs, sizeof(Attention));
    return c;
}

/* Blocks for tiles of queries: of each sequence and head. */
static int64_t query_blocks(const Launch *l)
{
    const Tensor *q = &l->in[0];
    return q->size[0] * q->size[2] * q->size[3] * tiles(q->size[1], QUERY_WARPS);
}

static int64_t key_blocks(const Launch *l)
{
    const Tensor *k = &l->in[1];
    return k->size[0] * k->size[2] * tiles(k->size[1], KEY_WARPS);
}

static int forward(const Launch *l)
{
    const Call c = call_of(l);
    return cuda_start(l, "attention_kernel", &c, query_blocks(l), QUERY_WARPS * 32, 0);
}

static int forward_wide(const Launch *l)
{
    const Call c = call_of(l);
    return cuda_start(l, "attention_wide_kernel", &c, query_blocks(l), QUERY_WARPS * 32, 0);
}

/* A number per row of q. */
static size_t max_scratch(const Launch *l, int n_threads)
{
    (void)n_threads;
    return sizeof(float) * (size_t)tensor_volume(&l->in[0], 0, 4);
}

static int largest(const Launch *l)
{
    const Call c = call_of(l);
    const int status =
        cuda_start(l, "attention_max_kernel", &c, query_blocks(l), QUERY_WARPS * 32, 0);
    if (status) return status;
    return cuda_start(l, "attention_max_join_kernel", &c, tensor_count(&l->out[0]), 256, 0);
}

/* Likewise. */
static size_t scratch(const Launch *l, int n_threads)
{
    (void)n_threads;
    return sizeof(float) * (size_t)tensor_count(&l->in[l->n_in - 2]);
}

static int backward(const Launch *l)
{
    const Call c = call_of(l);
    const int64_t rows = tensor_count(&l->in[l->n_in - 2]);
    int status = cuda_start(l, "attention_sums_kernel", &c, cuda_blocks(l, 32 * rows, 256), 256, 0);
    if (!status)
        status =
            cuda_start(l, "attention_query_grad_kernel", &c, query_blocks(l), QUERY_WARPS * 32, 0);
    if (!status)
        status = cuda_start(l, "attention_key_grad_kernel", &c, key_blocks(l), KEY_WARPS * 32, 0);
    return status;
}

/* ---- the ring ---- */

static int join(const Launch *l, const Tensor *sum, const Tensor *lse, const Tensor *o,
                const Tensor *more)
{
    Call c = {
        .now = l->now, .fault = cuda_stream_of(l->stream)->fault, .launch = l, .n_in = 2, .n_out = 2
    };
    int n_parts = 0;
    c.in[0] = cuda_call_tensor(&c, &n_parts, o);
    c.in[1] = cuda_call_tensor(&c, &n_parts, more);
    c.out[0] = cuda_call_tensor(&c, &n_parts, sum);
    c.out[1] = cuda_call_tensor(&c, &n_parts, lse);
    const int64_t blocks = cuda_blocks(l, 32 * tensor_count(more), 256);
    return cuda_start(l, "ring_join_kernel", &c, blocks, 256, 0);
}

static int ring(const Launch *l)
{
    return attention_ring(l, forward, join, l->scratch, NULL);
}

static size_t ring_scratch(const Launch *l, int n_threads)
{
    (void)n_threads;
    return attention_ring_bytes(l);
}

static int ring_grad(const Launch *l)
{
    return attention_ring_grad(l, backward, l->scratch,
                               (char *)l->scratch + attention_ring_bytes(l));
}

static size_t ring_grad_scratch(const Launch *l, int n_threads)
{
    return attention_ring_bytes(l) + scratch(l, n_threads);
}

/* clang-format off */
const KernelDef attention_cuda[] = {
    { "attention", "cuda", "any any any>any f32", KERNEL_PLAIN, forward, NULL, serves },
    { "attention", "cuda", "any any any i32 i32>any f32", KERNEL_PLAIN, forward, NULL, serves },
    { "attention", "cuda", "any any any>any f32", KERNEL_PLAIN, forward_wide, NULL, serves_wide },
    { "attention", "cuda", "any any any i32 i32>any f32", KERNEL_PLAIN, forward_wide, NULL, serves_wide },
    { "attention_grad", "cuda", "any any any any f32 any>any any any", KERNEL_PLAIN, backward, scratch, serves },
    { "attention_grad", "cuda", "any any any i32 i32 any f32 any>any any any", KERNEL_PLAIN, backward, scratch, serves },
    { "attention_max", "cuda", "any any any>f32", CPU_SCALAR, largest, max_scratch, serves },
    { "attention_max", "cuda", "any any any i32 i32>f32", CPU_SCALAR, largest, max_scratch, serves },
    { "ring_attention", "cuda", "any any any>any f32", KERNEL_PLAIN, ring, ring_scratch, serves },
    { "ring_attention", "cuda", "any any any i32 i32>any f32", KERNEL_PLAIN, ring, ring_scratch, serves },
    { "ring_attention_grad", "cuda", "any any any any f32 any>any any any", KERNEL_PLAIN, ring_grad, ring_grad_scratch, serves },
    { "ring_attention_grad", "cuda", "any any any i32 i32 any f32 any>any any any", KERNEL_PLAIN, ring_grad, ring_grad_scratch, serves },
    { 0 },
};
/* clang-format on */
