/* matmul.h - matrix products through cuBLASLt. */
#ifndef DEVICE_CUDA_MATMUL_H
#define DEVICE_CUDA_MATMUL_H
#include "device/cuda/cuda.h"

/* C[m][n] (+)= A[m][k] B[n][k]^T, row by row; element (row, k) of A or B lies at row * k + k if
 * `k_inner`, else at k * rows + row. Pairs of dtypes: f32 of f32, and bf16 or f32 of bf16 (f16
 * likewise). Batches lie one after the other in all three. */
typedef struct MatmulFactor {
    const void *data;
    Dtype dtype;
    bool k_inner;
} MatmulFactor;

typedef struct Matmul {
    int64_t m, n, k, n_batches;
    MatmulFactor a, b;
    void *c;
    Dtype c_dtype;
    bool add; /* to what is in C */
} Matmul;

typedef struct Matmuls Matmuls;

/* The products of one GPU: descriptors and algorithms are kept by shape. */
Error *matmuls_new(Cuda *d, Matmuls **out);
void matmuls_free(Matmuls *m);
/* Whether cuBLASLt multiplies these dtypes. */
bool matmul_fits(Dtype a, Dtype b, Dtype c);
/* Queues a product on the launch's stream; returns a status. */
int matmul_run(const Launch *l, const Matmul *p);
/* What such a status means; NULL if it is none of cuBLASLt. */
const char *matmul_describe(const CudaCalls *c, int status);
#endif
