/* contract.h - products of values, and linear layers. */
#ifndef OPS_CONTRACT_H
#define OPS_CONTRACT_H
#include "graph/op.h"

/* Sum over the letters that the result lacks, "*k,nk->*n"; gradients swap operands. */
Value *contract(Graph *g, const char *dims, Value *a, Value *b);
/* y = x W^T (+ bias): parameters "<name>.weight" [n k] and "<name>.bias" [n]. `axis` names the
 * dimension n (and `in_axis` the dimension k) for splitting: "heads", "ff", "vocab", "embed". */
Value *linear(Graph *g, const char *name, Value *x, int64_t n, const char *axis,
              const char *in_axis, bool bias);
#endif
