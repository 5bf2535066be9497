/* attention_sink.h - a place beside all keys that attention may go to, and that gives nothing. */
#ifndef OPS_ATTENTION_SINK_H
#define OPS_ATTENTION_SINK_H
#include "graph/op.h"

/* What attention gives, o [b s g r d], with the learned logit of each query head, sink [(g r)], in
 * the softmax: o like o. `o` is a result of `attention`, `selected_attention` or `attention_join`,
 * and read by nothing else. */
Value *attention_sink(Graph *g, Value *o, Value *sink);
/* The node that has such a place for such a node; NULL: there is none. */
const Node *attention_sink_of(const Graph *g, const Node *attention);
#endif
