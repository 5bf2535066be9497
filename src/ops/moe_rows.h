/* moe_rows.h - the way of tokens to experts and back: rows sorted by expert. */
#ifndef OPS_MOE_ROWS_H
#define OPS_MOE_ROWS_H
#include "graph/op.h"

/* Where the pairs of a token and one of its experts lie when sorted by expert, within an expert by
 * token. A pair beyond an expert's capacity lies nowhere. */
typedef struct MoeRows {
    Value *pair;  /* [m] of a row: token * k + choice; -1 behind the last one */
    Value *row;   /* [b s k] of a pair; -1: dropped */
    Value *start; /* [e + 1] first row of each expert; the last one is the number of rows in use */
    Value *dropped; /* scalar: pairs that were dropped */
} MoeRows;

/* Experts [b s k] of `n_experts`. `capacity` 0: an expert takes all that come; else that many times
 * its fair share, rounded up. */
MoeRows moe_rows(Graph *g, Value *expert, int64_t n_experts, double capacity);
/* Rows [m d] of the tokens x [b s d], in that order; 0 where there is no pair. */
Value *moe_gather(Graph *g, Value *x, const MoeRows *rows);
/* Adds the rows [m d] of a token's experts up by their weights [b s k]: [b s d]. */
Value *moe_combine(Graph *g, Value *y, Value *weight, const MoeRows *rows);
#endif
