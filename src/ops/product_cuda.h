/* product_cuda.h - a product, as contractions are recognised, for cuBLASLt. */
#ifndef OPS_PRODUCT_CUDA_H
#define OPS_PRODUCT_CUDA_H
#include "device/cuda/matmul.h"
#include "ops/gemm/product.h"

static inline Matmul matmul_of(const Product *p)
{
    return (Matmul){ .m = p->m,
                     .n = p->n,
                     .k = p->k,
                     .n_batches = p->n_batches,
                     .a = { .data = p->a.data, .dtype = p->a.dtype, .k_inner = p->a.k_inner },
                     .b = { .data = p->b.data, .dtype = p->b.dtype, .k_inner = p->b.k_inner },
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
