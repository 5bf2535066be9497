/* index_loss.h - how far what an indexer scores high is from what attention looks at: the loss that
 * trains indexers (DeepSeek-AI 2025, DeepSeek Sparse Attention). */
#ifndef OPS_INDEX_LOSS_H
#define OPS_INDEX_LOSS_H
#include "graph/op.h"

typedef struct IndexLoss {
    double scale; /* of the scores */
} IndexLoss;

/* The scalar mean over all queries of KL(p || softmax(scale score)), over the keys of a query's
 * list: q, k and w give scores, and `selected` [b s n] lists keys, as in ops/select_keys.h; `share`
 * [b s n] of these keys, divided by its sum over the list, is p (ops/selected_attention.h). A query
 * without keys, or whose shares are all 0, counts as 0. Gradients are those of q, k and w.
 * Where queries are split, a partial sum. KERNEL_BAD_INDEX: an index is t or above. */
Value *index_loss(Graph *g, Value *q, Value *k, Value *w, Value *selected, Value *share,
                  double scale);
#endif
