/* positions.h - learned positions, and places of tokens in their documents. */
#ifndef OPS_POSITIONS_H
#define OPS_POSITIONS_H
#include "graph/op.h"

/* x[b s d] + table[first + p(s), d], p = global position (plus RunTime.position). */
Value *add_positions(Graph *g, Value *x, Value *table, int64_t first);
/* I32 [b s]: `first` plus the place of a token in its document, by the number of each token's
 * document [b s], which differs where a document begins. */
Value *document_positions(Graph *g, Value *documents, int64_t first);

/* Attributes of "add_positions", of its gradient and of "document_positions". */
typedef struct Positions {
    int64_t first;
} Positions;
#endif
