/* moe_transfer.h - rows of a mixture of experts on their way to the ranks that have their experts,
 * and back. */
#ifndef OPS_MOE_TRANSFER_H
#define OPS_MOE_TRANSFER_H
#include "graph/op.h"

/* Where rows stand at the ranks of their experts: [g r], along g a place for each rank of the axis
 * ep, along r as many rows as may come to one. Without that axis, g is 1 and all stay. */
typedef struct MoeMeeting {
    Value *at; /* [g r] expert of a row, counted from the first of the rank; -1 after the last */
    Value *of; /* [m] expert of the rows that are sent (moe_rows.h) */
    Value *counts; /* [2 z] rows for each expert of all, and rows of each rank for each of the
                      rank's own; NULL: nothing is sent */
} MoeMeeting;

/* Ranks tell each other how many rows come. `room` is the most pairs that one expert takes of a
 * rank's microbatch: where that is less than all of them, less memory is planned. `parts`: into how
 * many the rows may be divided among ranks of other axes. */
MoeMeeting moe_meet(Graph *g, Value *of, int64_t n_experts, int64_t room, int64_t parts);
/* Rows [m d] at the ranks of their experts: [g r d], sorted by expert, within one by rank. */
Value *moe_send(Graph *g, Value *x, const MoeMeeting *m);
/* Rows [g r d] where they came from: [m d]. */
Value *moe_return(Graph *g, Value *y, const MoeMeeting *m);
#endif
