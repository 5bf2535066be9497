/* dims.h - the one-line description of an op's dimensions, e.g. "*k,nk->*n" for a linear layer.
 *
 * One letter is one dimension; the same letter means the same size and the same split. `*` stands
 * for any leading dimensions, `(hd)` for one dimension that is h times d, and `!` marks a dimension
 * that must be whole on every rank. Shapes, splits and FLOPs all follow from it. Nothing before the
 * arrow means no operand, no arrow no result; an empty operand elsewhere is a scalar. "=" alone:
 * any number of operands, and as many results, each of the shape of the operand at its place. */
#ifndef TENSOR_DIMS_H
#define TENSOR_DIMS_H
#include "base/arena.h"
#include "base/error.h"
#include "tensor/tensor.h"

enum { N_LETTERS = 26, N_SLOTS = N_LETTERS + MAX_DIMS, MAX_FACTORS = 3 };

/* A slot is a letter (0..25) or one of the dimensions under `*` (26..). */
typedef struct DimRef {
    int n;                 /* factors: more than one inside parentheses; 0: of `size`, no letter */
    int slot[MAX_FACTORS]; /* the leading one carries the split */
    int64_t size;
} DimRef;

typedef struct Operand {
    int n_dims;
    DimRef dim[MAX_DIMS];
} Operand;

typedef struct DimSpec {
    const char *text;
    int n_in, n_out, n_star;
    Operand *in, *out;
    bool whole[N_SLOTS]; /* marked with `!` */
} DimSpec;

typedef struct Shape {
    int n_dims;
    int64_t size[MAX_DIMS];
} Shape;

/* Parses `text` for operands of these shapes (they decide how many dimensions `*` stands for).
 * Errors tell which operand has which number of dimensions and what was expected. */
Error *dims_parse(Arena *a, const char *text, int n_in, const Shape *in, const DimSpec **out);
/* Sizes of all slots from the operands' shapes and from `sizes` ("d=64 g=4", may be NULL) for
 * letters that no operand determines. Unused slots are 0. Disagreement is an error that names the
 * letter. */
Error *dims_bind(const DimSpec *spec, const Shape *in, const char *sizes, int64_t *slot_size);
/* The shape of an operand or result. */
Shape dims_shape(const Operand *o, const int64_t *slot_size);
/* Product over all slots in use: half the FLOPs of a contraction. */
int64_t dims_volume(const DimSpec *spec, const int64_t *slot_size);
/* True if the operand has the slot in any of its dimensions. */
bool dims_uses(const Operand *o, int slot);
#endif
