/* matmul.h - matrix products through cuBLASLt. */
#ifndef DEVICE_CUDA_MATMUL_H
#define DEVICE_CUDA_MATMUL_H
#include "device/cuda/cuda.h"

/* C[m][n] (+)= A[m][k] B[n][k]^T, row by row; element (row, k) of A or B lies at row * k + k if
 * `k_inner`, else at k * rows + row. Pairs of dtypes: f32 of f32, and bf16 or f32 of bf16 (f16
 * likewise). Products of a batch lie one after the other in each of the three, or row beside row
 * (`beside`): the first rows of all of them, then the second ones.
 * Factors of eight bits are multiplied where matmul_is_possible says so: with the sum in dimension
 * k inner, by their scales in memory of the device. */
typedef struct MatmulFactor {
    const void *data;
    Dtype dtype;
    bool k_inner, beside;
    const float *scale; /* what a factor of eight bits is multiplied by */
    bool scale_rows;    /* there is one for each row */
} MatmulFactor;

/* What is done to the sums before they are written: a bias is added, a vector of n of C's dtype;
 * then gelu_tanh; or they are multiplied by its slope. */
typedef enum MatmulEnd { END_AS_IS, END_BIAS, END_GELU, END_GELU_GRAD } MatmulEnd;

typedef struct Matmul {
    int64_t m, n, k, n_batches;
    MatmulFactor a, b;
    void *c;
    Dtype c_dtype;
    bool c_beside;
    bool add;         /* to what is in C */
    const void *plus; /* what lies as C does and is added instead; NULL: nothing */
    bool fast;        /* factors of eight bits: partial sums may have fewer bits than f32 */
    MatmulEnd end;
    const void *bias; /* BIAS, GELU */
    /* As C lies and of its dtype. GELU: gets what gelu_tanh is given, NULL: nobody wants it;
     * GELU_GRAD: has that. */
    void *gelu_of;
} Matmul;

typedef struct Matmuls Matmuls;

/* The products of one GPU: descriptors and algorithms are kept by shape. */
Error *matmuls_new(Cuda *d, Matmuls **out);
void matmuls_free(Matmuls *m);
/* From now on algorithms are those that this file has for a product, which is made if it is not
 * there; it gets those that it does not have. */
Error *matmuls_keep_record(Matmuls *m, const char *path);
/* What that file does not have is looked for in this one of all runs (algorithm_cache.h). */
void matmuls_use_cache(Matmuls *m, const char *path, void (*tell)(const char *text));
/* Whether cuBLASLt multiplies these dtypes. */
bool matmul_fits(Dtype a, Dtype b, Dtype c);
/* Whether it knows a product on this GPU; data, scales and so on may be any places. */
bool matmul_is_possible(const Stream *s, const Matmul *p);
/* Queues a product on the launch's stream; returns a status. */
int matmul_run(const Launch *l, const Matmul *p);
/* What such a status means; NULL if it is none of cuBLASLt. */
const char *matmul_describe(const CudaCalls *c, int status);
#endif
