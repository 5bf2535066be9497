/* attention_join.h - attention to keys of two kinds by one softmax. */
#ifndef OPS_ATTENTION_JOIN_H
#define OPS_ATTENTION_JOIN_H
#include "graph/op.h"

/* What attention to some keys gives, x, and to others, y, both [b s g r d], as attention to all of
 * them gives it. Both are results of `attention` or `selected_attention` of the same queries, and
 * read by nothing else; out[1] of the node is the log-sum-exp, as theirs. */
Value *attention_join(Graph *g, Value *x, Value *y);
/* The node whose results stand for those of a node of attention in its gradient: itself, or what
 * has joined it, or given it a sink (ops/attention_sink.h). */
const Node *attention_whole(const Graph *g, const Node *attention);
#endif
