/* moe_rows.h - the way of tokens to experts and back: rows sorted by expert. */
#ifndef OPS_MOE_ROWS_H
#define OPS_MOE_ROWS_H
#include "graph/op.h"

/* Where the pairs of a token and one of its experts lie when sorted by expert, within an expert by
 * token. Where tokens are divided over ranks, each sorts its own. */
typedef struct MoeRows {
    Value *pair; /* [(sbk)] of a row: token * k + choice; -1 after the last one */
    Value *row;  /* [b s k] of a pair; -1: it has none, as it was dropped */
    Value *of;   /* [(sbk)] expert of a row; -1 after the last one */
} MoeRows;

/* Attributes of "moe_rows". Experts from n_experts on give a token back as it is (moe_identity), so
 * that their pairs have no row. */
typedef struct MoeSorting {
    int64_t n_experts, n_zero;
} MoeSorting;

/* Attributes of "moe_limit". */
typedef struct MoeLimit {
    int64_t n_experts, n_zero; /* likewise; those from n_experts on take all that come */
    double capacity;
    bool stops; /* an error instead of dropping */
} MoeLimit;

/* Experts [b s k] with -1 in place of those that are chosen more often than `capacity` times their
 * fair share (rounded up), which is that of all experts, by the tokens in front; in *dropped
 * (scalar) how many those are. */
Value *moe_limit(Graph *g, Value *expert, const MoeLimit *limit, Value **dropped);
/* The most pairs of `n_pairs` that one expert takes. */
int64_t moe_room(int64_t n_pairs, int64_t n_experts, double capacity);
/* Experts [b s k], each below n_experts + n_zero, or -1. */
MoeRows moe_rows(Graph *g, Value *expert, int64_t n_experts, int64_t n_zero);
/* Rows [(sbk) d] of the tokens x [b s d], in that order; 0 where there is no pair. */
Value *moe_gather(Graph *g, Value *x, const MoeRows *rows);
/* Likewise, each times the weight [b s k] of its expert. */
Value *moe_gather_weighted(Graph *g, Value *x, Value *weight, const MoeRows *rows);
/* Adds the rows [(sbk) d] of a token's experts up by their weights [b s k]: [b s d]. */
Value *moe_combine(Graph *g, Value *y, Value *weight, const MoeRows *rows);
/* The tokens x [b s d], each times the sum of the weights [b s k] of its experts that are numbered
 * from `first` on. */
Value *moe_identity(Graph *g, Value *x, Value *weight, Value *expert, int64_t first);
#endif
