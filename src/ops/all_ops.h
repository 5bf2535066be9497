/* all_ops.h - every op that this program has; kernels.h has their tuned kernels. */
#ifndef OPS_ALL_OPS_H
#define OPS_ALL_OPS_H
#include "graph/op.h"

/* The ops in the order of the list in all_ops.c; NULL after the last. */
const OpDef *op_at(int i);
/* The op of that name, or NULL. */
const OpDef *op_find(const char *name);
#endif
