/* all_cuda.c - the tables of kernels on GPUs, one per file *_cuda.c; of rows of one level the first
 * one that fits is taken. */
#include "ops/kernels.h"

/* clang-format off */
#define LIST(KERNELS) \
    KERNELS(contract) KERNELS(contract_epilogue) KERNELS(float8) KERNELS(grid) KERNELS(elementwise) KERNELS(bias) KERNELS(embed) KERNELS(positions) \
    KERNELS(norm) KERNELS(rope) KERNELS(sequence) KERNELS(attention_cudnn) KERNELS(attention) KERNELS(cross_entropy) \
    KERNELS(head_loss) KERNELS(losses) KERNELS(nce) KERNELS(optimizer) KERNELS(muon) KERNELS(moe) KERNELS(moe_bias) KERNELS(qk_clip) \
    KERNELS(row_gate) KERNELS(features) KERNELS(attention_sink) KERNELS(compress) KERNELS(xielu) KERNELS(causal_conv) KERNELS(delta_gates) KERNELS(fixed_decays) KERNELS(gated_delta) \
    KERNELS(scale_heads) KERNELS(exp_dot) KERNELS(repeat_heads) KERNELS(selective_scan) KERNELS(gated_recurrence) KERNELS(select_keys) KERNELS(selected_attention) KERNELS(index_loss) \
    KERNELS(gaussian_top_k) KERNELS(match_size) KERNELS(hyper)
/* clang-format on */

#define DECLARE(name) extern const KernelDef name##_cuda[];
#define POINT_TO(name) name##_cuda,

LIST(DECLARE)
const KernelDef *const all_cuda_kernels[] = { LIST(POINT_TO) NULL };
