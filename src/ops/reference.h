/* reference.h - runs an op's reference kernel on tensors of any dtype. */
#ifndef OPS_REFERENCE_H
#define OPS_REFERENCE_H
#include "graph/op.h"

/* Bytes of scratch that reference_run needs for this launch. */
size_t reference_scratch(const OpDef *op, const Launch *l);
/* Converts float inputs to F64 and integers to I32, runs op->reference, then rounds (or adds, where
 * Launch.add says so) the results into their own dtypes. */
int reference_run(const OpDef *op, const Launch *l);
#endif
