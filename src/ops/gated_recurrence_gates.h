/* gated_recurrence_gates.h - numbers of the gated recurrence that all its kernels share. Also
 * compiles as CUDA. */
#ifndef OPS_GATED_RECURRENCE_GATES_H
#define OPS_GATED_RECURRENCE_GATES_H

/* A number fades at most by exp(-8 softplus(speed)) with a token. */
#define RECURRENCE_SPEED 8
/* The largest slope of sqrt(1 - keep^2) that gradients take. */
#define RECURRENCE_SLOPE 1000

/* On GPUs: features of a block, and its threads; tokens that it loads at once. */
enum { RECURRENCE_FEATURES = 32, RECURRENCE_THREADS = 256, RECURRENCE_TOKENS = 64 };
#endif
