/* host_copy.c - values on their way between the device's memory and the host's. */
#include "ops/host_copy.h"
#include "graph/op.h"
#include <string.h>

static const OpDef op_to_host, op_from_host;

Value *host_copy(Graph *g, Value *x, bool to_host)
{
    Value *y = graph_add(g, to_host ? &op_to_host : &op_from_host, NULL, 1, &x)->out[0];
    memcpy(y->dim, x->dim, sizeof y->dim);
    y->partial = x->partial;
    y->reduce = x->reduce;
    y->on_host = to_host;
    return y;
}

static void dtypes(const Node *n, Dtype *out)
{
    out[0] = n->in[0]->dtype;
}

static int reference(const Launch *l)
{
    memcpy(l->out[0].data, l->in[0].data, tensor_bytes(&l->out[0]));
    return KERNEL_OK;
}

static const OpDef op_to_host = {
    .name = "to_host",
    .doc = "a value is copied to host memory",
    .dims = "*->*",
    .dtypes = dtypes,
    .reference = reference,
    .flags = OP_LINEAR | OP_COPY,
};

static const OpDef op_from_host = {
    .name = "from_host",
    .doc = "a value is copied back from host memory",
    .dims = "*->*",
    .dtypes = dtypes,
    .reference = reference,
    .flags = OP_LINEAR | OP_COPY,
};

const OpDef *const host_copy_ops[] = { &op_to_host, &op_from_host, NULL };
