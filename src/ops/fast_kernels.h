/* fast_kernels.h - the tables of tuned CPU kernels: one per file *_fast.c and instruction set. */
#ifndef OPS_FAST_KERNELS_H
#define OPS_FAST_KERNELS_H
#include "ops/kernels.h"

extern const KernelDef gemm_scalar[], gemm_avx2[], gemm_avx512[];
extern const KernelDef elementwise_scalar[], elementwise_avx2[], elementwise_avx512[];
extern const KernelDef bias_scalar[], bias_avx2[], bias_avx512[];
extern const KernelDef norm_scalar[], norm_avx2[], norm_avx512[];
extern const KernelDef embed_scalar[], embed_avx2[], embed_avx512[];
extern const KernelDef rope_scalar[], rope_avx2[], rope_avx512[];
extern const KernelDef adam_scalar[], adam_avx2[], adam_avx512[];
extern const KernelDef gradient_norm_scalar[], gradient_norm_avx2[], gradient_norm_avx512[];
extern const KernelDef cross_entropy_scalar[], cross_entropy_avx2[], cross_entropy_avx512[];
extern const KernelDef head_loss_scalar[], head_loss_avx2[], head_loss_avx512[];
extern const KernelDef head_loss_grad_scalar[], head_loss_grad_avx2[], head_loss_grad_avx512[];
extern const KernelDef head_step_scalar[], head_step_avx2[], head_step_avx512[];
extern const KernelDef cache_write_scalar[], cache_write_avx2[], cache_write_avx512[];
extern const KernelDef attention_scalar[], attention_avx2[], attention_avx512[];
extern const KernelDef attention_grad_scalar[], attention_grad_avx2[], attention_grad_avx512[];
extern const KernelDef dropout_scalar[], dropout_avx2[], dropout_avx512[];
#endif
