/* all_ops.h - the OpDef of every op; one line here and one in all_ops.c per op. */
#ifndef OPS_ALL_OPS_H
#define OPS_ALL_OPS_H
#include "graph/op.h"

extern const OpDef op_contract;
extern const OpDef op_add;
extern const OpDef op_mul;
extern const OpDef op_scale;
extern const OpDef op_add_bias;
extern const OpDef op_add_bias_grad;
extern const OpDef op_silu;
extern const OpDef op_silu_grad;
extern const OpDef op_gelu;
extern const OpDef op_gelu_grad;
extern const OpDef op_swiglu;
extern const OpDef op_swiglu_grad;
extern const OpDef op_reshape;
extern const OpDef op_cast;
extern const OpDef op_fill;
extern const OpDef op_accumulate;
extern const OpDef op_loss_seed;
extern const OpDef op_embed;
extern const OpDef op_embed_grad;
extern const OpDef op_add_positions;
extern const OpDef op_document_positions;
extern const OpDef op_add_positions_grad;
extern const OpDef op_rms_norm;
extern const OpDef op_rms_norm_grad;
extern const OpDef op_layer_norm;
extern const OpDef op_layer_norm_grad;
extern const OpDef op_rope_table;
extern const OpDef op_rope;
extern const OpDef op_attention;
extern const OpDef op_attention_grad;
extern const OpDef op_cache_write;
extern const OpDef op_dropout;
extern const OpDef op_cross_entropy;
extern const OpDef op_cross_entropy_grad;
extern const OpDef op_head_loss;
extern const OpDef op_head_loss_grad;
extern const OpDef op_head_step;
extern const OpDef op_count_valid;
extern const OpDef op_mean_valid;
extern const OpDef op_mean_valid_grad;
extern const OpDef op_sum_valid;
extern const OpDef op_sum_valid_grad;
extern const OpDef op_norm_partial;
extern const OpDef op_norm_total;
extern const OpDef op_clip_factor;
extern const OpDef op_adam;

/* Every op, ending with NULL. */
extern const OpDef *const all_ops[];
/* The op of that name, or NULL. */
const OpDef *op_find(const char *name);
#endif
