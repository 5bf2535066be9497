/* gaussian_top_k.h - the largest elements of rows whose elements are about normally distributed. */
#ifndef OPS_GAUSSIAN_TOP_K_H
#define OPS_GAUSSIAN_TOP_K_H
#include "graph/op.h"

/* x [* d], each element less a bound, or 0 where it is below: mean + z deviation of its row, below
 * which a normal distribution has the share `share`, above 0 and below 1, of all (Gemma 3n). */
Value *gaussian_top_k(Graph *g, Value *x, double share);

/* Attributes of "gaussian_top_k" and of its gradient. */
typedef struct GaussianTopK {
    double z; /* deviations above the mean */
} GaussianTopK;
#endif
