/* gelu_tanh.h - the older form of gelu, which GPT-2 and Gemma were trained with. */
#ifndef OPS_GELU_TANH_H
#define OPS_GELU_TANH_H
#include "graph/op.h"

/* x/2 (1 + tanh(sqrt(2/pi) (x + 0.044715 x^3))) */
Value *gelu_tanh(Graph *g, Value *x);
#endif
