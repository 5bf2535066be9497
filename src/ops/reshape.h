/* reshape.h - the same numbers under another shape. */
#ifndef OPS_RESHAPE_H
#define OPS_RESHAPE_H
#include "graph/op.h"

/* "bs(grd)->bsgrd" with sizes "g=4 d=8". */
Value *reshape(Graph *g, const char *dims, const char *sizes, Value *x);
/* x itself, from which no gradient flows back. */
Value *detached(Graph *g, Value *x);
#endif
