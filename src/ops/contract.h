/* contract.h - products of values. */
#ifndef OPS_CONTRACT_H
#define OPS_CONTRACT_H
#include "graph/op.h"

/* Sum over the letters that the result lacks, "*k,nk->*n"; gradients swap operands. */
extern const OpDef op_contract;
Value *contract(Graph *g, const char *dims, Value *a, Value *b);
#endif
