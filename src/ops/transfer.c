/* transfer.c - send, receive, and the sum over copies of a parameter. */
#include "ops/transfer.h"
#include "comm/mesh.h"
#include "ops/attention_ring.h"
#include "ops/collective_rows.h"
#include "ops/contract_pieces.h"
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

void transfer_add_receivers(const Node *n, int rank, int size, bool *sends)
{
    const bool is_ring = n->op == &op_ring_attention || n->op == &op_ring_attention_grad;
    if (n->op == &op_send) sends[((const Edge *)n->attrs)->peer] = true;
    if (is_ring) sends[(rank + 1) % size] = true;
    for (int r = 0; r < size; r++) {
        if (n->op == &op_gather_contract || n->op == &op_contract_scatter) sends[r] = true;
        if (n->op == &op_sum_copies)
            sends[r] |= (uint64_t)((const Copies *)n->attrs)->ranks >> r & 1;
    }
    sends[rank] = false; /* that needs nobody */
}

static Transfer message(const Launch *l, const Tensor *t)
{
    const Edge *e = l->attrs;
    return (Transfer){ .peer = (int)e->peer,
                       .tag = tag_of(e, launch_now(l)->microbatch),
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

/* What comes from the others, and a sum in double. */
static size_t copies_scratch(const Launch *l)
{
    const Tensor *x = &l->in[0];
    const size_t of_sum = sizeof(double) * (size_t)tensor_count(x);
    return n_others(l) ? of_sum + (size_t)n_others(l) * tensor_bytes(x) : 0;
}

static int exchange_copies(const Launch *l, char *theirs, int n)
{
    enum { MOST = 64 }; /* bits of Copies.ranks */
    const Tensor *x = &l->in[0];
    const size_t bytes = tensor_bytes(x);
    Transfer out[MOST], in[MOST];
    int k = 0;
    for (int r = 0; r < l->comm->size && r < MOST; r++)
        if (has_copy(l, r) && r != l->comm->rank) {
            out[k] = (Transfer){ .peer = r, .data = x->data, .bytes = bytes };
            in[k] = (Transfer){ .peer = r, .data = theirs + (size_t)k * bytes, .bytes = bytes };
            k++;
        }
    return collective_status(l->comm, l->comm->exchange(l->comm, out, n, in, n, l->stream));
}

/* All sums in the order of the ranks, so that all copies get the same bits. */
static int run_sum_copies(const Launch *l)
{
    const Tensor *x = &l->in[0];
    const int64_t count = tensor_count(x);
    const size_t bytes = tensor_bytes(x);
    const int n = n_others(l);
    if (!n) return KERNEL_OK;
    Tensor sum = *x;
    sum.dtype = F64;
    sum.data = l->scratch;
    char *theirs = (char *)l->scratch + sizeof(double) * (size_t)count, *next = theirs;
    int status = exchange_copies(l, theirs, n);
    if (!status) status = move_clear(l, sum.data, tensor_bytes(&sum));
    for (int r = 0; r < l->comm->size && !status; r++) {
        if (!has_copy(l, r)) continue;
        const bool is_own = r == l->comm->rank;
        status = move_add(l, sum.data, F64, is_own ? x->data : next, x->dtype, count);
        if (!is_own) next += bytes;
    }
    return status ? status : move_convert(l, x->data, x->dtype, sum.data, F64, count);
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
