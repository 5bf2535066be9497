/* repeat_heads.h - heads of keys and values, several times over, so that more ranks than there are
 * heads can have one. */
#ifndef OPS_REPEAT_HEADS_H
#define OPS_REPEAT_HEADS_H
#include "graph/op.h"

/* x [b s g d] as [b s n d] with n a multiple of g: each head n / g times in a row. */
Value *repeat_heads(Graph *g, Value *x, int64_t n);
/* The head of `few` [b s g d] that head j of `many` repeats, which may be a part of them. */
int64_t repeated_head(const Tensor *few, const Tensor *many, int64_t j);
#endif
