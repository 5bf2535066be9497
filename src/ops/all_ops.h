/* all_ops.h - the OpDef of every op; one line here and one in all_ops.c per op. */
#ifndef OPS_ALL_OPS_H
#define OPS_ALL_OPS_H
#include "graph/op.h"

extern const OpDef op_contract;

/* Every op, ending with NULL. */
extern const OpDef *const all_ops[];
/* The op of that name, or NULL. */
const OpDef *op_find(const char *name);
#endif
