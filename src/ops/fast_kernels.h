/* fast_kernels.h - the tables of tuned CPU kernels: one per file *_fast.c and instruction set. */
#ifndef OPS_FAST_KERNELS_H
#define OPS_FAST_KERNELS_H
#include "ops/kernels.h"

extern const KernelDef gemm_scalar[], gemm_avx2[], gemm_avx512[];
#endif
