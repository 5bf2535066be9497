/* causal_conv.h - each feature of a token as a weighted sum of its own last few numbers. */
#ifndef OPS_CAUSAL_CONV_H
#define OPS_CAUSAL_CONV_H
#include "graph/op.h"

/* x [b s c], weight [c w], documents [b s] or NULL: y(t) is the sum over i < w of weight(w-1-i)
 * x(t-i), where tokens in front of the sequence, or of the document, are zeros. */
Value *causal_conv(Graph *g, Value *x, Value *weight, Value *documents);
/* The same behind the last w-1 tokens of a text, which `tail` [b 1 w-1 c] has, and gets. A text
 * that begins (RunTime.position is 0) has none. */
Value *causal_conv_cached(Graph *g, Value *tail, Value *x, Value *weight);
#endif
