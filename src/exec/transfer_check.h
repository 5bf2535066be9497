/* transfer_check.h - whether what the ranks of a pipeline send each other meets, before any runs.
 *
 * Ranks that share a stage run the same list of nodes, so what they do together fits by
 * construction; what is to be shown is that the lists of different stages do. */
#ifndef EXEC_TRANSFER_CHECK_H
#define EXEC_TRANSFER_CHECK_H
#include "exec/program.h"
#include "ops/transfer.h"

/* One use of the pipeline's axis in a step, in the order of the rank. */
typedef struct TransferEvent {
    const char *op;
    TransferUse use;
    int64_t microbatch;
    double bytes; /* of one message, or of this rank's part */
} TransferEvent;

typedef struct TransferList {
    TransferEvent *item;
    int64_t n, cap;
} TransferList;

/* What a planned program does in a step of this schedule, of `a`. */
TransferList transfers_of(Arena *a, const Program *p, const Schedule *schedule);
/* Runs the lists of all ranks of a pipeline against each other. An error names a rank that would
 * wait for ever and for what, a message that nobody takes, or two ends that disagree. `n_messages`
 * gets how many there are in a step. */
Error *transfers_check(Arena *a, const TransferList *of_rank, int n_ranks, int64_t *n_messages);
#endif
