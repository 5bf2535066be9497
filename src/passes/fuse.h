/* fuse.h - the rewrites of the fuse pass. Each returns with the graph whole again. */
#ifndef PASSES_FUSE_H
#define PASSES_FUSE_H
#include "graph/graph.h"

/* fuse_head.c: head_loss and head_loss_grad become head_step where the gradient of the loss can be
 * known in front of them. */
void fuse_head(Graph *g);

/* How often each value is read, by id; outputs of the graph count as read. */
int64_t *fuse_count_uses(const Graph *g);
#endif
