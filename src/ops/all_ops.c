/* all_ops.c - the list of ops and of their tuned CPU kernels: one line per file. */
#include "ops/all_ops.h"
#include "ops/kernels.h"
#include <string.h>

/* OPS(norm): the table norm_ops at the end of norm.c, which holds an op and its gradient, or a
 * family. KERNELS(norm): the tables that norm_fast.c gives for each instruction set. */
/* clang-format off */
#define LIST(OPS, KERNELS) \
    OPS(contract) KERNELS(gemm) OPS(panels) KERNELS(panels) OPS(contract_pieces) OPS(contract_epilogue) \
    OPS(float8) KERNELS(float8) OPS(grid) KERNELS(grid) \
    OPS(elementwise) KERNELS(elementwise) KERNELS(bias) \
    OPS(gelu_tanh) OPS(relu) OPS(offset) OPS(logit_cap) OPS(clip) OPS(row_gate) KERNELS(row_gate) OPS(clamped_swiglu) OPS(xielu) KERNELS(xielu) OPS(gaussian_top_k) KERNELS(gaussian_top_k) \
    OPS(reshape) OPS(features) KERNELS(features) \
    OPS(cast) KERNELS(half) OPS(halves) KERNELS(halves) \
    OPS(fill) \
    OPS(accumulate) \
    OPS(embed) KERNELS(embed) \
    OPS(positions) \
    OPS(norm) KERNELS(norm) OPS(match_size) KERNELS(match_size) OPS(hyper) KERNELS(hyper) \
    OPS(rope) KERNELS(rope) \
    OPS(rope_scaled) \
    OPS(sequence) OPS(patches) OPS(nce) \
    OPS(moe_route) OPS(moe_mixer) OPS(moe_rows) KERNELS(moe) OPS(moe_transfer) OPS(moe_bias) OPS(repeat_heads) KERNELS(repeat_heads) OPS(grouped_linear) OPS(grouped_bias) \
    OPS(attention) KERNELS(attention) KERNELS(attention_grad) KERNELS(attention_max) \
    OPS(attention_ring) OPS(attention_sink) KERNELS(attention_sink) OPS(attention_join) KERNELS(attention_join) OPS(compress) KERNELS(compress) \
    OPS(select_keys) KERNELS(select_keys) OPS(selected_attention) KERNELS(selected_attention) OPS(index_loss) KERNELS(index_loss) \
    OPS(cache_write) KERNELS(cache_write) \
    OPS(causal_conv) KERNELS(causal_conv) OPS(delta_gates) KERNELS(delta_gates) OPS(fixed_decays) KERNELS(fixed_decays) OPS(gated_delta) KERNELS(gated_delta) KERNELS(gated_delta_grad) \
    OPS(scale_heads) KERNELS(scale_heads) OPS(exp_dot) \
    OPS(selective_scan) KERNELS(selective_scan) KERNELS(selective_scan_grad) OPS(gated_recurrence) KERNELS(gated_recurrence) \
    OPS(dropout) KERNELS(dropout) \
    OPS(cross_entropy) KERNELS(cross_entropy) \
    OPS(head_loss) KERNELS(head_loss) KERNELS(head_loss_grad) KERNELS(head_step) \
    OPS(mean_valid) \
    OPS(collective) \
    OPS(unit) \
    OPS(transfer) OPS(host_copy) \
    OPS(gradient_norm) KERNELS(gradient_norm) \
    OPS(adam) KERNELS(adam) \
    OPS(muon) KERNELS(muon) OPS(stack) KERNELS(stack) \
    OPS(qk_clip) KERNELS(qk_clip) \
    OPS(average) KERNELS(average)
/* clang-format on */

#define NOTHING(name)
#define DECLARE_OPS(name) extern const OpDef *const name##_ops[];
#define DECLARE_SCALAR(name) extern const KernelDef name##_scalar[];
#define DECLARE_X86(name)                                                                          \
    extern const KernelDef name##_avx2[], name##_avx512[], name##_avx512_bf16[];
#define POINT_TO_OPS(name) name##_ops,
#define POINT_TO_SCALAR(name) name##_scalar,
#define POINT_TO_X86(name) name##_avx2, name##_avx512, name##_avx512_bf16,

LIST(DECLARE_OPS, DECLARE_SCALAR)
static const OpDef *const *const files[] = { LIST(POINT_TO_OPS, NOTHING) NULL };

#if defined(__x86_64__)
LIST(NOTHING, DECLARE_X86)
extern const KernelDef gemm_amx[], head_loss_amx[], head_step_amx[], attention_amx[],
    attention_grad_amx[];
const KernelDef *const all_cpu_kernels[] = { LIST(NOTHING, POINT_TO_SCALAR)
                                                 LIST(NOTHING, POINT_TO_X86) gemm_amx,
                                             head_loss_amx,
                                             head_step_amx,
                                             attention_amx,
                                             attention_grad_amx,
                                             NULL };
#else
const KernelDef *const all_cpu_kernels[] = { LIST(NOTHING, POINT_TO_SCALAR) NULL };
#endif

const OpDef *op_at(int i)
{
    for (int f = 0; files[f]; f++)
        for (int k = 0; files[f][k]; k++)
            if (i-- == 0) return files[f][k];
    return NULL;
}

const OpDef *op_find(const char *name)
{
    for (int i = 0; op_at(i); i++)
        if (!strcmp(op_at(i)->name, name)) return op_at(i);
    return NULL;
}
