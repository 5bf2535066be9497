/* grid.h - numbers rounded to a few steps on each side of 0, as products with weights of -1, 0 and
 * 1 have their factors (BitNet b1.58, Ma et al. 2024). They keep their dtype.
 *
 * Neither op has a gradient: who rounds factors does so behind autodiff, so that gradients go by as
 * if nothing was rounded. */
#ifndef OPS_GRID_H
#define OPS_GRID_H
#include "graph/op.h"

/* What x is measured by: the largest |x| of each row, "*k->*", in F32; or, with a `count`, the sum
 * of all |x| divided by it, "nk->", in F64, so that it does not matter which ranks add up what: the
 * mean, where `count` are all that they have together. */
Value *grid_size(Graph *g, const char *dims, Value *x, int64_t count);
/* x as the nearest k * size / steps, k from -steps to steps; the size is at least 1e-5. `dims` as
 * "*k,*->*k" or "nk,->nk". */
Value *grid_round(Graph *g, const char *dims, Value *x, Value *size, int64_t steps);

extern const OpDef op_grid_round;

/* Attributes of "grid_size" and of "grid_round". */
typedef struct GridSize {
    int64_t count; /* 0: the largest is wanted */
} GridSize;
typedef struct GridRound {
    int64_t steps;
} GridRound;

/* Steps per unit; a size that is no number stays none. */
static inline float grid_scale(float size, int64_t steps)
{
    return (float)steps / (size < 1e-5F ? 1e-5F : size);
}
#endif
