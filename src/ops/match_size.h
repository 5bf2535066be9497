/* match_size.h - rows made as large as other ones. */
#ifndef OPS_MATCH_SIZE_H
#define OPS_MATCH_SIZE_H
#include "graph/op.h"

/* x [* d], each row times the root of the mean square of the row of `like` [* d] over that of its
 * own, whose mean square counts as `least` where it is less. */
Value *match_size(Graph *g, Value *x, Value *like, double least);

/* Attributes of "match_size" and of its gradient. */
typedef struct MatchSize {
    double least;
} MatchSize;
#endif
