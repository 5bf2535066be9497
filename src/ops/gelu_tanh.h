/* gelu_tanh.h - the older form of gelu, which GPT-2 and Gemma were trained with. */
#ifndef OPS_GELU_TANH_H
#define OPS_GELU_TANH_H
#include "graph/op.h"

extern const OpDef op_gelu_tanh, op_gelu_tanh_grad;
/* x/2 (1 + tanh(sqrt(2/pi) (x + 0.044715 x^3))) */
Value *gelu_tanh(Graph *g, Value *x);
/* The same of a number, for references; *slope: its derivative there. */
double gelu_tanh_of(double x, double *slope);
#endif
