/* passes.h - the passes there are, their settings, and what they do. */
#ifndef PASSES_PASSES_H
#define PASSES_PASSES_H
#include "graph/pass.h"

/* initialize.c: gives parameters their rules; the settings are an Initializer, or NULL for what
 * construction gives. */
extern const PassDef pass_initialize;

/* autodiff.c: appends the backward pass of output "loss"; gradients go to accumulators
 * "grad.<param>". */
extern const PassDef pass_autodiff;

/* precision.c: F64: everything in double. BF16: activations and a copy of the weights in bf16,
 * while the residual stream, master weights, sums and losses stay f32. */
typedef struct Precision {
    Dtype compute; /* F32, BF16 or F64 */
    bool wide; /* BF16: only what enters a matrix product is rounded, as under torch's autocast */
} Precision;
extern const PassDef pass_precision;

/* recompute.c: computes parts of the forward pass again in the backward pass instead of keeping
 * them (activation checkpointing, Chen et al. 2016). */
typedef struct Recompute {
    int64_t every;           /* blocks k with (k + 1) % every == 0; 0: none, 1: all */
    const char *const *save; /* names of ops whose results are kept all the same (of contractions
                                every second one, from the first); ends with NULL, or is NULL */
} Recompute;
extern const PassDef pass_recompute;

/* fuse.c: lets producers add to accumulators directly, and drops nodes that nobody needs. */
extern const PassDef pass_fuse;

struct Optimizer;
/* optimize.c: gradient norm, clipping and the optimizer's update of every parameter. Outputs:
 * "grad_norm". */
typedef struct Optimize {
    const struct Optimizer *optimizer;
    int64_t norm_type; /* 1, 2, or 0 for the maximum */
    double max_norm;   /* 0: no clipping */
    double (*weight_decay_of)(const struct Optimizer *optimizer, const Value *param);
} Optimize;
extern const PassDef pass_optimize;
#endif
