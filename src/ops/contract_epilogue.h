/* contract_epilogue.h - products of linear layers that end with what would be nodes of their own: a
 * bias, gelu_tanh, the gradient of that, or a sum. For devices whose products can
 * (passes/epilogues.c). */
#ifndef OPS_CONTRACT_EPILOGUE_H
#define OPS_CONTRACT_EPILOGUE_H
#include "graph/op.h"

extern const OpDef op_contract_bias, op_contract_gelu, op_contract_gelu_grad, op_contract_add;

/* x weight^T + bias. */
Node *contract_bias(Graph *g, Value *x, Value *weight, Value *bias);
/* gelu_tanh of that; with `keeps` result 1 is what gelu_tanh is given. */
Node *contract_gelu(Graph *g, Value *x, Value *weight, Value *bias, bool keeps);
/* dy weight, times the slope of gelu_tanh at `x`. */
Node *contract_gelu_grad(Graph *g, Value *dy, Value *weight, Value *x);
/* x weight^T + other, with a bias between them unless that is NULL. */
Node *contract_add(Graph *g, Value *x, Value *weight, Value *bias, Value *other);
/* dy weight + other. */
Node *contract_grad_add(Graph *g, Value *dy, Value *weight, Value *other);
#endif
