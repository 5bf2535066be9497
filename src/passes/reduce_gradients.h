/* reduce_gradients.h - sums of gradients over ranks: what is outstanding, and when it is settled.
 *
 * Along the axes of homes a rank keeps its rows of a sum only; along the others all have the same.
 * With ZERO_GRADIENTS and ZERO_PARAMETERS units are reduced to their homes after every microbatch,
 * all else once per step, by nodes of phase BACKWARD_LAST right after what completes a gradient.
 */
#ifndef PASSES_REDUCE_GRADIENTS_H
#define PASSES_REDUCE_GRADIENTS_H
#include "passes/data_parallel.h"

typedef struct Reductions Reductions;

/* What is outstanding, while parameters are still whole; `axes` are those of homes. Where ranks
 * that share a sequence each have the whole of what is added to a gradient, they add equal parts of
 * it, since they sum parts. */
Reductions *reductions_find(Graph *g, const Mesh *mesh, const DataParallel *s, unsigned axes);
/* Adds the nodes; parameters have their homes. */
void reductions_add(Reductions *r);
#endif
