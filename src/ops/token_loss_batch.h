/* token_loss_batch.h - what a thread of token_step_kernel (cross_entropy.cu) reads at once. */
#ifndef OPS_TOKEN_LOSS_BATCH_H
#define OPS_TOKEN_LOSS_BATCH_H

/* Reads that are under way together, and logits of each: 16 bytes. */
enum { STEP_READS = 4, STEP_WIDE = 4 };
#endif
