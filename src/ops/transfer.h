/* transfer.h - what single ranks of a pipeline give each other. */
#ifndef OPS_TRANSFER_H
#define OPS_TRANSFER_H
#include "graph/op.h"

/* A way of a value from one rank to another, the same for every microbatch; ranks are places along
 * the pipeline's axis. */
typedef struct Edge {
    int64_t peer;
    int64_t number, of; /* which of how many: messages meet by it and by their microbatch */
    int64_t dtype;      /* of the value */
} Edge;

/* Gives x to the peer; what it says may be sent before the peer asks for it. */
void send_value(Graph *g, Value *x, const Edge *e);
/* What the peer gives: a value as x is. */
Value *receive_value(Graph *g, const Value *x, const Edge *e);
/* Gradients of a parameter of which several ranks have copies: each becomes the sum of all, in the
 * order of the ranks. `ranks` has a bit for each of them. */
void sum_copies(Graph *g, Value *grad, uint64_t ranks);

/* What a node over the pipeline's axis does with other ranks. */
typedef struct TransferUse {
    enum { TRANSFER_SEND, TRANSFER_RECEIVE, TRANSFER_ALL } kind;
    int peer;       /* of SEND and RECEIVE */
    int64_t tag;    /* likewise, in this microbatch */
    uint64_t ranks; /* of ALL: those that take part, as bits; 0: all */
} TransferUse;
TransferUse transfer_use(const Node *n, int64_t microbatch);
/* Adds the ranks of its group to which a node's kernel sends messages: sends[size]. */
void transfer_add_receivers(const Node *n, int rank, int size, bool *sends);
#endif
