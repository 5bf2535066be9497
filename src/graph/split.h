/* split.h - how values are spread over the mesh: from a node's inputs to its results, and from a
 * value to the part of one rank.
 *
 * A split travels along its letter. A letter that is split and missing in a result makes that
 * result a partial sum (or maximum) over the letter's mesh axes. A composite dimension is split by
 * its leading letter, a dimension marked with `!` not at all. A letter that no input has is split
 * as the result that makes it says. */
#ifndef GRAPH_SPLIT_H
#define GRAPH_SPLIT_H
#include "comm/mesh.h"
#include "graph/graph.h"

/* Sets the splits and outstanding reductions of a node's RESULTs, and the axes over which its op
 * completes some of them. Errors name the letter and the inputs that do not go together, the one
 * that must be whole, or the partial sum that must be settled before. */
Error *split_infer(Arena *a, Node *n, const Mesh *mesh);
/* An error when a node's results are not what split_infer would make of its inputs, or when a value
 * cannot be split as it says. Nodes of OP_COMM say themselves what they make; what accumulators
 * lack is settled by such nodes, too. */
Error *split_verify(Arena *a, const Node *n, const Mesh *mesh);
Error *split_verify_value(const Value *v, const Mesh *mesh);
/* A dimension without its split over `axes`, which are its innermost; and with one axis more, as
 * its innermost. */
void dim_join(Dim *d, unsigned axes);
void dim_divide(Dim *d, MeshAxis axis);
/* The same with several at once, in the order of the mesh. */
void dim_divide_over(Dim *d, unsigned axes);
/* All axes but the outermost. A part along that one is divided by all of these at once, so that
 * where padding is, rows of a few of them do not lie together. */
unsigned dim_inner_axes(const Dim *d);
/* Padding, granules and layout are those of `like`. */
void dim_lie_as(Dim *d, const Dim *like);
/* Every rank holds the same part of both. */
bool dim_is_split_as(const Dim *a, const Dim *b);
/* Into how many parts a dimension is split. */
int64_t dim_parts(const Dim *d, const Mesh *mesh);
/* What a rank holds of a value: dtype, local sizes and Parts (of the arena), without memory. */
Tensor value_part(Arena *a, const Value *v, const Mesh *mesh, int64_t rank);
#endif
