/* gradient_norm.h - the norm over all gradients, and what clips by it; all scalars are f64. */
#ifndef OPS_GRADIENT_NORM_H
#define OPS_GRADIENT_NORM_H
#include "graph/op.h"

/* sum |x|, sum x^2 or max |x| for p = 1, 2, 0 (= inf). */
Value *norm_partial(Graph *g, Value *x, int64_t p);
/* Joins the partials of all parameters into the norm. */
Value *norm_total(Graph *g, int64_t n, Value *const *partial, int64_t p);
/* min(1, max_norm / (norm + 1e-6)), or 1 when max_norm is 0. */
Value *clip_factor(Graph *g, Value *norm, double max_norm);
/* A norm of scaled gradients becomes that of the gradients, a factor one that scales them back, too
 * (RunTime.gradient_scale). */
Value *unscale(Graph *g, Value *x);

/* Attributes of norm_partial and norm_total: 1, 2, or 0 for the maximum norm. */
typedef struct GradientNorm {
    int64_t p;
} GradientNorm;

/* Attributes of "clip_factor". */
typedef struct Clip {
    double max_norm;
} Clip;
#endif
