/* mean_valid.h - means, sums and counts over the tokens that have a target (tensor/target.h). */
#ifndef OPS_MEAN_VALID_H
#define OPS_MEAN_VALID_H
#include "graph/op.h"

/* Mean over the tokens that count; 0 if there are none, with zero gradient. Adds count_valid too,
 * the number of those tokens: both are partial sums where tokens are split. */
Value *mean_valid(Graph *g, Value *token_loss, Value *targets);
Value *count_valid(Graph *g, Value *targets);
/* The sum instead. */
Value *sum_valid(Graph *g, Value *token_loss, Value *targets);
#endif
