/* product_cuda.h - a product, as contractions are recognised, for cuBLASLt. */
#ifndef OPS_PRODUCT_CUDA_H
#define OPS_PRODUCT_CUDA_H
#include "device/cuda/matmul.h"
#include "ops/gemm/product.h"

static inline MatmulFactor matmul_factor_of(const Factor *f, int64_t rows, int64_t k)
{
    return (MatmulFactor){ .data = f->data,
                           .dtype = f->dtype,
                           .k_inner = f->k_inner,
                           .beside = f->stride != (f->k_inner ? k : rows) };
}

static inline Matmul matmul_of(const Product *p)
{
    return (Matmul){ .m = p->m,
                     .n = p->n,
                     .k = p->k,
                     .n_batches = p->n_batches,
                     .a = matmul_factor_of(&p->a, p->m, p->k),
                     .b = matmul_factor_of(&p->b, p->n, p->k),
                     .c_beside = p->c_stride != p->n,
                     .c = p->c,
                     .c_dtype = p->c_dtype,
                     .add = p->add };
}

/* Whether the first two inputs and result 0 of a launch are a product of cuBLASLt
 * (contract_cuda.c); whether there is a kernel for them at all, and running it. */
bool contract_is_matmul(const Launch *l, Product *p);
bool contract_serves(const Launch *l);
int contract_run(const Launch *l);
#endif
