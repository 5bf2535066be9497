/* precision.h - F64: everything in double. BF16 and F16: activations and a copy of the weights in
 * that format, while the residual stream, master weights, sums and losses stay f32. */
#ifndef PASSES_PRECISION_H
#define PASSES_PRECISION_H
#include "graph/pass.h"

typedef struct Precision {
    Dtype compute; /* F32, BF16, F16 or F64 */
    bool wide; /* BF16, F16: only what enters a matrix product is rounded, as under torch's autocast
                */
} Precision;
extern const PassDef pass_precision;
#endif
