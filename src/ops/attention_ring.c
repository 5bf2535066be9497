/* attention_ring.c - attention of ranks that divide queries and keys, as ops; their references are
 * those of attention, on the ring. */
#include "ops/attention_ring.h"
#include "base/arena.h"
#include "ops/attention.h"
#include "ops/collective_rows.h"

enum { KEYS = 1, VALUES = 2 };

static Dtype sum_dtype(const Launch *l)
{
    return l->in[0].dtype == F64 ? F64 : F32;
}

static int reference(const Launch *l)
{
    Arena *arena = arena_new();
    const int status = attention_ring(l, op_attention.reference, attention_ring_join,
                                      arena_alloc(arena, attention_ring_bytes(l)), NULL);
    arena_free(arena);
    return status;
}

static int grad_reference(const Launch *l)
{
    Arena *arena = arena_new();
    const int status = attention_ring_grad(l, op_attention_grad.reference,
                                           arena_alloc(arena, attention_ring_bytes(l)), NULL);
    arena_free(arena);
    return status;
}

static double sent(const Launch *l)
{
    const double keys = (double)(tensor_bytes(&l->in[KEYS]) + tensor_bytes(&l->in[VALUES]));
    return keys * (collective_size(l) - 1);
}

static double grad_sent(const Launch *l)
{
    const double sums = (double)(tensor_count(&l->in[KEYS]) + tensor_count(&l->in[VALUES])) *
                        (double)dtype_size(sum_dtype(l));
    return sent(l) + sums * collective_size(l);
}

static void dtypes(const Node *n, Dtype *out)
{
    op_attention.dtypes(n, out);
}

static int64_t flops(const Node *n)
{
    return op_attention.flops(n);
}

static int64_t grad_flops(const Node *n)
{
    return op_attention_grad.flops(n);
}

const OpDef op_ring_attention = {
    .name = "ring_attention",
    .doc = "attention of ranks that divide queries and keys; keys and values go round",
    .attrs = attention_fields,
    .attrs_size = sizeof(Attention),
    .dtypes = dtypes,
    .flops = flops,
    .reference = reference,
    .sent = sent,
    .completes = 1 << 0 | 1 << 1,
    .flags = OP_RANDOM | OP_ATTENTION,
};
const OpDef op_ring_attention_grad = {
    .name = "ring_attention_grad",
    .doc = "its gradients; those of keys and values travel with them",
    .attrs = attention_fields,
    .attrs_size = sizeof(Attention),
    .flops = grad_flops,
    .reference = grad_reference,
    .sent = grad_sent,
    .completes = 1 << 0 | 1 << 1 | 1 << 2,
    .flags = OP_RANDOM | OP_ATTENTION,
};

const OpDef *const attention_ring_ops[] = { &op_ring_attention, &op_ring_attention_grad, NULL };
