/* all_ops.c - the list of built-in ops and of tuned CPU kernels. */
#include "ops/all_ops.h"
#include "ops/fast_kernels.h"
#include <string.h>

const OpDef *const all_ops[] = {
    &op_contract,
    &op_add,
    &op_mul,
    &op_scale,
    &op_add_bias,
    &op_add_bias_grad,
    &op_silu,
    &op_silu_grad,
    &op_gelu,
    &op_gelu_grad,
    &op_swiglu,
    &op_swiglu_grad,
    &op_reshape,
    &op_cast,
    &op_fill,
    &op_accumulate,
    &op_loss_seed,
    &op_embed,
    &op_embed_grad,
    &op_add_positions,
    &op_add_positions_grad,
    &op_rms_norm,
    &op_rms_norm_grad,
    &op_layer_norm,
    &op_layer_norm_grad,
    &op_rope_table,
    &op_rope,
    &op_attention,
    &op_attention_grad,
    &op_cache_write,
    &op_dropout,
    &op_cross_entropy,
    &op_cross_entropy_grad,
    &op_head_loss,
    &op_head_loss_grad,
    &op_count_valid,
    &op_mean_valid,
    &op_mean_valid_grad,
    &op_sum_valid,
    &op_sum_valid_grad,
    &op_norm_partial,
    &op_norm_total,
    &op_clip_factor,
    &op_adam,
    NULL,
};

const KernelDef *const all_cpu_kernels[] = {
#if defined(__x86_64__)
    gemm_avx512, elementwise_avx512,   bias_avx512,
    norm_avx512, embed_avx512,         rope_avx512,
    adam_avx512, gradient_norm_avx512, cross_entropy_avx512,
    gemm_avx2,   elementwise_avx2,     bias_avx2,
    norm_avx2,   embed_avx2,           rope_avx2,
    adam_avx2,   gradient_norm_avx2,   cross_entropy_avx2,
#endif
    gemm_scalar, elementwise_scalar,   bias_scalar,
    norm_scalar, embed_scalar,         rope_scalar,
    adam_scalar, gradient_norm_scalar, cross_entropy_scalar,
    NULL,
};

const OpDef *op_find(const char *name)
{
    for (int i = 0; all_ops[i]; i++)
        if (!strcmp(all_ops[i]->name, name)) return all_ops[i];
    return NULL;
}
