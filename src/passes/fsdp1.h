/* fsdp1.h - what the names of the older FSDP mean: its sharding strategies and mixed precisions. */
#ifndef PASSES_FSDP1_H
#define PASSES_FSDP1_H
#include "models/model.h"

/* Choices of `mixed_precision_settings` and `sharding_strategy`; end with NULL. */
extern const char *const fsdp1_precisions[], *const fsdp1_strategies[];

/* Sets how the model computes, what is sharded, and how gradients are sent; both are indices. */
void fsdp1_apply(Arena *a, Model *m, int precision, int strategy);
#endif
