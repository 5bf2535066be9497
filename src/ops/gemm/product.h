/* product.h - a matrix product as the kernels see it: C[m][n] (+)= A[m][k] B[n][k]. */
#ifndef OPS_GEMM_PRODUCT_H
#define OPS_GEMM_PRODUCT_H
#include "device/device.h"

/* Rows are those of A (m) or the columns of C (n, for B). Element (row, k) lies at row * stride + k
 * if `k_inner`, else at k * stride + row. Strides count elements. B may be `in_panels`
 * (ops/panels.h) instead, whose stride is k. `part`: of f32 as pairs, which of its parts in bf16.
 */
typedef struct Factor {
    const void *data;
    int64_t stride;
    Dtype dtype;
    bool k_inner, in_panels;
    int part;
} Factor;

typedef struct Product {
    int64_t m, n, k;
    Factor a, b;
    void *c;
    int64_t c_stride;
    Dtype c_dtype;
    bool add;                          /* to what is in C (F32 only) */
    int64_t n_batches;                 /* products of this shape */
    int64_t a_batch, b_batch, c_batch; /* distance of one to the next, in elements */
} Product;

/* Recognises a contraction as a product; false if its dimensions lie otherwise. */
bool product_of(const Launch *l, Product *out);
/* The product number `i` of a batch. */
Product product_in_batch(const Product *p, int64_t i);
#endif
