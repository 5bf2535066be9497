/* selected_attention.h - softmax(q k^T) v over keys that a list names. */
#ifndef OPS_SELECTED_ATTENTION_H
#define OPS_SELECTED_ATTENTION_H
#include "graph/op.h"

typedef struct SelectedAttention {
    double scale;   /* of q k^T; 0: 1/sqrt(d) */
    double dropout; /* of the probabilities, inverted; 0: none */
    int64_t salt;   /* tells the dropout of different layers apart */
} SelectedAttention;
extern const OpDef op_selected_attention;

/* q [b s g r d], k and v [b t g d]; a query sees the keys with the indices selected [b s n], which
 * ascend, in all heads; -1 follows the last (ops/select_keys.h). Results as those of
 * attention: o like q, and lse [b s g r] in f32 (f64). A query without any key gives zeros.
 * KERNEL_BAD_INDEX: an index is t or above. */
Value *selected_attention(Graph *g, Value *q, Value *k, Value *v, Value *selected,
                          const SelectedAttention *attrs);
/* Of every key of a query's list the sum over the heads of its probability, [b s n] in f32 (f64),
 * and 0 behind the last one. `lse` is what selected_attention gives of q, k and the lists at that
 * scale; dropout does not count. Where heads are split, a partial sum. Nothing flows back.
 * KERNEL_BAD_INDEX: an index is t or above. */
Value *selected_shares(Graph *g, Value *q, Value *k, Value *lse, Value *selected, double scale);
#endif
