/* flops.c - how much a node computes. */
#include "graph/op.h"

double node_flops(const Node *n)
{
    if (n->op->flops) return (double)n->op->flops(n);
    return n->op->flags & OP_MATMUL ? 2 * (double)dims_volume(n->dims, n->slot_size) : 0;
}
