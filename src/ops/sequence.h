/* sequence.h - rows of a sequence: joined, cut out, averaged, and the same ones for each sample. */
#ifndef OPS_SEQUENCE_H
#define OPS_SEQUENCE_H
#include "graph/op.h"

/* x [b s d] with the row [1 1 d] before it or after: [b s+1 d]. */
Value *join_row(Graph *g, Value *x, Value *row, bool in_front);
/* The `n` rows of x [b s d] from row `from` on: [b n d]. */
Value *slice_rows(Graph *g, Value *x, int64_t from, int64_t n);
/* The ids [b s] from n tokens further on, and `after` where the sequence is over. */
Value *later_ids(Graph *g, Value *ids, int64_t n, int32_t after);
/* The ids [b s], but 0 where they are `n` or more. */
Value *ids_below(Graph *g, Value *ids, int64_t n);
/* The mean row of x [b s d]: [b d]. */
Value *mean_rows(Graph *g, Value *x);
/* The rows [q d] for each of `batch` samples: [b q d]. */
Value *repeat_rows(Graph *g, Value *rows, int64_t batch);

/* Attributes of "join_row" and of its gradient. */
typedef struct JoinRow {
    bool in_front;
} JoinRow;

/* Attributes of "later_ids". */
typedef struct LaterIds {
    int64_t n, after;
} LaterIds;

/* Attributes of "ids_below". */
typedef struct IdsBelow {
    int64_t n;
} IdsBelow;

/* Attributes of "slice_rows" and of its gradient. */
typedef struct SliceRows {
    int64_t from;
} SliceRows;
#endif
