/* grouped_bias.h - a bias that depends on the row. */
#ifndef OPS_GROUPED_BIAS_H
#define OPS_GROUPED_BIAS_H
#include "graph/op.h"

/* Rows x [g r n] plus the bias [(ge) n] of their expert; `of` [g r] as in grouped_linear.h: rows
 * after the last one stay. */
Value *grouped_bias(Graph *g, Value *x, Value *bias, Value *of);
#endif
