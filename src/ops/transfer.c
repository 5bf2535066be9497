/* transfer.c - send, receive, and the sum over copies of a parameter. */
#include "ops/transfer.h"
#include "comm/mesh.h"
#include "ops/collective_rows.h"
#include <string.h>

static const OpDef op_send, op_receive, op_sum_copies;

static const Field edge_attrs[] = {
    FIELD_INT(Edge, peer, NULL, 0, 0, "the other rank, by its place in the pipeline"),
    FIELD_INT(Edge, number, NULL, 0, 0, "which transfer of a microbatch this is"),
    FIELD_INT(Edge, of, NULL, 1, INFINITY, "how many there are"),
    FIELD_INT(Edge, dtype, NULL, 0, 0, "of what is sent"),
    { 0 },
};

typedef struct Copies {
    int64_t ranks;
} Copies;

static const Field copies_attrs[] = {
    FIELD_INT(Copies, ranks, NULL, 0, 0, "bit r: rank r of the pipeline has a copy"),
    { 0 },
};

void send_value(Graph *g, Value *x, const Edge *e)
{
    graph_add(g, &op_send, e, 1, &x)->axes = 1u << MESH_PP;
}

/* The shape is told by letters and sizes. */
Value *receive_value(Graph *g, const Value *x, const Edge *e)
{
    char *dims = arena_string(g->arena, "->"), *sizes = arena_string(g->arena, "");
    for (int d = 0; d < x->n_dims; d++) {
        dims = arena_printf(g->arena, "%s%c", dims, 'a' + d);
        sizes = arena_printf(g->arena, "%s%c=%lld ", sizes, 'a' + d, (long long)x->dim[d].size);
    }
    Edge attrs = *e;
    attrs.dtype = (int64_t)x->dtype;
    Node *n = graph_add_dims(g, &op_receive, dims, sizes, &attrs, 0, NULL);
    n->axes = 1u << MESH_PP;
    Value *y = n->out[0];
    memcpy(y->dim, x->dim, sizeof y->dim);
    y->partial = x->partial;
    y->reduce = x->reduce;
    y->grad_of = x->grad_of;
    return y;
}

void sum_copies(Graph *g, Value *grad, uint64_t ranks)
{
    const Copies attrs = { (int64_t)ranks };
    Node *n = graph_add_into(g, &op_sum_copies, "*->*", NULL, &attrs, 1, &grad, 1, &grad);
    n->axes = 1u << MESH_PP;
}

static void edge_dtypes(const Node *n, Dtype *out)
{
    for (int k = 0; k < n->n_out; k++) out[k] = (Dtype)((const Edge *)n->attrs)->dtype;
}

/* Messages of microbatches in flight have different tags. */
static int tag_of(const Edge *e, int64_t microbatch)
{
    return (int)((microbatch * e->of + e->number) % COMM_MAX_TAG);
}

TransferUse transfer_use(const Node *n, int64_t microbatch)
{
    if (n->op == &op_sum_copies)
        return (TransferUse){ .kind = TRANSFER_ALL,
                              .ranks = (uint64_t)((const Copies *)n->attrs)->ranks };
    if (n->op != &op_send && n->op != &op_receive) return (TransferUse){ .kind = TRANSFER_ALL };
    const Edge *e = n->attrs;
    return (TransferUse){ .kind = n->op == &op_send ? TRANSFER_SEND : TRANSFER_RECEIVE,
                          .peer = (int)e->peer,
                          .tag = tag_of(e, microbatch) };
}

static Transfer message(const Launch *l, const Tensor *t)
{
    const Edge *e = l->attrs;
    return (Transfer){ .peer = (int)e->peer,
                       .tag = tag_of(e, l->now->microbatch),
                       .data = t->data,
                       .bytes = tensor_bytes(t) };
}

static int run_send(const Launch *l)
{
    const Transfer t = message(l, &l->in[0]);
    return collective_status(l->comm, l->comm->exchange(l->comm, &t, 1, NULL, 0, l->stream));
}

static int run_receive(const Launch *l)
{
    const Transfer t = message(l, &l->out[0]);
    return collective_status(l->comm, l->comm->exchange(l->comm, NULL, 0, &t, 1, l->stream));
}

static bool has_copy(const Launch *l, int rank)
{
    return (uint64_t)((const Copies *)l->attrs)->ranks >> rank & 1;
}

static int n_others(const Launch *l)
{
    int n = 0;
    for (int r = 0; l->comm && r < l->comm->size; r++) n += has_copy(l, r) && r != l->comm->rank;
    return n;
}

static size_t copies_scratch(const Launch *l)
{
    return (size_t)n_others(l) * (tensor_bytes(&l->in[0]) + 2 * sizeof(Transfer));
}

static double element(const Tensor *t, const void *data, int64_t i)
{
    return dtype_get(t->dtype, data, i);
}

/* All sums in the order of the ranks, so that all copies get the same bits. */
static int run_sum_copies(const Launch *l)
{
    const Tensor *x = &l->in[0];
    size_t bytes = tensor_bytes(x);
    int n = n_others(l), k = 0;
    if (!n) return KERNEL_OK;
    Transfer *out = l->scratch, *in = out + n;
    char *theirs = (char *)(in + n);
    for (int r = 0; r < l->comm->size; r++)
        if (has_copy(l, r) && r != l->comm->rank) {
            out[k] = (Transfer){ .peer = r, .data = x->data, .bytes = bytes };
            in[k] = (Transfer){ .peer = r, .data = theirs + (size_t)k * bytes, .bytes = bytes };
            k++;
        }
    int status = collective_status(l->comm, l->comm->exchange(l->comm, out, n, in, n, l->stream));
    for (int64_t i = 0; !status && i < tensor_count(x); i++) {
        double sum = 0;
        k = 0;
        for (int r = 0; r < l->comm->size; r++)
            if (has_copy(l, r)) sum += element(x, r == l->comm->rank ? x->data : in[k++].data, i);
        dtype_set(x->dtype, x->data, i, sum);
    }
    return status;
}

static double send_sent(const Launch *l)
{
    return (double)tensor_bytes(&l->in[0]);
}

static double copies_sent(const Launch *l)
{
    return (double)tensor_bytes(&l->in[0]) * n_others(l);
}

static const OpDef op_send = {
    .name = "send",
    .doc = "gives a value to another rank of the pipeline",
    .dims = "*",
    .attrs = edge_attrs,
    .attrs_size = sizeof(Edge),
    .reference = run_send,
    .sent = send_sent,
    .flags = OP_COMM,
};

static const OpDef op_receive = {
    .name = "receive",
    .doc = "takes a value from another rank of the pipeline",
    .attrs = edge_attrs,
    .attrs_size = sizeof(Edge),
    .dtypes = edge_dtypes,
    .reference = run_receive,
    .flags = OP_COMM,
};

static const OpDef op_sum_copies = {
    .name = "sum_copies",
    .doc = "sums the gradients of copies of a parameter on several ranks of the pipeline",
    .dims = "*->*",
    .attrs = copies_attrs,
    .attrs_size = sizeof(Copies),
    .reference = run_sum_copies,
    .sent = copies_sent,
    .scratch = copies_scratch,
    .flags = OP_COMM | OP_ADDS,
};

const OpDef *const transfer_ops[] = { &op_send, &op_receive, &op_sum_copies, NULL };
