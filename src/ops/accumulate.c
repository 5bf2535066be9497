/* accumulate.c - adds a gradient to its accumulator.
 *
 * The kernel is a copy: every write into an accumulator adds (Launch.add). The fuse pass lets the
 * node that makes x write there directly where it can. */
#include "ops/accumulate.h"
#include <string.h>

void accumulate(Graph *g, Value *x, Value *into)
{
    graph_add_into(g, &op_accumulate, op_accumulate.dims, NULL, NULL, 1, &x, 1, &into);
}

static int reference(const Launch *l)
{
    memcpy(l->out[0].data, l->in[0].data, tensor_bytes(&l->out[0]));
    return KERNEL_OK;
}

const OpDef op_accumulate = {
    .name = "accumulate",
    .doc = "adds x to a gradient",
    .dims = "*->*",
    .reference = reference,
    .flags = OP_LINEAR | OP_ADDS,
};

const OpDef *const accumulate_ops[] = { &op_accumulate, NULL };
