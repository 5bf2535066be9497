/* plan.h - how a matrix product is cut into tasks and blocks, and the memory that takes. */
#ifndef OPS_GEMM_PLAN_H
#define OPS_GEMM_PLAN_H
#include "ops/gemm/product.h"

/* How the rows of A reach the innermost product. */
typedef enum RowsOfA { A_IN_PLACE, A_COPIED, A_PACKED } RowsOfA;

/* What the blocking needs to know of an instruction set, and of what it multiplies. */
typedef struct Machine {
    int tile_rows, tile_columns, lanes;
    bool pairs;                /* bf16 are multiplied in pairs */
    int parts;                 /* in bf16, that are multiplied in place of f32; or 1 */
    int64_t block_bytes;       /* of A, to stay in the second level cache */
    int64_t panel_block_bytes; /* the same where weights in panels are read in place; or 0 */
    int64_t most_block_rows;   /* of such a block */
    int64_t longest_pass;      /* steps for which B is packed at a time */
    int64_t most_columns;      /* of a task: packed B of a task is at most a pass of so many */
    int64_t good_rows;         /* of a task, to make packing B worth while */
    int64_t good_columns;      /* the same for A */
} Machine;

/* Lengths along k are in steps of one word: a float or a pair of bf16. */
typedef struct Plan {
    bool pairs;
    int parts; /* of each factor */
    RowsOfA rows_of_a;
    int64_t steps;             /* all of k */
    int64_t pass;              /* steps for which B is packed at a time */
    int64_t block;             /* rows of A gone through per panel of B */
    int64_t rows, columns;     /* of C per task */
    int64_t n_rows, n_columns; /* tasks */
    int64_t n_pieces;          /* of k, each with its own sums, added in order at the end */
    bool panels_in_place;      /* whole panels of weights are read where they lie */
    bool keeps_sums;           /* of a block with all panels, from one pass to the next */
    bool through_f32;          /* bf16 results are summed over passes in scratch first */
    size_t panel_bytes, block_bytes, edge_bytes, sum_bytes; /* scratch of one thread */
    size_t piece_bytes;                                     /* scratch of one piece */
} Plan;

/* The results do not depend on n_threads: only n_pieces and pass decide in which order is summed.
 */
Plan plan_product(const Product *p, const Machine *machine, int n_threads);
#endif
