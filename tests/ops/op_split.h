/* op_split.h - what one of two ranks holds of a node's operands. */
#ifndef TESTS_OPS_OP_SPLIT_H
#define TESTS_OPS_OP_SPLIT_H
#include "op_run.h"

/* The dimension that `slot` leads, or -1. */
int op_dim_of(const Operand *o, int slot);
/* False when the letter must be whole, does not divide, or is an inner factor of a composite. */
bool op_can_split(const Node *n, int slot, int n_pieces);
/* The same with the letter at hand: divides, and leads wherever it is used. */
bool op_divides(const Node *n, int slot, int n_pieces);
/* The operands of rank `index` of two: inputs with their content, results empty. */
NodeRun op_half(Arena *a, const NodeRun *whole, int slot, int index, Layout layout);
#endif
