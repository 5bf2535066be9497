/* halves.h - f32 numbers as bf16 and what these lack (tensor/halves.h): how products read
 * parameters. */
#ifndef OPS_HALVES_H
#define OPS_HALVES_H
#include "graph/op.h"

/* In bf16, rounded to nearest, halves away from zero. */
Value *high_half(Graph *g, Value *x);
/* The numbers in f32 whose halves these are (BF16, I16). */
Value *join_halves(Graph *g, Value *high, Value *low);
extern const OpDef op_high_half;
#endif
