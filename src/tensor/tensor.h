/* tensor.h - one rank's part of a value, as kernels see it. Also compiles as C++. */
#ifndef TENSOR_TENSOR_H
#define TENSOR_TENSOR_H
#include "tensor/dtype.h"

enum { MAX_DIMS = 6 };

/* How the parts of a split dimension lie in the whole: one after the other, or zig-zag (rank r of R
 * has the chunks r and 2R-1-r of 2R, which balances causal attention). */
typedef enum Layout { CONTIGUOUS, ZIGZAG } Layout;

/* Which indices of a dimension of size `whole` one rank holds: part `index` of n_parts, of that
 * part `inner` of n_inner (0: as 1), one after the other. Where parts do not divide what they are
 * parts of, the last ones reach beyond: indices of at least `whole` are padding. */
typedef struct Part {
    int64_t whole;
    int n_parts, index;
    Layout layout;
    int n_inner, inner;
} Part;

/* Row-major and dense. `part[d]` is NULL when dimension d is whole. Owns nothing. */
typedef struct Tensor {
    void *data;
    Dtype dtype;
    int n_dims;
    int64_t size[MAX_DIMS];
    const Part *part[MAX_DIMS];
} Tensor;

/* Number of elements; bytes. */
int64_t tensor_count(const Tensor *t);
size_t tensor_bytes(const Tensor *t);
/* Product of the sizes of the dimensions [from, to). */
int64_t tensor_volume(const Tensor *t, int from, int to);
/* The index in the whole of local index i along dimension `dim`. Everything that depends on a
 * position asks this: loader, rope, masks, dropout keys, checkpoints. */
int64_t global_index(const Tensor *t, int dim, int64_t i);
/* The local index of index i of the whole, or -1 when another rank holds it. */
int64_t local_index(const Tensor *t, int dim, int64_t i);
/* Size of dimension `dim` in the whole. */
int64_t global_size(const Tensor *t, int dim);
/* The row-major number, in the whole tensor, of local element i; -1: it is padding. */
int64_t global_element(const Tensor *t, int64_t i);
#endif
