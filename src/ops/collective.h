/* collective.h - what ranks do together, as ops: appended by passes after the gradients, so they
 * have none of their own.
 *
 * `axes` are bits 1 << MeshAxis. The functions set the splits of what they return. */
#ifndef OPS_COLLECTIVE_H
#define OPS_COLLECTIVE_H
#include "comm/mesh.h"
#include "graph/op.h"

/* Settles the reductions that are outstanding in x over these axes. Parts of sums in F32 travel as
 * `wire`; they are added up in F32, and what all ranks get is rounded to `wire`, too. */
Value *all_reduce(Graph *g, Value *x, unsigned axes, Dtype wire);
/* The dimension that a node of these divides or joins, and the dtype in which its parts of a sum in
 * F32 travel. */
extern const OpDef op_all_gather, op_reduce_scatter;
int collective_dim(const Node *n);
Dtype collective_wire(const Node *n);
/* Dimension `dim` without its split over `axes`: all of its axes, or the innermost of them. */
Value *all_gather(Graph *g, Value *x, int dim, unsigned axes);
/* Settles the sum that is outstanding over the axis; dimension `dim` is split over it from then on,
 * as its innermost axis. `wire` likewise, but the sum is not rounded. */
Value *reduce_scatter(Graph *g, Value *x, int dim, MeshAxis axis, Dtype wire);
/* Dimension `from`, whose innermost axes these are, becomes whole along them, and dimension `to`
 * split over them, as its innermost. */
Value *all_to_all(Graph *g, Value *x, int from, int to, unsigned axes);
/* This rank's part along further axes; nothing is sent. */
extern const OpDef op_slice;
Value *slice(Graph *g, Value *x, int dim, unsigned axes);
/* This rank's part of a whole dimension where it is split as `like`. */
Value *slice_as(Graph *g, Value *x, int dim, const Dim *like);

/* Lists of values of one unit. whole[k] becomes home[k] without the split of dimension 0 over
 * `axes`, which are its innermost. */
void gather_unit(Graph *g, int n, Value *const *home, unsigned axes, Value **whole);
/* Adds the sum of whole[k] over `axes` to home[k] (accumulators), this rank's part of it along
 * dimension 0. */
void reduce_unit(Graph *g, int n, Value *const *whole, unsigned axes, Value *const *home);
/* Sums x[k] (accumulators) over `axes` in place. */
void reduce_bucket(Graph *g, int n, Value *const *x, unsigned axes);
/* Settles the reductions outstanding in x[k] over `axes`. */
void reduce_list(Graph *g, int n, Value *const *x, unsigned axes, Value **out);
/* Accumulators become zero. */
void clear_unit(Graph *g, int n, Value *const *x);
#endif
